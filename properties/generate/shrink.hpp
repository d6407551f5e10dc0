/// Shrinking: cases that are simpler than a given one, boldest first.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/case/support.hpp"

namespace assay {

/// Valid cases, each below `c` in the order of `complexity`, so that every chain of them ends. Steps that remove much
/// come first. All are fitted to what the kernel takes.
std::vector<attention_case> simpler(const attention_case& c, const assay_support& takes = {});

/// A measure by which cases are ordered lexicographically: sequences, keys and rows, heads, head dims, then how many
/// features are on, then the sizes of what is left, then how far the ids and the seeds are from the plainest ones.
std::vector<std::int64_t> complexity(const attention_case& c);

}  // namespace assay
