/// Schedules as inputs: fixed small cases of every kernel, whose outputs no order of waves may change.
#pragma once

#include <span>
#include <vector>

#include "properties/generate/space.hpp"
#include "properties/run/execute.hpp"

namespace assay::fuzz {

/// A file of fuzz/schedules, as the build embeds it.
struct case_text {
  const char* file;
  const char* text;
};
std::span<const case_text> case_texts();

/// The cases. They have several waves and blocks, splits, double-buffered stages, and pages with different descales.
const std::vector<attention_case>& schedule_cases();

/// One of the cases with a schedule, as chosen.
attention_case choose_schedule(choice_source& choices);

/// Runs the case and compares its outputs with those of the round-robin schedule of the same wave size.
verdict check_schedule(const library& lib, const attention_case& c);

}  // namespace assay::fuzz
