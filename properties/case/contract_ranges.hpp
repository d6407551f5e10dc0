/// Ranges of a contract's fields.
#pragma once

#include <span>
#include <string>

namespace assay {

struct bounded_field {
  const char* name;
  double value;
  double least;
  double most;
};

/// The oracle's proofs about n roundings hold up to here.
inline constexpr double most_roundings = 256;

/// The first of the fields that is outside its bounds; "" for none.
std::string range_fault(std::span<const bounded_field> fields);

}  // namespace assay
