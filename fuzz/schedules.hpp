/// Schedules as inputs: fixed small cases of every kernel, whose outputs no order of waves may change.
#pragma once

#include "properties/generate/space.hpp"
#include "properties/run/execute.hpp"

namespace assay::fuzz {

/// The cases. They have several waves and blocks, splits, double-buffered stages, and pages with different descales.
const std::vector<attention_case>& schedule_cases();

/// One of the cases with a schedule, as chosen.
attention_case choose_schedule(choice_source& choices);

/// Runs the case and compares its outputs with those of the round-robin schedule of the same wave size.
verdict check_schedule(const library& lib, const attention_case& c);

}  // namespace assay::fuzz
