/// Outputs of a case that no kernel library computed: somebody else did, of the case's inputs.
#pragma once

#include <string>
#include <vector>

#include "properties/run/execute.hpp"

namespace assay {

/// The problem of a case, with one split where the case leaves that to a planner.
problem with_splits(const attention_case& c);

/// What stands for a run: outputs that are not written yet, without those that are left out.
execution unwritten_execution(const attention_case& c, const inputs& in, const std::vector<std::string>& left_out);

/// Judges the outputs, once they are written, by a contract. Throws case_error where the contract cannot bound them.
verdict judge_given(const attention_case& c, const inputs& in, execution& ran, const contract& declared);

}  // namespace assay
