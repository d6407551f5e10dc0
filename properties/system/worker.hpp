/// Work in child processes: a request that crashes or hangs costs one child, and is named.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// A child process that answers requests one after the other. The parent must have no threads when it starts one.
class worker {
 public:
  using serve_function = std::function<std::string(const std::string& request)>;

  /// Forks; the child calls `serve` for each request and ends with its parent.
  explicit worker(const serve_function& serve);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Sends a request. One may be under way.
  void send(const std::string& request);
  /// Readable when (a part of) a reply, or the child's end, is there.
  int reply_fd() const { return reply_fd_; }
  /// Takes what is there to read. True when the reply is complete, or the child has ended.
  bool receive();
  /// After receive(): the reply, or nothing if the child ended first.
  const std::optional<std::string>& reply() const { return reply_; }
  /// After the child ended: "killed by signal 11 (Segmentation fault)", "exited with status 1".
  std::string end();
  /// After receive() without a reply: what the child said of its own end; empty if it could not.
  const std::string& last_words() const { return last_words_; }
  /// Processor time that the child has used, of all its threads.
  double processor_seconds() const;
  /// Ends the child at once.
  void kill();

  /// In a child: sends these words instead of a reply and ends the process. Elsewhere it does nothing.
  /// Async-signal-safe: it is for the handlers of faults.
  static void end_with_last_words(const char* text, std::size_t size);

 private:
  pid_t pid_ = -1;
  int request_fd_ = -1;
  int reply_fd_ = -1;
  std::string received_;
  std::optional<std::string> reply_;
  std::string last_words_;
};

/// What came of one request: a reply, or how the child that worked on it ended.
struct work_result {
  std::string request;
  std::optional<std::string> reply;
  std::string death;       ///< empty with a reply
  std::string last_words;  ///< what the child said before it ended
  double seconds = 0;      ///< of processor time
};

/// A worker hangs when a request has taken its limit of processor time, or this many times that by the clock: on a
/// machine that is busy otherwise, a long case is none that hangs.
constexpr double patience = 4;

/// Lets `jobs` workers take requests from `next` until it has none, and hands results to `done` as they come. A worker
/// that ends, or hangs on a request, is replaced.
void run_workers(int jobs, double limit_seconds, const worker::serve_function& serve,
                 const std::function<std::optional<std::string>()>& next,
                 const std::function<void(const work_result&)>& done);

/// One child for many requests, replaced when one of them ends it: for searches that go step by step.
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
