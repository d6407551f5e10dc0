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
/// In-out tensors hold their inputs instead.
inline constexpr std::uint8_t unwritten_byte = 0xFF;

/// What is asked of an element of an enclosed tensor.
enum class element_rule : std::uint8_t {
  enclosed = 0,  ///< its value lies in its interval
  kept = 1,      ///< it is nobody's to write: it holds the bits that it held before
  copied = 2,    ///< it is written, and holds certain bits: those of an input
};

/// Enclosure of one output tensor before its final rounding, row major over the covered part of its logical shape. An
/// in-out tensor is judged by what it holds after the call.
struct enclosed_tensor {
  std::string name;
  dtype type = dtype::none;  ///< type that the final rounding goes to
  std::vector<std::int64_t> shape;
  std::vector<interval> elements;
  /// An element_rule per element. A rule about bits leaves its interval nothing to say; with `held`, it is the value of
  /// those bits. Empty: all are enclosed.
  std::vector<std::uint8_t> kept = {};  // NOLINT(readability-redundant-member-init): may be left out
  /// Indices along the first axis that are covered, ascending: `elements`, `kept` and `held` have these alone. None at
  /// all differ from nothing: without a vector every index is covered. Of the rest nothing is said, and none is read.
  std::optional<std::vector<std::int64_t>> indices = std::nullopt;
  /// The bits that elements under a rule about bits must hold, one per element. Empty: `unwritten_byte` throughout.
  std::vector<std::uint32_t> held = {};  // NOLINT(readability-redundant-member-init): may be left out

  element_rule rule(std::int64_t flat) const {
    return kept.empty() ? element_rule::enclosed : static_cast<element_rule>(kept[static_cast<std::size_t>(flat)]);
  }
  bool keeps(std::int64_t flat) const { return rule(flat) == element_rule::kept; }
};

/// Enclosures of all outputs of a problem.
struct enclosure {
  std::vector<enclosed_tensor> tensors;
};

/// Evaluates the contract on the inputs: encloses o, lse and, with num_splits > 1, o_partial and lse_partial; of
/// mqa_logits: logits, where columns of hidden keys are the point -inf or must keep their bits (fills_hidden); of
/// append_kv: k, v and, with descales per page, k_descale and v_descale, at the pages that some row goes to. `inputs`
/// are the tensors as they were before the call.
/// `planned.num_splits` is at least 1. An element for which nothing can be said has the interval [-inf, inf].
enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared);

/// The definition in MPFR (>= 113 bits), rounded once to binary64 outward: encloses o and lse, or logits, or what
/// append_kv writes, tightly.
enclosure evaluate_exactly(const problem& planned, std::span<const named_tensor> inputs);

/// The same in binary64, with the same proof of its errors, in a fraction of the time: enclosures that are narrow
/// beside an f32's last place. Rows with logits so large that they would not be are evaluated in MPFR, and so are
/// operations that have no such evaluation.
enclosure evaluate_in_binary64(const problem& planned, std::span<const named_tensor> inputs);

/// How an output tensor relates to its enclosure.
struct judgement {
  std::string tensor;
  std::int64_t elements = 0;              ///< that the enclosure covers
  std::int64_t outside = 0;               ///< elements that are proven wrong (NaN where none is allowed included)
  std::int64_t overwritten = 0;           ///< of these: elements that had to keep their bits and did not
  std::int64_t unbounded = 0;             ///< elements whose enclosure says nothing: undecided
  std::int64_t uncertain = 0;             ///< elements whose enclosure is neither a point nor everything
  std::int64_t sharp = 0;                 ///< of these: elements whose enclosure admits at most two output values
  std::vector<std::int64_t> worst_index;  ///< of the worst outside element, else of the one nearest to its bound;
                                          ///< coordinates in the whole tensor
  double worst_value = 0;
  std::uint32_t worst_bits = 0;
  interval worst_enclosure;
  bool worst_had_to_stay = false;  ///< the worst element had to keep its bits: it has no enclosure
  /// Distance from the enclosure's middle in units of its radius after rounding outward to the type; > 1 is outside,
  /// infinite for a NaN and for an element that had to hold certain bits and does not. A point enclosure that is met
  /// counts 0, as do bits that are right.
  double worst_factor = 0;
};

/// Judges outputs by name against the enclosure. Every enclosed tensor must be present: a missing one throws
/// std::invalid_argument. Written so that a NaN can never pass.
std::vector<judgement> judge(const enclosure& bounds, std::span<const named_tensor> outputs);

}  // namespace assay::oracle
