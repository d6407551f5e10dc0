/// The stages of a night.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "properties/nightly/night.hpp"

namespace assay {

struct night_options {
  double minutes = 60;
  std::uint64_t seed = 1;
  int jobs = 1;
  std::filesystem::path corpus = "corpus";       ///< the committed cases
  std::filesystem::path folder = "out/nightly";  ///< reports, logs, findings and the fuzzers' state
  std::vector<std::string> targets;              ///< to fuzz
  /// "nvidia" or "amd": its kernels are judged beside the cpu kernels. Stages that have no meaning there are left out.
  std::string platform = "cpu";
  std::string sanitizer;  ///< NVIDIA's compute-sanitizer, by its path; empty: it is not here
  /// Of `shards` machines, from 1: it has a part of the properties' cases, and each other stage is one machine's.
  std::int64_t shard = 1;
  std::int64_t shards = 1;
  /// Mutants of the kernels to try; 0: none. run_night() tries one a minute where assay_mutants lies beside the
  /// program.
  std::int64_t mutants = 0;
};

/// The program of the stage that tries mutants (tests/mutants).
inline constexpr const char* mutants_program = "assay_mutants";

/// A command of the night. Stages without a share come first and take the time they need; the others divide the rest of
/// the time by their shares.
struct stage_plan {
  std::string name;
  /// Why the stage does not run, or empty.
  std::string left_out = {};  // NOLINT(readability-redundant-member-init): may be left out
  /// "{seconds}" stands for the time given to it. The first one may be mutants_program, which then runs in place of
  /// assay.
  std::vector<std::string> arguments;
  std::filesystem::path report;  ///< the JSON that it writes
  double share = 0;
};

/// The stages for these options. Reports and logs go to `work`.
std::vector<stage_plan> plan_night(const night_options& options, const std::filesystem::path& work);

/// Takes numbers and findings from the JSON report of any command of the program; a fault that is not caught is a
/// finding. Ignores missing fields. Throws case_error if the file is not JSON.
void read_report(const std::filesystem::path& report, night_stage& stage);

/// Runs the stages one after the other. A stage that fails, dies or writes a bad report is a finding; the night goes
/// on. Calls `begin` before each stage.
night run_night(const night_options& options, const std::filesystem::path& program, const std::filesystem::path& work,
                const std::function<void(const stage_plan&)>& begin);

}  // namespace assay
