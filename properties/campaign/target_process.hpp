/// A process of a fuzz target.
#pragma once

#include <filesystem>
#include <string>

#include "properties/campaign/fuzzer_log.hpp"
#include "properties/system/child_process.hpp"

namespace assay::campaign {

/// A child process whose log is read as a fuzzer's.
class target_process {
 public:
  /// Throws environment_error if it cannot be started.
  explicit target_process(const command& what) : child_(what), log_file_(what.log) {}

  /// Whether it is still running. Reads what it wrote since the last call.
  bool poll();
  /// As child_process::wait(); the log is complete afterwards.
  bool wait(double limit_seconds);
  void kill();

  const fuzzer_log& log() const { return log_; }
  const std::string& end() const { return child_.end(); }
  bool succeeded() const { return child_.succeeded(); }
  int exit_status() const { return child_.exit_status(); }
  double seconds() const { return child_.seconds(); }

 private:
  void read_log();

  child_process child_;
  std::filesystem::path log_file_;
  std::streamoff read_ = 0;
  std::string partial_;  ///< the beginning of a line
  fuzzer_log log_;
};

/// Runs the command, for at most `limit_seconds`. A process that needs longer is killed; its complaint is a hang.
fuzzer_log run_to_end(const command& what, double limit_seconds, bool* succeeded);

}  // namespace assay::campaign
