/// A property: a sentence that must hold for every case, and the check of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "properties/case/case.hpp"
#include "properties/case/operation.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/run/verdict.hpp"

namespace assay {

struct property {
  const char* name;      ///< snake_case, as --property takes it
  const char* sentence;  ///< the claim, for reports
  /// Judges one case. If the property does not apply to the case, the verdict is a discard with a reason; `adapt` makes
  /// this rare for generated cases.
  verdict (*check)(const library& lib, const attention_case& c);
  /// Turns an arbitrary case into one that exercises the property (for instance gives it two sequences), if possible by
  /// what the kernel takes; the result is fitted to that (fit.hpp). May be null.
  void (*adapt)(attention_case& c, const assay_support& takes);
  /// The capabilities that a kernel must have for the property to apply, as a sum of `capability`. The suite gives the
  /// property only cases of such kernels.
  std::uint32_t needs = 0;
};

/// Whether the property is about what the kernel of that name computes.
bool applies(const property& p, std::string_view kernel);

/// What a library has beside the kernel.
struct library_traits {
  bool has_attention = true;  ///< a kernel of attention
  bool has_schedules = true;  ///< the cpu platform
};
library_traits traits_of(const library& lib);

/// Why the property cannot be shown of a kernel to which it applies, as it takes too little: "the kernel takes no
/// number of splits". Else empty.
std::string left_out(const property& p, std::string_view kernel, const assay_support& takes,
                     const library_traits& traits = {});

/// The one table of all properties.
std::span<const property> properties();

/// Its first row, output_enclosed: each output lies inside the enclosure that its contract implies.
const property& enclosure_property();

}  // namespace assay
