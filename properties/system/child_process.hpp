/// Another program as a child of this process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// What to start.
struct command {
  std::vector<std::string> arguments;    ///< the program's path first
  std::vector<std::string> environment;  ///< "NAME=value", added to this process's own
  std::filesystem::path log;             ///< receives stdout and stderr; overwritten
};

/// A running program. It ends with this process. Its output goes to a file, so it never waits for a reader.
class child_process {
 public:
  /// Exit status of a child whose program could not be executed.
  static constexpr int cannot_execute = 127;

  /// Throws environment_error if the log cannot be opened or the process cannot be forked.
  explicit child_process(const command& what);
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// Whether the child is still running.
  bool poll();
  /// Waits for the end. Kills a child that runs for longer than the limit. Returns whether it ended by itself.
  bool wait(double limit_seconds);
  void kill();  ///< at once; waits for the end

  /// After the end: "exited with status 77", "killed by signal 9 (Killed)". Empty before it.
  const std::string& end() const { return end_; }
  bool succeeded() const { return status_ == 0; }
  int exit_status() const;  ///< after the end; 128 + n if signal n ended the child
  double seconds() const;   ///< from the start to now, or to the end

 private:
  pid_t pid_ = -1;
  int status_ = -1;
  std::string end_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point stop_;
};

/// How a run of run_child() ended.
struct child_end {
  int status = 0;  ///< exit status; 128 + n: killed by signal n; 124: killed at the limit
  double seconds = 0;
};

/// Runs the command to its end, or to the limit. Throws environment_error if it cannot be started.
child_end run_child(const command& what, double limit_seconds);

/// The file of the running program.
std::filesystem::path own_program();

/// How a process ended, from the status of waitpid(): "exited with status 1", "killed by signal 11 (Segmentation
/// fault)".
std::string end_text(int wait_status);

}  // namespace assay
