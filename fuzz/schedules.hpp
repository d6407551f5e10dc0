/// Schedules as inputs: fixed small cases of every kernel, whose outputs no order of waves may change.
#pragma once

#include "properties/generate/space.hpp"
#include "properties/run/execute.hpp"

namespace assay::fuzz {

/// The cases: several waves and blocks, splits, double-buffered stages, descales of neighbouring pages that differ.
const std::vector<attention_case>& schedule_cases();

/// One of the cases with a schedule, as chosen.
attention_case choose_schedule(choice_source& choices);

/// Runs it and compares with the round-robin schedule of its wave size (which belongs to the contract). A pass, or what
/// is wrong.
verdict check_schedule(const library& lib, const attention_case& c);

}  // namespace assay::fuzz
