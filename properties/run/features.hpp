/// What a run exercised that edges of code do not show: sizes beside each other, where pages lie, what the softmax saw.
/// For fuzzers, which keep cases that have a new one, and for choosing corpora.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "properties/run/execute.hpp"

namespace assay {

struct feature {
  const char* name;
  const char* sentence;  ///< what is counted
};

inline constexpr std::size_t num_features = 29;

/// All features; a count's index is its feature's place here.
std::span<const feature, num_features> features();

using feature_counts = std::array<std::int64_t, num_features>;

/// Counts over all sequences of the case. What enclosing the outputs tells (codes of P, widths) is 0
/// where the execution already decided.
feature_counts count_features(const attention_case& c, const detailed_run& run);

/// 0 for 0, else 1 + the number of libFuzzer's bucket: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128 and more.
int bucket_of(std::int64_t count);

}  // namespace assay
