#include "properties/nightly/peer_judges.hpp"

#include <fmt/format.h>

#include "properties/nightly/peer_cases.hpp"
#include "properties/nightly/peer_rules.hpp"
#include "properties/run/execute.hpp"
#include "properties/suite/suite.hpp"
#include "properties/system/worker.hpp"

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

std::string letters_of_stopped_run() {
  std::string letters(peer_rules().size() + 1, cannot_judge);
  return letters + letter(true);
}

std::string judge_case(library& lib, const attention_case& c, case_kind kind) {
  inputs given = kind == case_kind::peers ? peer_inputs(c) : fill(c);
  const execution_checks usual = lib.checks;
  lib.checks.accesses = false;
  const execution ran = execute(lib, c, given);
  std::string letters;
  if (ran.status.code == ASSAY_FAILED) {
    letters.assign(judges().size(), flags);
  } else if (ran.status.code == ASSAY_OK) {
    const compared_outputs compared = compare_outputs(given, ran);
    for (const peer_rule& rule : peer_rules())
      letters += can_judge(rule, compared) ? letter(rule.flags(compared)) : cannot_judge;
    const bool is_outside = judge_execution(given, ran).result == outcome::fail;
    letters += letter(is_outside);
    const auto decided = verdict_of(ran);
    letters += letter(is_outside || (decided && decided->result == outcome::fail) || fails_checked(lib, c, given));
  }
  lib.checks = usual;
  return letters;
}

std::vector<std::string> judge_cases(library& lib, const std::string& kernel, const std::string& types, case_kind kind,
                                     const peer_options& options, bool& stopped) {
  std::vector<std::string> all(static_cast<std::size_t>(options.cases));
  std::int64_t next = 0;
  const auto serve = [&](const std::string& request) {
    return judge_case(lib, case_of(kernel, types, kind, options, std::stoll(request)), kind);
  };
  run_workers(
      options.jobs, options.limit_seconds, serve,
      [&] { return next < options.cases ? std::optional(std::to_string(next++)) : std::nullopt; },
      [&](const work_result& worked) {
        std::string& letters = all[std::stoull(worked.request)];
        letters = worked.reply.value_or(letters_of_stopped_run());
        stopped = stopped || !worked.reply;
      });
  return all;
}

}  // namespace assay
