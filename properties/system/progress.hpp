/// A line on a terminal that tells how far a run is; nothing where stderr is no terminal.
#pragma once

#include <chrono>
#include <string>

namespace assay {

class progress {
 public:
  /// `wanted` false: never shows anything.
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
