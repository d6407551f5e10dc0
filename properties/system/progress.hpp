/// A progress line on stderr, if that is a terminal.
#pragma once

#include <chrono>
#include <string>

namespace assay {

class progress {
 public:
  /// Never shows anything if `wanted` is false.
  explicit progress(bool wanted = true);
  ~progress() { clear(); }
  /// Replaces the line, at most ten times a second.
  void show(const std::string& line);
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace assay
