/// How far outputs are from the problem's exact solution: reported beside the verdict, never a reason for one.
#pragma once

#include <cstdint>
#include <string>

#include "properties/data/inputs.hpp"
#include "properties/run/execution.hpp"
#include "properties/run/verdict.hpp"

namespace assay {

/// Distances of the elements of the problem's result (o, or logits) from the exact value. Elements that must keep their
/// bits, and those about which nothing can be said, are left out.
struct accuracy {
  std::string tensor;          ///< "o" or "logits"
  std::int64_t elements = 0;   ///< how many were measured
  double largest = 0;          ///< max |element - exact|; infinite where one is not finite and the exact value is
  double largest_ulp = 0;      ///< the same in units of the last place of its type at that element's exact value
  double largest_rounded = 0;  ///< max |element - exact rounded to the type|: as the usual tests measure
  double outside_share = 0;
  double worst_factor = 0;  ///< of the enclosure; above 1: outside
};

/// Against the definition in binary64, whose errors are far below an ulp of the result's type.
/// `judged` is the verdict on `ran`. Throws std::invalid_argument if an execution without outputs is given.
accuracy measure_accuracy(const inputs& given, const execution& ran, const verdict& judged);

/// Says so where no element was measured; else
/// "max |o - exact| 0.00385 (7.9 ulp); worst element at 6170 times its enclosure's radius, 98.1% of elements outside"
std::string accuracy_text(const accuracy& a);

}  // namespace assay
