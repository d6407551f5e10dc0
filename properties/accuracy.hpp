/// How far outputs are from attention itself: reported beside the verdict, never a reason for one.
#pragma once

#include <string>

#include "properties/runner.hpp"

namespace assay {

/// Distances of o's elements from the exact value, whose own uncertainty is far below an ulp of o's type.
struct accuracy {
  double largest = 0;      ///< max |o - exact|; infinite where an o is not finite
  double largest_ulp = 0;  ///< the same in units of o's last place at that element's exact value
  double outside_share = 0;
  double worst_factor = 0;  ///< of the enclosure; above 1: outside
};

/// Exact attention is evaluated as the contract without any rounding of P, whose midpoints carry binary64's errors
/// only: an elementwise MPFR evaluation costs minutes where this costs what a verdict costs.
accuracy measure_accuracy(const inputs& given, const execution& ran, const verdict& judged);

/// "max |o - exact| 0.00385 (7.9 ulp); worst element at 6170 times its enclosure's radius, 98.1% of elements outside"
std::string accuracy_text(const accuracy& a);

}  // namespace assay
