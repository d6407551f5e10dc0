#include "properties/nightly/peer_judges.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "properties/nightly/peer_cases.hpp"
#include "properties/nightly/peer_rules.hpp"
#include "properties/run/execute.hpp"
#include "properties/suite/suite.hpp"
#include "properties/system/worker.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

attention_case case_of(const std::string& kernel, const std::string& types, case_kind kind, const peer_options& given,
                       std::int64_t index) {
  if (kind == case_kind::peers) return peer_case(kernel, types, given.seed, index);
  suite_options options;
  options.kernels = {kernel};
  options.types = {types};
  options.selected = {&enclosure_property()};
  options.seed = given.seed;
  return suite_case(options, index);
}

char letter(bool is_flagged) {
  return is_flagged ? flags : accepts;
}

std::uint32_t fingerprint_of(const compared_outputs& c) {
  std::string bytes;
  const auto add = [&](const compared_tensor& t) {
    for (const double value : t.output) {
      // All NaN are one value, whatever their bits.
      const double one = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
      bytes.append(reinterpret_cast<const char*>(&one), sizeof one);
    }
  };
  for (const compared_tensor& t : c.results) add(t);
  if (c.lse) add(*c.lse);
  return fingerprint(bytes);
}

/// Whether a run with loads and stores checked fails.
bool fails_checked(library& lib, const attention_case& c, inputs& given) {
  lib.checks.accesses = true;
  const execution ran = execute(lib, c, given);
  const auto decided = verdict_of(ran);
  return (decided ? *decided : judge_execution(given, ran)).result == outcome::fail;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> judges() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const peer_rule& r : peer_rules()) all.emplace_back(r.project, r.rule);
  all.emplace_back("Assay, outputs only", "each element lies in the enclosure of the contract");
  all.emplace_back("Assay, one run", "the same, and memory, access and order checks");
  return all;
}

judged_case stopped_run() {
  return {std::string(peer_rules().size() + 1, cannot_judge) + letter(true), {}};
}

judged_case judge_case(library& lib, const attention_case& c, case_kind kind) {
  inputs given = kind == case_kind::peers ? peer_inputs(c) : fill(c);
  const execution_checks usual = lib.checks;
  lib.checks.accesses = false;
  const execution ran = execute(lib, c, given);
  judged_case judged;
  std::string& letters = judged.letters;
  if (ran.status.code == ASSAY_FAILED) {
    letters.assign(judges().size(), flags);
  } else if (ran.status.code == ASSAY_OK) {
    const compared_outputs compared = compare_outputs(given, ran);
    judged.output_bits = fmt::format("{:08x}", fingerprint_of(compared));
    for (const peer_rule& rule : peer_rules())
      letters += can_judge(rule, compared) ? letter(rule.flags(compared)) : cannot_judge;
    const bool is_outside = judge_execution(given, ran).result == outcome::fail;
    letters += letter(is_outside);
    const auto decided = verdict_of(ran);
    letters += letter(is_outside || (decided && decided->result == outcome::fail) || fails_checked(lib, c, given));
  }
  lib.checks = usual;
  return judged;
}

std::vector<judged_case> judge_cases(library& lib, const std::string& kernel, const std::string& types, case_kind kind,
                                     const peer_options& options, bool& stopped) {
  std::vector<judged_case> all(static_cast<std::size_t>(options.cases));
  std::int64_t next = 0;
  const auto serve = [&](const std::string& request) {
    const judged_case judged = judge_case(lib, case_of(kernel, types, kind, options, std::stoll(request)), kind);
    return judged.letters + " " + judged.output_bits;
  };
  run_workers(
      options.jobs, options.limit_seconds, serve,
      [&] { return next < options.cases ? std::optional(std::to_string(next++)) : std::nullopt; },
      [&](const work_result& worked) {
        judged_case& judged = all[std::stoull(worked.request)];
        stopped = stopped || !worked.reply;
        if (!worked.reply)
          judged = stopped_run();
        else if (const std::size_t space = worked.reply->find(' '); space != std::string::npos)
          judged = {worked.reply->substr(0, space), worked.reply->substr(space + 1)};
      });
  return all;
}

}  // namespace assay
