/// What a libFuzzer process says on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::campaign {

/// What is wrong, in the terms of a verdict.
struct complaint {
  std::string origin;  ///< which check: as a verdict's, or "hang", "out of memory", "crash", a sanitizer's name
  std::string what;    ///< one line
  bool operator==(const complaint&) const = default;
};

/// "ORIGIN: WHAT", apart.
complaint split(std::string_view text);

/// What was read so far.
struct fuzzer_log {
  std::int64_t executions = 0;
  std::int64_t coverage = 0;  ///< edges of 8-bit counters
  std::int64_t features = 0;
  std::int64_t corpus = 0;      ///< entries that the process holds in memory
  bool loaded = false;          ///< the corpus was run through; mutation has begun
  std::optional<complaint> is;  ///< the target's own words win over a sanitizer's, these over libFuzzer's
  std::string input;            ///< what the target says that it ran, after its words of a finding: a case's JSON
  std::string last_line;        ///< for processes that end before they begin
  bool in_input = false;        ///< lines go to `input` until the engine speaks
};

/// Takes one line, without its end.
void read_line(fuzzer_log& log, std::string_view line);

}  // namespace assay::campaign
