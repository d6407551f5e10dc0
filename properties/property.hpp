/// A property: a sentence that must hold for every case, and the check of it.
#pragma once

#include <span>

#include "properties/runner.hpp"

namespace assay {

struct property {
  const char* name;      ///< snake_case, as --property takes it
  const char* sentence;  ///< what holds
  /// Judges one case. A case to which the property does not apply is a discard with a reason; generators are steered
  /// by `adapt` so that this is rare.
  verdict (*check)(const library& lib, const attention_case& c);
  /// Turns an arbitrary case into one that exercises the property (for instance gives it two sequences). May be null.
  void (*adapt)(attention_case& c);
};

/// The one table of all properties.
std::span<const property> properties();

}  // namespace assay
