/// Intervals that an output must lie in, and the verdict on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay::oracle {

/// Closed interval of the extended reals; both ends -inf is the point -inf (an LSE without keys).
struct interval {
  double lo = 0;
  double hi = 0;
};

/// Enclosure of one output tensor before its final rounding, row major over the tensor's logical shape.
struct enclosed_tensor {
  std::string name;
  dtype type = dtype::none;  ///< type that the final rounding goes to
  std::vector<std::int64_t> shape;
  std::vector<interval> elements;
};

/// Enclosures of all outputs of a problem.
struct enclosure {
  std::vector<enclosed_tensor> tensors;
};

/// Evaluates the contract on the inputs: encloses o, lse and, with num_splits > 1, o_partial and lse_partial.
/// `planned.num_splits` is at least 1. An element for which nothing can be said has the interval [-inf, inf].
enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared);

/// The definition of attention in MPFR (>= 113 bits), rounded once to binary64 outward: encloses o and lse tightly.
enclosure evaluate_exactly(const problem& planned, std::span<const named_tensor> inputs);

/// How an output tensor relates to its enclosure.
struct judgement {
  std::string tensor;
  std::int64_t elements = 0;
  std::int64_t outside = 0;               ///< elements that are proven wrong (NaN where none is allowed included)
  std::int64_t unbounded = 0;             ///< elements whose enclosure says nothing: undecided
  std::int64_t sharp = 0;                 ///< elements whose enclosure admits at most two output values
  std::vector<std::int64_t> worst_index;  ///< of the worst outside element, else of the one nearest to its bound
  double worst_value = 0;
  interval worst_enclosure;
  /// Distance from the enclosure's middle in units of its radius after rounding outward to the type; > 1 is outside,
  /// infinite for a NaN. A point enclosure that is met counts 0.
  double worst_factor = 0;
};

/// Judges outputs by name against the enclosure. Every enclosed tensor must be present: a missing one throws
/// std::invalid_argument. Written so that a NaN can never pass.
std::vector<judgement> judge(const enclosure& bounds, std::span<const named_tensor> outputs);

}  // namespace assay::oracle
