// A night's stages are run as commands, in the time that they are given.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "properties/case/case.hpp"
#include "properties/nightly/stages.hpp"
#include "properties/system/errors.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path script(const testing::scratch& here, const std::string& name, const std::string& text) {
  const fs::path file = here.write(name, "#!/bin/sh\n" + text);
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

}  // namespace

TEST_CASE("half of a night's free time is the properties', the rest the targets'") {
  night_options options;
  options.targets = {"fuzz_a", "fuzz_b", "fuzz_c"};
  const auto plan = plan_night(options, "work");
  REQUIRE(plan.size() == 7);
  CHECK(plan[3].share == 3);
  CHECK(std::accumulate(plan.begin() + 4, plan.end(), 0.0, [](double s, const stage_plan& p) { return s + p.share; }) ==
        3);
  CHECK(std::ranges::find(plan[4].arguments, "fuzz_a") != plan[4].arguments.end());
}

TEST_CASE("what the properties found on nights before is replayed") {
  const testing::scratch here;
  night_options options;
  options.folder = here.file("nights");
  CHECK(plan_night(options, "work").size() == 4);
  here.write("nights/findings/output_enclosed-1.json", "{}");
  const auto plan = plan_night(options, "work");
  REQUIRE(plan.size() == 5);
  CHECK(plan[1].name == old_findings_stage);
  CHECK(std::ranges::find(plan[1].arguments, here.file("nights/findings")) != plan[1].arguments.end());
  CHECK(plan[1].share == 0);
}

TEST_CASE("mutants are tried by their own program, after the faults, one a minute where it lies beside assay") {
  const testing::scratch here;
  const std::string writes = "while [ $# -gt 1 ]; do [ \"$1\" = --json ] && json=$2; shift; done\n";
  const fs::path program = script(here, "assay", writes + "echo '{\"caught\": 1}' >\"$json\"\n");
  night_options options;
  options.minutes = 3;
  options.folder = here.file("nights");
  const auto stages = [&] { return run_night(options, program, here.file("nights/one"), [](const auto&) {}).stages; };
  CHECK(stages().size() == 4);  // the program is not there
  script(here, mutants_program,
         writes +
             "echo '{\"mutation_score\": 0.5, \"findings\": [{\"kernel\": \"split_kv\", \"origin\": \"mutant "
             "survived\", \"what\": \"w\", \"file\": \"\", \"replay\": \"r\"}]}' >\"$json\"\nexit 1\n");
  const std::vector<night_stage> with_mutants = stages();
  REQUIRE(with_mutants.size() == 5);
  const night_stage& mutants = with_mutants[2];
  CHECK(mutants.name == "mutants");
  CHECK(mutants.arguments[0] == mutants_program);
  CHECK(mutants.arguments[2] == "3");
  CHECK(mutants.status == 1);
  CHECK(mutants.numbers.at("mutation score") == 0.5);
  REQUIRE(mutants.findings.size() == 1);
  CHECK(mutants.findings[0].origin == "mutant survived");
  CHECK_FALSE(mutants.numbers.contains("faults caught"));
  CHECK(with_mutants[1].numbers.at("faults caught") == 1);
}

TEST_CASE("a night runs every stage, reads what it reports, and goes on after one that fails") {
  const testing::scratch here;
  // `run` finds something, also a failure that did not come again, and one fault is not caught; `bench` crashes, one
  // target reports nonsense.
  const fs::path program = script(here, "program", R"(
    name=$1
    target=$2
    while [ $# -gt 1 ]; do
      [ "$1" = --json ] && json=$2
      [ "$1" = --seconds ] && seconds=$2
      shift
    done
    case $name in
      run) echo '{"total": {"pass": 9}, "findings": [{"origin": "memory", "what": "w", "replay": "r", "kernel": "split_kv"},
        {"failed_as": "hang", "origin": "", "what": ""}]}' >"$json"; exit 1 ;;
      faults) echo '{"faults": [{"fault": "a", "caught": true}, {"fault": "b", "caught": false}]}' >"$json"; exit 1 ;;
      bench) kill -11 $$ ;;
      fuzz) [ $target = fuzz_c ] && echo '{' >"$json" || echo "{\"executions\": $seconds}" >"$json" ;;
    esac
  )");
  night_options options;
  options.minutes = 10;
  options.targets = {"fuzz_a", "fuzz_b", "fuzz_c"};
  options.folder = here.file("nights");
  std::vector<std::string> begun;
  const night n =
      run_night(options, program, here.file("nights/one"), [&](const stage_plan& p) { begun.push_back(p.name); });
  CHECK(begun == std::vector<std::string>{"corpus", "faults", "bench", "properties", "fuzz_a", "fuzz_b", "fuzz_c"});
  REQUIRE(n.stages.size() == 7);
  CHECK_FALSE(n.is_clean());
  const auto only = [&](int i) {
    const night_stage& s = n.stages.at(static_cast<std::size_t>(i));
    return s.findings.size() == 1 ? s.findings[0].origin + ": " + s.findings[0].what : "no or many findings";
  };
  // That `replay` exits with 0 is not enough: it was to write a report.
  CHECK(n.stages[0].status == 1);
  CHECK_FALSE(n.stages[0].reported);
  CHECK(only(0) == "report: the stage wrote no report");
  CHECK(n.stages[1].status == 1);
  CHECK(n.stages[1].reported);
  CHECK(only(1) == "fault not caught: b");
  CHECK(n.stages[2].status == 128 + 11);
  CHECK_FALSE(n.stages[2].reported);
  CHECK(only(2) == "status: ended by signal 11");
  CHECK(n.stages[3].status == 1);
  CHECK(n.stages[3].numbers.at("cases passed") == 9);
  REQUIRE(n.stages[3].findings.size() == 2);
  CHECK(n.stages[3].findings[0].origin == "memory");
  CHECK(n.stages[3].findings[0].stage == "properties");
  CHECK(n.stages[3].findings[0].kernel == "split_kv");
  CHECK(n.stages[3].findings[1].origin == "hang");
  // The stages before took next to nothing: half of ten minutes for three targets, and what the properties left.
  CHECK(n.stages[4].numbers.at("executions") > 150);
  CHECK(n.stages[5].numbers.at("executions") > 250);
  CHECK(n.stages[5].numbers.at("executions") <= 600);
  CHECK(n.stages[6].status == 1);
  CHECK(n.stages[6].findings.at(0).origin == "report");

  here.write("broken.json", "{");
  night_stage stage;
  CHECK_THROWS_AS(read_report(here.file("broken.json"), stage), case_error);
}

}  // namespace assay
