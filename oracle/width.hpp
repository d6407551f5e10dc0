/// How wide enclosures are: the narrower they are, the more a pass proves.
#pragma once

#include <cstdint>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"

namespace assay::oracle {

/// Of one output tensor, before its final rounding. Elements without a bound have an infinite radius.
struct width_statistics {
  std::int64_t elements = 0;
  double median_radius_ulp = 0;  ///< in ulps of the output type at the enclosure's middle
  double p99_radius_ulp = 0;
  double sharp_share = 0;  ///< elements whose enclosure admits at most two output values
};

/// Radius of an enclosure in ulps of `type` at its middle; 0 for points, infinity where nothing is known.
double radius_ulp(const interval& e, dtype type);

/// Whether rounding the values of the enclosure gives at most two numbers of the type.
bool is_sharp(const interval& e, dtype type);

/// The same of an enclosure whose ends the type already holds.
inline bool holds_two_at_most(const interval& rounded, dtype type) {
  return rounded.lo == rounded.hi || next_up(type, rounded.lo) == rounded.hi;
}

width_statistics measure_width(const enclosed_tensor& t);

}  // namespace assay::oracle
