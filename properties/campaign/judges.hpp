/// How inputs of a campaign are judged again.
#pragma once

#include <memory>

#include "properties/campaign/options.hpp"
#include "properties/campaign/process.hpp"

namespace assay::campaign {

/// What a process of the target is told by its environment: the library under test, and what is checked.
std::vector<std::string> target_environment(const options& given);

/// The line of a process: the target's binary, its limits, `arguments`, and its environment.
command target_command(const options& given, std::vector<std::string> arguments, const std::filesystem::path& log);

/// How long an input may run before the process is to be ended from outside: libFuzzer has ended it by then, unless it
/// cannot.
double patience_seconds(const options& given);

/// Runs the target's binary on one input. Sees what only the instrumented build does, and inputs that are no case.
/// `shown`, where not null, receives what the target says of the input that fails.
verdict run_target(const options& given, const std::filesystem::path& input, std::string* shown = nullptr);

/// run_target on the bytes of a case; discards cases that no bytes make.
judge_function target_judge(const options& given);

/// Lets a failure of another kind than `kept` pass, so that minimizing does not slip from one defect to another.
judge_function only_of_kind(judge_function judge, std::string kept);

}  // namespace assay::campaign
