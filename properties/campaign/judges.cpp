#include "properties/campaign/judges.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/campaign/kinds.hpp"
#include "properties/campaign/target_process.hpp"
#include "properties/run/by_platform.hpp"
#include "properties/run/execute.hpp"
#include "properties/system/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::string> target_environment(const options& given) {
  std::vector<std::string> all;
  // Made absolute: the target looks it up where it runs.
  if (!given.library.empty()) all.push_back("ASSAY_FUZZ_LIBRARY=" + fs::absolute(given.library).string());
  if (given.beside) all.push_back("ASSAY_FUZZ_BESIDE=" + fs::absolute(given.beside->path()).string());
  if (!given.checks.accesses) all.emplace_back("ASSAY_FUZZ_CHECKS=none");
  if (given.checks.lockstep_waves) all.emplace_back("ASSAY_FUZZ_CHECKS=lockstep_waves");
  return all;
}

command target_command(const options& given, std::vector<std::string> arguments, const fs::path& log) {
  command what{{given.fuzzed.binary.string(), fmt::format("-timeout={:.0f}", std::ceil(given.limit_seconds)),
                fmt::format("-rss_limit_mb={}", given.rss_limit_mib)},
               target_environment(given),
               log};
  for (std::string& argument : arguments) what.arguments.push_back(std::move(argument));
  return what;
}

double patience_seconds(const options& given) {
  // libFuzzer checks its clock every limit / 2 + 1 s, so it may notice an input over the limit that much later.
  const double limit = std::ceil(given.limit_seconds);
  return limit + limit / 2 + 1 + given.grace_seconds;
}

verdict run_target(const options& given, const fs::path& input, std::string* shown) {
  const command what = target_command(given, {input.string()}, folders(given.folder).logs / "judge.txt");
  bool passes = false;
  const fuzzer_log log = run_to_end(what, patience_seconds(given), &passes);
  if (shown != nullptr) *shown = log.input;
  return passes ? passed() : failed(log.complaint->origin, log.complaint->what);
}

judge_function library_judge(const options& given, const library& lib, double limit_seconds) {
  judge_function first = isolated_judge(lib, enclosure_property(), limit_seconds);
  if (!given.beside) return first;
  judge_function second = isolated_judge(*given.beside, enclosure_property(), limit_seconds);
  return [first = std::move(first), second = std::move(second), &lib, beside = given.beside](const attention_case& c) {
    const verdict a = first(c);
    if (a.result == outcome::fail) return by_platform(lib, a);
    const verdict b = second(c);
    return a.result == outcome::pass || b.result == outcome::fail ? by_platform(*beside, b) : by_platform(lib, a);
  };
}

judge_function target_judge(const options& given) {
  return [given](const attention_case& c) {
    const auto bytes = bytes_of(given.fuzzed, c);
    if (!bytes) return discarded("the target has no input for this case");
    const fs::path input = folders(given.folder).logs / "judged";
    write_by_rename(input, text_of(*bytes));
    return run_target(given, input);
  };
}

judge_function only_of_kind(judge_function judge, std::string kept) {
  return [judge = std::move(judge), kept = std::move(kept)](const attention_case& c) {
    verdict v = judge(c);
    if (v.result == outcome::fail && kind_of({v.origin, v.what}) != kept) return passed();
    return v;
  };
}

}  // namespace assay::campaign
