/// Which part of a run is this process's: as it is given, or as the array of jobs says that it is one of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace assay {

struct shard_choice {
  std::int64_t shard = 1;  ///< of `shards`, from 1
  std::int64_t shards = 1;
  std::string source;  ///< of "auto", what says so: "task 2 of Slurm's array 0-9"; else empty
};

/// The value of an environment variable, or nothing.
using environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> variable_of_process(const char* name);

/// Reads "i/n" with 1 <= i <= n, or "auto": then exactly one of these says it, or several that agree.
/// - Slurm's array: SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP (default 1), _COUNT (default: as the others say);
/// - Kubernetes' indexed Job: JOB_COMPLETION_INDEX, from 0, and ASSAY_SHARDS, the number of completions;
/// - ASSAY_SHARD_INDEX, from 0, and ASSAY_SHARDS: GitHub's strategy.job-index and strategy.job-total.
/// Throws case_error, one line: no or half a source, values that are no numbers, sources that contradict each other.
shard_choice choose_shard(const std::string& text, const environment& variable = variable_of_process);

/// "shard 3/10: task 2 of Slurm's array 0-9\n"; empty where the choice was given.
std::string shard_line(const shard_choice& choice);

}  // namespace assay
