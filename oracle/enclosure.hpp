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

/// Every byte of every output holds this before a kernel runs. An element that must not be written still holds it
/// afterwards. These bytes are NaN in every float type here, so an element that the kernel failed to write never
/// passes; where NaN is due, the judge tells these very bits from other NaNs. In-out tensors hold their inputs instead.
inline constexpr std::uint8_t unwritten_byte = 0xFF;

/// The rule that an element of an enclosed tensor must satisfy.
enum class element_rule : std::uint8_t {
  enclosed = 0,    ///< its value must lie in its interval
  kept = 1,        ///< it must not be written: it keeps its bits
  copied = 2,      ///< it must be written with given bits: those of an input
  positive = 3,    ///< enclosed, and a zero is +0
  negative = 4,    ///< enclosed, and a zero is -0; a type without -0 has +0
  nan = 5,         ///< it must be a NaN, of any bits but those of an unwritten element
  or_nan = 6,      ///< enclosed, or such a NaN
  or_plus = 7,     ///< enclosed, or infinity, or such a NaN
  or_minus = 8,    ///< enclosed, or -infinity, or such a NaN
  or_special = 9,  ///< enclosed, or anything that is not finite, but for the bits of an unwritten element
};

/// Whether the rule admits the values of an interval.
inline bool has_interval(element_rule rule) {
  return rule != element_rule::kept && rule != element_rule::copied && rule != element_rule::nan;
}

/// Whether the rule admits a NaN beside the values of its interval.
inline bool admits_nan(element_rule rule) {
  return rule >= element_rule::or_nan;
}
/// Whether the rule admits an infinity, of that sign, that its interval may not hold.
inline bool admits_infinity(element_rule rule, bool is_negative) {
  return rule == element_rule::or_special || rule == (is_negative ? element_rule::or_minus : element_rule::or_plus);
}

/// Enclosure of one output tensor before its final rounding, row major over the covered part of its logical shape. An
/// in-out tensor is judged by what it holds after the call.
struct enclosed_tensor {
  std::string name;
  dtype type = dtype::none;  ///< type that the final rounding goes to
  std::vector<std::int64_t> shape;
  std::vector<interval> elements;
  /// An element_rule per element. The judge ignores the interval of an element whose rule has none; with `held`, the
  /// interval of a kept or copied element is the value of those bits. Empty: all elements are enclosed.
  std::vector<std::uint8_t> kept = {};  // NOLINT(readability-redundant-member-init): may be left out
  /// Covered indices along the first axis, ascending: `elements`, `kept` and `held` hold only these. An empty vector
  /// covers no index; without a vector (nullopt) every index is covered. The judge does not read other indices.
  std::optional<std::vector<std::int64_t>> indices = std::nullopt;
  /// The bits that kept and copied elements must hold, one entry per element. Empty: every byte is `unwritten_byte`.
  std::vector<std::uint32_t> held = {};  // NOLINT(readability-redundant-member-init): may be left out

  element_rule rule(std::int64_t flat) const {
    return kept.empty() ? element_rule::enclosed : static_cast<element_rule>(kept[static_cast<std::size_t>(flat)]);
  }
  bool keeps(std::int64_t flat) const { return rule(flat) == element_rule::kept; }
  bool is_enclosed(std::int64_t flat) const { return has_interval(rule(flat)); }
};

/// Says that the indices of an axis from `first` on must keep their bits. All of the tensor must be covered.
void keep_padding(enclosed_tensor& t, std::size_t axis, std::int64_t first);

/// Enclosures of all outputs of a problem.
struct enclosure {
  std::vector<enclosed_tensor> tensors;
};

/// Evaluates the contract on the inputs. It encloses what the kernel writes; each operation's header says which tensors
/// and which of their elements. `inputs` are the tensors before the call. `planned.num_splits` is at least 1. An
/// element that the contract does not bound has the interval [-inf, inf].
enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared);

/// The definition in MPFR (>= 113 bits), rounded once to binary64 outward. It encloses the results tightly.
enclosure evaluate_exactly(const problem& planned, std::span<const named_tensor> inputs);

/// The same in binary64, with the same proof of its errors, in a fraction of the time. Its enclosures are much narrower
/// than the last place of an f32. It uses MPFR for rows whose logits are too large for that, and for operations without
/// a binary64 evaluation.
enclosure evaluate_in_binary64(const problem& planned, std::span<const named_tensor> inputs);

/// How an output tensor relates to its enclosure.
struct judgement {
  std::string tensor;
  std::int64_t elements = 0;              ///< elements that the enclosure covers
  std::int64_t outside = 0;               ///< elements that are proven wrong; includes a NaN where none is allowed, a
                                          ///< number where NaN is due, and a zero of the wrong sign
  std::int64_t overwritten = 0;           ///< of these: elements that had to keep their bits but changed
  std::int64_t unbounded = 0;             ///< elements whose enclosure is everything: undecided
  std::int64_t uncertain = 0;             ///< elements whose enclosure is neither a point nor everything
  std::int64_t sharp = 0;                 ///< of these: elements whose enclosure admits at most two output values
  std::vector<std::int64_t> worst_index;  ///< of the worst outside element, else of the one nearest to its bound;
                                          ///< coordinates in the whole tensor
  double worst_value = 0;
  std::uint32_t worst_bits = 0;
  interval worst_enclosure;
  bool worst_had_to_stay = false;  ///< the worst element had to keep its bits: it has no enclosure
  element_rule worst_rule = element_rule::enclosed;
  bool worst_is_wrong_zero = false;  ///< the worst element is a zero of the wrong sign
  /// Distance from the enclosure's middle, in units of its radius after rounding outward to the type; > 1 is outside.
  /// It is infinite for a NaN, for wrong bits where the rule asks for given bits, and for a zero of the wrong sign. It
  /// is 0 for right bits, for a NaN that the rule asks for or admits, and for the right value of a point enclosure.
  double worst_factor = 0;
};

/// Judges outputs by name against the enclosure. Every enclosed tensor must be present: a missing one throws
/// std::invalid_argument. A NaN passes only where the rule asks for one or admits it.
std::vector<judgement> judge(const enclosure& bounds, std::span<const named_tensor> outputs);

/// judgement::worst_factor of each element of one tensor, in the order of `bounds.elements`: above 1 is outside. It is
/// 0 where the enclosure is everything, and where a whole row rightly kept its bits. Throws as judge() does.
std::vector<double> factors(const enclosed_tensor& bounds, std::span<const named_tensor> outputs);

}  // namespace assay::oracle
