/// Work in child processes. A request that crashes or hangs costs one child; the result says which request it was.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// What a program needs around each fork of a worker, and while it waits for workers: an interpreter has locks of its
/// own, and must see Ctrl-C. Each may be null. `while_waiting` is called at least every 50 ms, and may throw: then the
/// workers end.
struct worker_hooks {
  void (*before_fork)() = nullptr;
  void (*after_fork_in_parent)() = nullptr;
  void (*after_fork_in_child)() = nullptr;
  void (*while_waiting)() = nullptr;
};
/// Those of all workers of this process from now on.
void set_worker_hooks(const worker_hooks& hooks);

/// A child process that answers requests one after the other. The parent must have no threads when it starts one. What
/// the child writes to stdout goes to stderr; when its parent ends it, the processes of its group end, too.
class worker {
 public:
  using serve_function = std::function<std::string(const std::string& request)>;

  /// Forks; the child calls `serve` for each request and ends with its parent. Throws environment_error.
  explicit worker(const serve_function& serve, int number = 0);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Sends a request. Only one may be unanswered.
  void send(const std::string& request);
  /// Becomes readable when the child replies or ends.
  int reply_fd() const { return reply_fd_; }
  /// Reads what has arrived. Returns whether the reply is complete or the child has ended.
  bool receive();
  /// After receive(): the reply, or nothing if the child ended first.
  const std::optional<std::string>& reply() const { return reply_; }
  /// After the child ended: "killed by signal 11 (Segmentation fault)", "exited with status 1". Ends a child that only
  /// closed its pipe. Throws environment_error if the child had no more memory than a limit gives it.
  std::string end();
  /// After receive() without a reply: the child's last words, if it sent any.
  const std::string& last_words() const { return last_words_; }
  /// Whether the child has ended and all that it sent is read. Its reply_fd() does not show that where a process that
  /// it started holds the pipe open.
  bool has_ended() const;
  /// Processor time of all threads of the child.
  double processor_seconds() const;
  /// Ends the child at once.
  void kill();

  /// In a child: its number among those that work side by side, from 0. One that replaces another has its number.
  /// Elsewhere 0, or what take_number() said.
  static int number();
  /// Of a process that works beside others, but was not made by this class.
  static void take_number(int number);
  /// Whether this process may have only so much memory (ulimit -v). Where it may have all, running out of it is a fault
  /// of what it runs.
  static bool has_memory_limit();
  /// In a child: sends these words instead of a reply and ends the process. Elsewhere: does nothing.
  /// Async-signal-safe, for fault handlers.
  static void end_with_last_words(const char* text, std::size_t size);

 private:
  pid_t pid_ = -1;
  int request_fd_ = -1;
  int reply_fd_ = -1;
  std::string received_;
  std::optional<std::string> reply_;
  std::string last_words_;
};

/// The result of one request: a reply, or how the child that worked on it ended.
struct work_result {
  std::string request;
  std::optional<std::string> reply;
  std::string death;       ///< empty with a reply
  std::string last_words;  ///< that the child sent before it ended
  double seconds = 0;      ///< of processor time
};

/// A request hangs when it has taken its limit of processor time, or this many times the limit by the clock. A long
/// case on a busy machine is not a hang.
constexpr double patience = 4;

/// Lets `jobs` workers take requests from `next` until it returns nothing, and passes results to `done` as they arrive.
/// Replaces a worker that ends or hangs.
void run_workers(int jobs, double limit_seconds, const worker::serve_function& serve,
                 const std::function<std::optional<std::string>()>& next,
                 const std::function<void(const work_result&)>& done);

/// One child for many requests, replaced when a request ends it. For searches that go step by step.
class isolated {
 public:
  isolated(worker::serve_function serve, double limit_seconds);
  work_result ask(const std::string& request);

 private:
  worker::serve_function serve_;
  double limit_seconds_;
  std::unique_ptr<worker> worker_;
};

}  // namespace assay
