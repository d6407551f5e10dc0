#include "properties/campaign/fuzzer_log.hpp"

#include <algorithm>
#include <charconv>

namespace assay::campaign {
namespace {

/// The number after `key`, if the line has it.
void take(std::string_view line, std::string_view key, std::int64_t& value) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return;
  std::string_view rest = line.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
}

/// libFuzzer's and the sanitizers' "SUMMARY: TOOL: WHAT".
complaint summarized(std::string_view text) {
  complaint failure = split(text);
  if (failure.origin != "libFuzzer") return failure;
  if (failure.what.starts_with("timeout")) return {"hang", failure.what};
  if (failure.what.starts_with("out-of-memory")) return {"out of memory", failure.what};
  return {"crash", failure.what};
}

}  // namespace

complaint split(std::string_view text) {
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 2))};
}

void read_line(fuzzer_log& log, std::string_view line) {
  constexpr std::string_view own = "assay finding: ";
  constexpr std::string_view summary = "SUMMARY: ";
  if (!line.empty()) log.last_line = line;
  if (line.empty() || line.starts_with("==")) log.in_input = false;  // "==1234== ERROR: libFuzzer: ..."
  if (log.in_input) {
    log.input.append(line).append("\n");
  } else if (line.starts_with(own)) {
    log.complaint = split(line.substr(own.size()));
    log.in_input = true;
  } else if (line.starts_with(summary)) {
    if (!log.complaint) log.complaint = summarized(line.substr(summary.size()));
  } else if (line.starts_with("#")) {  // "#4096 pulse  cov: 10 ft: 11 corp: 2/6b lim: 43 exec/s: 2048 rss: 32Mb"
    take(line, "#", log.executions);
    take(line, " cov: ", log.coverage);
    take(line, " ft: ", log.features);
    take(line, " corp: ", log.corpus);
    log.loaded = log.loaded || line.find("INITED") != std::string_view::npos;
  } else if (line.starts_with("stat::number_of_executed_units:")) {
    take(line, "stat::number_of_executed_units:", log.executions);
  }
}

}  // namespace assay::campaign
