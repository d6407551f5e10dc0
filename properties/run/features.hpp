/// Features of a run that edges of code do not show: relations between sizes, places of pages, values in the softmax.
/// Fuzzers keep cases that have a new feature; `assay corpus` chooses cases by them.
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

/// Counts over all sequences of the case. Counts that need the enclosure (codes of P, widths) are 0 if the execution
/// already decided.
feature_counts count_features(const attention_case& c, const detailed_run& run);

/// 0 for 0, else 1 + the number of libFuzzer's bucket: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128 and more.
int bucket_of(std::int64_t count);

}  // namespace assay
