/// What the faults of all operations share: chance, and results with a difference added.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracle/standard_faults.hpp"

namespace assay::oracle {

/// Evenly distributed numbers from a seed (SplitMix64, public domain: Steele, Lea, Flood, OOPSLA 2014).
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Of [0, count), for count >= 1.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

/// The results of a case, by their place in the enclosure.
class results {
 public:
  /// Both must outlive this. Throws std::invalid_argument where a tensor of the enclosure has no output.
  results(const enclosure& bounds, std::span<const named_tensor> outputs);

  const enclosed_tensor& bounds(std::size_t tensor) const { return bounds_.tensors[tensor]; }
  std::uint32_t bits(std::size_t tensor, std::int64_t flat) const;
  double value(std::size_t tensor, std::int64_t flat) const;

  /// What the kernel computed before the last rounding, as far as the enclosure tells: the number of the enclosure next
  /// to the result.
  double unrounded(std::size_t tensor, std::int64_t flat) const;

  /// The element with `difference` added before its rounding. Where the sum is no number it keeps its bits.
  changed_element shifted(std::size_t tensor, std::int64_t flat, double difference) const;

  /// The element rounded toward zero in place of to nearest. Where the enclosure does not tell which way the kernel
  /// rounded, `went_up` says it.
  changed_element truncated(std::size_t tensor, std::int64_t flat, bool went_up) const;

 private:
  const enclosure& bounds_;
  std::vector<const tensor*> outputs_;
};

/// Of each operation; see fault_effects().
struct fault_setting {
  const problem& planned;
  std::span<const named_tensor> inputs;
  const contract& declared;
  const results& written;
  dice& chance;
};

std::span<const standard_fault> attention_faults();
std::vector<fault_effect> attention_effects(const fault_setting& given);
std::optional<fault_effect> spread_attention(const fault_setting& given, const fault_effect& of_row,
                                             std::int64_t budget);
std::span<const standard_fault> mqa_logits_faults();
std::vector<fault_effect> mqa_logits_effects(const fault_setting& given);
std::span<const standard_fault> append_kv_faults();
std::vector<fault_effect> append_kv_effects(const fault_setting& given);

}  // namespace assay::oracle
