// A night's stages are run as commands, in the time that they are given.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
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

TEST_CASE("a report of two platforms is read by platform, with what their comparison found") {
  const testing::scratch here;
  night_stage stage;
  stage.name = "properties";
  read_report(here.write("r.json", R"({"platforms": [
      {"platform": "cpu", "total": {"pass": 9}, "findings": []},
      {"platform": "nvidia", "total": {"pass": 8},
       "findings": [{"origin": "enclosure", "what": "w", "file": "f", "replay": "r", "kernel": "split_kv"}]}],
    "comparison": {"cases": 7, "findings": [{"case": "case 3 of seed 1", "what": "cpu: pass, nvidia: fail"}]}})"),
              stage);
  CHECK(stage.numbers.at("cpu cases passed") == 9);
  CHECK(stage.numbers.at("nvidia cases passed") == 8);
  CHECK(stage.numbers.at("cases compared") == 7);
  REQUIRE(stage.findings.size() == 2);
  CHECK(stage.findings[0].what == "nvidia: w");
  CHECK(stage.findings[0].replay == "r");
  CHECK(stage.findings[1].origin == "comparison");
  CHECK(stage.findings[1].what == "cpu: pass, nvidia: fail");
  CHECK(stage.findings[1].file == "case 3 of seed 1");
}

TEST_CASE("the speeds of both sides of a campaign, and of kernels on a GPU, are numbers of the night") {
  const testing::scratch here;
  night_stage stage;
  read_report(here.write("r.json", R"({"by_platform": [{"platform": "cpu", "executions_per_second": 50},
      {"platform": "nvidia", "executions_per_second": 200}],
    "copy_bytes_per_second": 3e12,
    "speeds": [{"shape": "decode", "types": "bf16", "bytes": 10, "median_seconds": 2},
               {"shape": "refused", "types": "bf16", "bytes": 10, "median_seconds": 0}]})"),
              stage);
  CHECK(stage.numbers.at("cpu executions/s") == 50);
  CHECK(stage.numbers.at("nvidia executions/s") == 200);
  CHECK(stage.numbers.at("decode, bf16, bytes/s") == 5);
  CHECK(stage.numbers.at("copied bytes/s") == 3e12);
  CHECK(stage.numbers.size() == 4);
}

namespace {

using words = std::vector<std::string>;

const stage_plan& stage_named(const std::vector<stage_plan>& plan, const std::string& name) {
  const auto at = std::ranges::find(plan, name, &stage_plan::name);
  REQUIRE(at != plan.end());
  return *at;
}

/// The words behind an option; empty if it is not there.
std::string value_of(const stage_plan& p, const std::string& option) {
  const auto at = std::ranges::find(p.arguments, option);
  return at == p.arguments.end() ? "" : *(at + 1);
}

night_options on_a_gpu(const std::string& platform) {
  night_options options;
  options.platform = platform;
  options.mutants = 5;
  options.targets = {"fuzz_split_kv", "fuzz_mqa_logits", "fuzz_problem", "fuzz_schedule"};
  return options;
}

}  // namespace

TEST_CASE("a night on a GPU judges its kernels beside the cpu kernels, and says what it leaves out") {
  const auto plan = plan_night(on_a_gpu("nvidia"), "work");
  for (const char* both : {"corpus", "properties"})
    CHECK(value_of(stage_named(plan, both), "--platform") == "cpu,nvidia");
  for (const char* alone : {"faults", "bench", "fuzz_split_kv", "fuzz_mqa_logits"}) {
    CHECK(value_of(stage_named(plan, alone), "--platform") == "nvidia");
    CHECK(stage_named(plan, alone).left_out.empty());
  }
  CHECK(value_of(stage_named(plan, "fuzz_split_kv"), "--dir").ends_with("campaigns/fuzz_split_kv_nvidia"));
  CHECK(value_of(stage_named(plan, "properties"), "--junit").empty());
  CHECK(stage_named(plan, "properties").share == 2);
  CHECK(stage_named(plan, "mutants").left_out == "mutants are made of the cpu kernels");
  for (const char* host : {"fuzz_problem", "fuzz_schedule"})
    CHECK(stage_named(plan, host).left_out == "it runs on the cpu platform alone");
  CHECK(stage_named(plan, "compute-sanitizer").left_out == "skipped: no compute-sanitizer on PATH");
  const auto of_amd = plan_night(on_a_gpu("amd"), "work");
  CHECK(stage_named(of_amd, "compute-sanitizer").left_out == "it is for NVIDIA's GPUs");
  CHECK(stage_named(of_amd, "faults").left_out == "the build makes no faulty kernels for AMD's GPUs");
  CHECK(value_of(stage_named(of_amd, "fuzz_split_kv"), "--platform") == "amd");

  night_options with_tools = on_a_gpu("nvidia");
  with_tools.sanitizer = "/bin/compute-sanitizer";
  const auto tools = plan_night(with_tools, "work");
  const stage_plan& sanitizer = stage_named(tools, "compute-sanitizer");
  CHECK(sanitizer.left_out.empty());
  CHECK(sanitizer.arguments == words{"faults", "--compute-sanitizer", "--corpus", "corpus", "--findings",
                                     "work/compute-sanitizer", "--platform", "nvidia", "--json",
                                     "work/compute-sanitizer.json"});
  const auto of_cpu = plan_night(on_a_gpu("cpu"), "work");
  CHECK(std::ranges::find(of_cpu, "compute-sanitizer", &stage_plan::name) == of_cpu.end());
  for (const stage_plan& p : of_cpu) CHECK((p.left_out.empty() && value_of(p, "--platform").empty()));
}

TEST_CASE("a stage that is left out does not run, and takes no time from the others") {
  const testing::scratch here;
  const fs::path program = script(here, "program", R"(
    while [ $# -gt 1 ]; do [ "$1" = --json ] && json=$2; [ "$1" = --seconds ] && seconds=$2; shift; done
    echo "{\"executions\": ${seconds:-0}}" >"$json"
  )");
  night_options options = on_a_gpu("nvidia");
  options.minutes = 10;
  options.folder = here.file("nights");
  const night n =
      run_night(options, program, here.file("nights/one"), [](const auto& p) { CHECK(p.left_out.empty()); });
  CHECK(n.platform == "nvidia");
  CHECK(n.is_clean());
  std::map<std::string, const night_stage*> of;
  for (const night_stage& s : n.stages) of[s.name] = &s;
  CHECK_FALSE(of.at("fuzz_schedule")->left_out.empty());
  CHECK_FALSE(of.at("fuzz_schedule")->reported);
  CHECK(of.at("fuzz_split_kv")->reported);
  // A half of the properties' half of ten minutes is the first platform's.
  CHECK(of.at("properties")->numbers.at("executions") > 100);
  CHECK(of.at("properties")->numbers.at("executions") <= 150);
  CHECK(of.at("fuzz_split_kv")->numbers.at("executions") > 250);
}

TEST_CASE("of several machines each has a part of the properties, and every other stage is one machine's") {
  std::map<std::string, int> runs;
  for (std::int64_t shard = 1; shard <= 3; ++shard) {
    night_options options;
    options.targets = {"fuzz_a", "fuzz_b", "fuzz_c", "fuzz_d"};
    options.shard = shard;
    options.shards = 3;
    const auto plan = plan_night(options, "work");
    CHECK(value_of(stage_named(plan, "properties"), "--shard") == std::to_string(shard) + "/3");
    CHECK(stage_named(plan, "properties").share == (shard == 1 ? 2 : 1));
    for (const stage_plan& p : plan) {
      runs[p.name] += p.left_out.empty() ? 1 : 0;
      if (!p.left_out.empty()) CHECK(p.left_out.ends_with("/3 has it"));
    }
  }
  for (const auto& [name, times] : runs) CHECK(times == (name == "properties" ? 3 : 1));
  night_options alone;
  alone.targets = {"fuzz_a"};
  CHECK(value_of(stage_named(plan_night(alone, "work"), "properties"), "--shard").empty());
}

}  // namespace assay
