#include "properties/system/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace assay {

progress::progress(bool wanted)
    : on_(wanted && isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_() {}

void progress::show(const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  if (!on_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}, {:.0f} s", line, std::chrono::duration<double>(now - start_).count());
  std::fflush(stderr);
}

void progress::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace assay
