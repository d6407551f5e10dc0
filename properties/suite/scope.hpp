/// What a run can show of a kernel by what the kernel takes, and what it then was verified for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/suite/suite.hpp"

namespace assay {

/// Whether cases within the support can reach the thing (properties/run/reach.hpp).
bool can_reach(const std::string& kernel, const assay_support& takes, std::string_view thing);

/// A line for each kernel of a verified run: "split_kv: f16 and bf16, head dim 128, pages of 16, causal, block tables".
/// A kernel that declares nothing is verified for all that the suite generates. Empty where the run verified nothing.
std::vector<std::string> verified_for(const suite_options& options, const suite_result& result);

}  // namespace assay
