/// Intervals that an output must lie in, and the verdict on it.
#pragma once

#include <cstdint>
#include <optional>
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

/// Every byte of every output holds this before a kernel runs: an element that must not be written holds it afterwards.
/// It makes NaN in every float type here, so that an element that should have been written and was not never passes.
inline constexpr std::uint8_t unwritten_byte = 0xFF;

/// Enclosure of one output tensor before its final rounding, row major over the tensor's logical shape.
struct enclosed_tensor {
  std::string name;
  dtype type = dtype::none;  ///< type that the final rounding goes to
  std::vector<std::int64_t> shape;
  std::vector<interval> elements;
  /// 1 per element that must keep the bits it held (unwritten_byte); its interval says nothing. Empty: there are none.
  std::vector<std::uint8_t> kept = {};  // NOLINT(readability-redundant-member-init): may be left out
  /// Indices along the first axis that `elements` covers, ascending; nothing: all of them.
  std::optional<std::vector<std::int64_t>> indices = {};  // NOLINT(readability-redundant-member-init)

  bool keeps(std::int64_t flat) const { return !kept.empty() && kept[static_cast<std::size_t>(flat)] != 0; }
};

/// Enclosures of all outputs of a problem.
struct enclosure {
  std::vector<enclosed_tensor> tensors;
};

/// Evaluates the contract on the inputs: encloses o, lse and, with num_splits > 1, o_partial and lse_partial; of
/// mqa_logits: logits, where columns of hidden keys are the point -inf or must keep their bits (fills_hidden).
/// `planned.num_splits` is at least 1. An element for which nothing can be said has the interval [-inf, inf].
enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared);

/// The definition in MPFR (>= 113 bits), rounded once to binary64 outward: encloses o and lse, or logits, tightly.
enclosure evaluate_exactly(const problem& planned, std::span<const named_tensor> inputs);

/// The same in binary64, with the same proof of its errors, in a fraction of the time: enclosures that are narrow
/// beside an f32's last place. Rows with logits so large that they would not be are evaluated in MPFR.
enclosure evaluate_in_binary64(const problem& planned, std::span<const named_tensor> inputs);

/// How an output tensor relates to its enclosure.
struct judgement {
  std::string tensor;
  std::int64_t elements = 0;
  std::int64_t outside = 0;               ///< elements that are proven wrong (NaN where none is allowed included)
  std::int64_t overwritten = 0;           ///< of these: elements that had to keep their bits and did not
  std::int64_t unbounded = 0;             ///< elements whose enclosure says nothing: undecided
  std::int64_t uncertain = 0;             ///< elements whose enclosure is neither a point nor everything
  std::int64_t sharp = 0;                 ///< of these: elements whose enclosure admits at most two output values
  std::vector<std::int64_t> worst_index;  ///< of the worst outside element, else of the one nearest to its bound
  double worst_value = 0;
  std::uint32_t worst_bits = 0;
  interval worst_enclosure;
  bool worst_had_to_stay = false;  ///< the worst element had to keep its bits: it has no enclosure
  /// Distance from the enclosure's middle in units of its radius after rounding outward to the type; > 1 is outside,
  /// infinite for a NaN and for an element that had to keep its bits and did not. A point enclosure that is met counts
  /// 0, as do bits that were kept.
  double worst_factor = 0;
};

/// Judges outputs by name against the enclosure. Every enclosed tensor must be present: a missing one throws
/// std::invalid_argument. Written so that a NaN can never pass.
std::vector<judgement> judge(const enclosure& bounds, std::span<const named_tensor> outputs);

}  // namespace assay::oracle
