#include "properties/campaign/target_process.hpp"

#include <fmt/format.h>

#include <fstream>

namespace assay::campaign {

bool target_process::poll() {
  const bool is_running = child_.poll();
  read_log();
  return is_running;
}

bool target_process::wait(double limit_seconds) {
  const bool ended = child_.wait(limit_seconds);
  read_log();
  return ended;
}

void target_process::kill() {
  child_.kill();
  read_log();
}

void target_process::read_log() {
  std::ifstream file(log_file_, std::ios::binary);
  file.seekg(read_);
  char chunk[65536];
  while (file.read(chunk, sizeof chunk), file.gcount() > 0) {
    read_ += file.gcount();
    partial_.append(chunk, static_cast<std::size_t>(file.gcount()));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = partial_.find('\n', begin)) != std::string::npos; begin = end + 1)
      read_line(log_, std::string_view(partial_).substr(begin, end - begin));
    partial_.erase(0, begin);
  }
}

fuzzer_log run_to_end(const command& what, double limit_seconds, bool* succeeded) {
  target_process child(what);
  const bool ended = child.wait(limit_seconds);
  fuzzer_log log = child.log();
  *succeeded = ended && child.succeeded();
  if (!*succeeded && !log.complaint)
    log.complaint = ended ? complaint{"crash", "the target " + child.end()}
                          : complaint{"hang", fmt::format("did not end within {:g} s", limit_seconds)};
  return log;
}

}  // namespace assay::campaign
