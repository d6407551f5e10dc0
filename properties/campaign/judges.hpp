/// How inputs of a campaign are judged again.
#pragma once

#include <memory>

#include "properties/campaign/options.hpp"
#include "properties/campaign/target_process.hpp"

namespace assay::campaign {

/// Environment of a target's process: names the library under test and the checks.
std::vector<std::string> target_environment(const options& given);

/// The command of a target's process: its binary, limits, `arguments` and environment.
command target_command(const options& given, std::vector<std::string> arguments, const std::filesystem::path& log);

/// How long an input may run before the campaign kills the process. libFuzzer normally ends it before.
double patience_seconds(const options& given);

/// Runs the target's binary on one input. Unlike running the library on a case, this takes inputs that are not cases,
/// and shows failures of the instrumented build alone. `shown`, if not null, receives what the target prints of a
/// failing input.
verdict run_target(const options& given, const std::filesystem::path& input, std::string* shown = nullptr);

/// Judges a case by the library under test and then by the one beside it, in processes of their own. The first failure
/// counts, else the first verdict that is no pass.
judge_function library_judge(const options& given, const library& lib, double limit_seconds);

/// run_target on the bytes of a case; discards a case that no bytes encode.
judge_function target_judge(const options& given);

/// Counts failures of kinds other than `kept` as passes, so that minimizing stays with one defect.
judge_function only_of_kind(judge_function judge, std::string kept);

}  // namespace assay::campaign
