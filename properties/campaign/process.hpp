/// A process of a fuzz target.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "properties/campaign/fuzzer_log.hpp"

namespace assay::campaign {

/// What to start.
struct command {
  std::vector<std::string> arguments;    ///< the program's path first
  std::vector<std::string> environment;  ///< "NAME=value", besides the one of this process
  std::filesystem::path log;             ///< stdout and stderr; what is there is overwritten
};

/// A child that ends with this process, and whose output goes to a file: nobody has to read it for the child to go on.
class process {
 public:
  /// Throws environment_error when it cannot be started.
  explicit process(const command& what);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  /// Reads what was written since. False when the child has ended, and everything was read.
  bool poll();
  const fuzzer_log& log() const { return log_; }
  /// After the end: "exited with status 77", "killed by signal 9 (Killed)".
  const std::string& end() const { return end_; }
  bool succeeded() const { return status_ == 0; }
  int exit_status() const;  ///< after the end, as a shell tells it: 128 + n if signal n ended it
  double seconds() const;   ///< since the start, until the end
  void kill();              ///< at once, and waits

 private:
  void read_log();

  std::filesystem::path log_file_;
  std::streamoff read_ = 0;
  std::string partial_;  ///< the begin of a line
  fuzzer_log log_;
  pid_t pid_ = -1;
  int status_ = -1;
  std::string end_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point stop_;
};

/// Runs to the end, at most `limit_seconds`: a process that needs longer is killed and complains of a hang.
fuzzer_log run_to_end(const command& what, double limit_seconds, bool* succeeded);

}  // namespace assay::campaign
