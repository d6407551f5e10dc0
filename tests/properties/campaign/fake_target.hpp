/// A stand-in for a target linked with libFuzzer: a shell script with its command line, in a folder of its own. An
/// input fails if it contains "BAD", every other time if it contains "FLAKY", and never ends if it contains "HANG". Of
/// "CRASH" it says what libFuzzer says of a signal, of "SLOW" that it timed out, but not when it runs it alone. With
/// "LOST" the process is killed at once and writes no artifact; with "WHY" beside it, it says why. Asked for seeds, it
/// takes the texts of cases as they are, but none with "FOREIGN"; "BAD" is no case, with "CRASH" it is killed, and of
/// "HANG" it has written a part when it is interrupted.
#pragma once

#include <filesystem>
#include <string>

#include "properties/campaign/options.hpp"

namespace assay::campaign::testing {

class fake_target {
 public:
  fake_target();
  ~fake_target();
  fake_target(const fake_target&) = delete;
  fake_target& operator=(const fake_target&) = delete;

  /// A campaign on it, of 2 s and 2 more for each input that it will find. Its bytes are no case, unless `kernel` says
  /// whose.
  options given(const std::string& kernel = "") const;
  /// Lines "NAME HITS" that each process adds to its counters.
  void will_count(const std::string& lines) const;
  /// Inputs that a process will come to, one after the other, after its corpus.
  void will_find(const std::string& name, const std::string& bytes) const;
  std::filesystem::path state(const std::string& name = "") const { return root_ / "state" / name; }
  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

/// Names of a folder's files, sorted.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace assay::campaign::testing
