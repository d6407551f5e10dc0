/// The log of a libFuzzer process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::campaign {

/// What went wrong, in the terms of a verdict.
struct complaint {
  std::string origin;  ///< the check: a verdict's origin, "hang", "out of memory", "crash" or a sanitizer's name
  std::string what;    ///< one line
  bool operator==(const complaint&) const = default;
};

/// The parts of "ORIGIN: WHAT".
complaint split(std::string_view text);

/// What the lines so far say.
struct fuzzer_log {
  std::int64_t executions = 0;
  std::int64_t coverage = 0;  ///< edges of 8-bit counters
  std::int64_t features = 0;
  std::int64_t corpus = 0;                       ///< entries that the process holds in memory
  bool loaded = false;                           ///< the corpus is loaded; mutation has begun
  std::optional<campaign::complaint> complaint;  ///< the target's own wins over a sanitizer's, that over libFuzzer's
  std::string input;                             ///< what the target ran, printed after its complaint: a case's JSON
  std::string last_line;                         ///< explains a process that ends at once
  bool in_input = false;                         ///< lines go to `input` until the engine prints one of its own
};

/// Takes one line, without its end.
void read_line(fuzzer_log& log, std::string_view line);

}  // namespace assay::campaign
