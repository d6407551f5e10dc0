#include "properties/suite/shard.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <map>
#include <sstream>

#include "properties/cli/program.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/system/errors.hpp"

namespace assay {
namespace {

using settings = std::map<std::string, std::string>;

shard_choice automatic(const settings& all) {
  return choose_shard("auto", [&](const char* name) -> std::optional<std::string> {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  });
}

std::string line_of(const settings& all) {
  return shard_line(automatic(all));
}

settings slurm(const char* id, const char* least, const char* most, settings more = {}) {
  more.insert({{"SLURM_ARRAY_TASK_ID", id}, {"SLURM_ARRAY_TASK_MIN", least}, {"SLURM_ARRAY_TASK_MAX", most}});
  return more;
}

/// What is said of an environment that does not tell one shard.
void refused(const settings& all, const std::string& what) {
  CHECK_THROWS_WITH(automatic(all), "--shard auto: " + what);
}

TEST_CASE("a shard that is given is i/n") {
  const shard_choice c = choose_shard("3/10");
  CHECK((c.shard == 3 && c.shards == 10 && c.source.empty()));
  CHECK(shard_line(c).empty());
  for (const char* const wrong :
       {"", "3", "0/2", "3/2", "1/2/3", "a/b", "-1/2", "1/", "Auto", "1/99999999999999999999"})
    CHECK_THROWS_AS(choose_shard(wrong), case_error);
}

TEST_CASE("a task of a Slurm array is a shard, whatever its range and step") {
  CHECK(line_of(slurm("2", "0", "9")) == "shard 3/10: task 2 of Slurm's array 0-9\n");
  CHECK(line_of(slurm("7", "1", "9", {{"SLURM_ARRAY_TASK_STEP", "2"}, {"SLURM_ARRAY_TASK_COUNT", "5"}})) ==
        "shard 4/5: task 7 of Slurm's array 1-9:2\n");
  CHECK(line_of(slurm("0", "0", "8", {{"SLURM_ARRAY_TASK_STEP", "3"}})) ==
        "shard 1/3: task 0 of Slurm's array 0-8:3\n");
}

TEST_CASE("a completion of Kubernetes and a job of a matrix are shards, with the number that the file sets") {
  CHECK(line_of({{"JOB_COMPLETION_INDEX", "0"}, {"ASSAY_SHARDS", "4"}}) ==
        "shard 1/4: completion 0 of Kubernetes' indexed Job\n");
  CHECK(line_of({{"ASSAY_SHARD_INDEX", "3"}, {"ASSAY_SHARDS", "4"}, {"GITHUB_ACTIONS", "true"}}) ==
        "shard 4/4: job 3 of GitHub's matrix\n");
  CHECK(line_of({{"ASSAY_SHARD_INDEX", "1"}, {"ASSAY_SHARDS", "2"}}) == "shard 2/2: job 1 of ASSAY_SHARDS\n");
}

TEST_CASE("what says no shard, half of one, or two is refused in one line") {
  refused({},
          "no array of jobs is here: there is no SLURM_ARRAY_TASK_ID (Slurm), JOB_COMPLETION_INDEX (Kubernetes) or "
          "ASSAY_SHARD_INDEX");
  refused({{"ASSAY_SHARDS", "4"}},
          "no array of jobs is here: there is no SLURM_ARRAY_TASK_ID (Slurm), JOB_COMPLETION_INDEX (Kubernetes) or "
          "ASSAY_SHARD_INDEX");
  refused({{"SLURM_ARRAY_TASK_ID", "3"}}, "there is SLURM_ARRAY_TASK_ID, but no SLURM_ARRAY_TASK_MIN");
  refused({{"JOB_COMPLETION_INDEX", "3"}}, "there is JOB_COMPLETION_INDEX, but no ASSAY_SHARDS");
  refused({{"ASSAY_SHARD_INDEX", "3"}}, "there is ASSAY_SHARD_INDEX, but no ASSAY_SHARDS");
  refused({{"JOB_COMPLETION_INDEX", "4"}, {"ASSAY_SHARDS", "4"}},
          "JOB_COMPLETION_INDEX: 4 is not below the number of shards, 4");
  for (const char* const wrong : {"", "x", "-1", "1.5", "99999999999999999999", "2000000000000"})
    refused({{"JOB_COMPLETION_INDEX", wrong}, {"ASSAY_SHARDS", "4"}},
            "JOB_COMPLETION_INDEX: '" + std::string(wrong) + "' is no whole number");
  refused(slurm("10", "0", "9"), "SLURM_ARRAY_TASK_ID: 10 is none of the array's 0-9:1");
  refused(slurm("2", "1", "9", {{"SLURM_ARRAY_TASK_STEP", "2"}}),
          "SLURM_ARRAY_TASK_ID: 2 is none of the array's 1-9:2");
  refused(slurm("1", "0", "9", {{"SLURM_ARRAY_TASK_STEP", "0"}}),
          "SLURM_ARRAY_TASK_ID: 1 is none of the array's 0-9:0");
  refused(slurm("7", "1", "7", {{"SLURM_ARRAY_TASK_COUNT", "3"}}),
          "SLURM_ARRAY_TASK_COUNT: 3, but 1-7:1 are 7 tasks; give --array a range, not a list");
  refused(slurm("2", "0", "9", {{"ASSAY_SHARDS", "5"}}),
          "ASSAY_SHARDS: 5, but task 2 of Slurm's array 0-9 has 10 shards");
  refused(slurm("2", "0", "9", {{"ASSAY_SHARDS", "10"}, {"ASSAY_SHARD_INDEX", "4"}}),
          "task 2 of Slurm's array 0-9 is shard 3/10, but job 4 of ASSAY_SHARDS is shard 5/10");
  CHECK(automatic(slurm("2", "0", "9", {{"ASSAY_SHARDS", "10"}, {"ASSAY_SHARD_INDEX", "2"}})).shard == 3);
}

TEST_CASE("a run in an array says which part it is; elsewhere --shard auto is bad usage") {
  const auto run = [](const std::string& command) {
    std::ostringstream out, err;
    std::vector<std::string> arguments{"run",           "--shard",  "auto",       "--cases", "8", "--property",
                                       "wave_schedule", "--kernel", "mqa_logits", "--seed",  "1", "--accept-blunt"};
    if (command == "nightly") arguments = {"nightly", "--shard", "auto", "--minutes", "1"};
    const int status = run_program(arguments, {out, err, library::built_in()});
    return std::tuple(status, out.str(), err.str());
  };
  for (const std::string command : {"run", "nightly"}) {
    const auto [status, out, err] = run(command);
    CHECK(status == 2);
    CHECK(out.empty());
    CHECK(err.starts_with("assay: --shard auto: no array of jobs is here"));
  }
  setenv("ASSAY_SHARD_INDEX", "1", 1);
  setenv("ASSAY_SHARDS", "4", 1);
  const auto [status, out, err] = run("run");
  unsetenv("ASSAY_SHARD_INDEX");
  unsetenv("ASSAY_SHARDS");
  INFO(err);
  CHECK(status == 0);
  CHECK(out.starts_with("shard 2/4: job 1 of ASSAY_SHARDS\n"));
}

}  // namespace
}  // namespace assay
