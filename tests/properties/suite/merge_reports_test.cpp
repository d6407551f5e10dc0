#include "properties/suite/merge_reports.hpp"

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <regex>
#include <sstream>

#include "properties/cli/cli.hpp"
#include "properties/suite/report.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace json = boost::json;

int assay(const std::vector<std::string>& arguments, std::shared_ptr<library> lib = nullptr) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_program(arguments, {out, err, std::move(lib)});
  INFO(err.str());
  CHECK(err.str().empty());
  return status;
}

/// All but what two runs of the same cases differ in.
json::object without_times(const std::string& file) {
  json::object report = json::parse(read_file(file)).as_object();
  for (const char* time : {"seconds", "kernel_seconds", "oracle_seconds", "jobs", "slowest"}) report.erase(time);
  return report;
}

std::string junit_without_times(const std::string& file) {
  return std::regex_replace(read_file(file), std::regex(R"( time="[^"]*")"), "");
}

suite_report shard(std::int64_t number, std::int64_t of) {
  suite_report r;
  r.library = "x.so";
  r.options.shard = number;
  r.options.shards = of;
  return r;
}

TEST_CASE("the merged reports of shards are the report of the run without shards, but for times", "[long]") {
  const auto lib = testing::corrupting_library([](testing::call& c) {
    if (!c.has("lse") || c.stated.heads_q < 2) return;
    const tensor lse = c.view("lse");
    for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] += 1;
  });
  const testing::scratch at;
  std::vector<std::string> common{"run",      "--cases",  "90",       "--seed", "3",          "--jobs",        "1",
                                  "--kernel", "split_kv", "--shrink", "600",    "--findings", at.file("found")};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return assay(more, lib);
  };
  CHECK(run({"--json", at.file("whole.json"), "--junit", at.file("whole.xml")}) == 1);
  for (const std::string i : {"1", "2", "3"}) run({"--shard", i + "/3", "--json", at.file(i + ".json")});
  CHECK(assay({"merge-reports", at.file("2.json"), at.file("3.json"), at.file("1.json"), "--json",
               at.file("merged.json"), "--junit", at.file("merged.xml")}) == 1);
  CHECK(without_times(at.file("merged.json")) == without_times(at.file("whole.json")));
  CHECK(junit_without_times(at.file("merged.xml")) == junit_without_times(at.file("whole.xml")));
  CHECK(without_times(at.file("whole.json")).at("findings").as_array().size() > 1);
}

TEST_CASE("the slowest cases of all shards are the slowest of the run") {
  suite_report one = shard(1, 2), other = shard(2, 2);
  const property* p = &enclosure_property();
  for (int i = 0; i < 9; ++i) add_slow_case(one.result.slowest, {1.0 + i, i, p, "split_kv", "f16"});
  for (int i = 0; i < 9; ++i) add_slow_case(other.result.slowest, {1.5 + i, 100 + i, p, "split_kv", "f16"});
  const std::string text = report_json("x.so", "cpu", one.options, one.result);
  CHECK(read_report(text, "x").result.slowest.size() == 9);
  const std::vector<suite_report> shards{one, other};
  const std::vector<slow_case> slowest = merge_reports(shards).result.slowest;
  REQUIRE(slowest.size() == most_slow_cases);
  CHECK(slowest[0].index == 108);
  CHECK(slowest[1].index == 8);
  CHECK(slowest[9].index == 4);
}

TEST_CASE("reports that are not all the shards of one run, each once, do not merge") {
  const auto merge = [](std::vector<suite_report> shards) { return merge_reports(shards); };
  CHECK_NOTHROW(merge({shard(2, 2), shard(1, 2)}));
  CHECK_THROWS_AS(merge({}), case_error);
  CHECK_THROWS_AS(merge({shard(2, 2)}), case_error);
  CHECK_THROWS_AS(merge({shard(1, 2), shard(1, 2)}), case_error);
  CHECK_THROWS_AS(merge({shard(1, 2), shard(2, 3)}), case_error);
  suite_report other = shard(2, 2);
  other.options.seed = 2;
  CHECK_THROWS_AS(merge({shard(1, 2), other}), case_error);
}

TEST_CASE("reports of different runs do not merge; the files are named, and what differs") {
  const std::pair<const char*, std::function<void(suite_report&)>> changes[] = {
      {"library 'x.so' and 'y.so'", [](suite_report& r) { r.library = "y.so"; }},
      {"library options '' and ' --unchecked'", [](suite_report& r) { r.options.library_arguments = " --unchecked"; }},
      {"platform '' and 'amd'", [](suite_report& r) { r.platform = "amd"; }},
      {"kernels '' and 'split_kv'", [](suite_report& r) { r.options.kernels = {"split_kv"}; }},
      {"types '' and 'f16, bf16'", [](suite_report& r) { r.options.types = {"f16", "bf16"}; }},
      {"properties '' and 'output_enclosed'", [](suite_report& r) { r.options.selected = {&enclosure_property()}; }},
      {"cases '2000' and '40'", [](suite_report& r) { r.options.cases = 40; }},
      {"seconds '0' and '2.5'", [](suite_report& r) { r.options.seconds = 2.5; }},
      {"workspace budget '0' and '4096'", [](suite_report& r) { r.options.workspace_budget_bytes = 4096; }},
      {"seed '1' and '2'", [](suite_report& r) { r.options.seed = 2; }},
      {"number of shards '2' and '3'", [](suite_report& r) { r.options.shards = 3; }}};
  for (const auto& [difference, change] : changes) {
    suite_report one = shard(1, 2);
    suite_report other = shard(2, 2);
    one.file = "1.json";
    other.file = "2.json";
    CHECK_NOTHROW(merge_reports(std::vector{one, other}));
    change(other);
    CHECK_THROWS_WITH(merge_reports(std::vector{one, other}),
                      std::string("1.json and 2.json belong to different runs: ") + difference);
  }
}

TEST_CASE("a shard that is given twice is named with both of its files") {
  suite_report one = shard(1, 2), again = shard(1, 2);
  one.file = "1.json";
  again.file = "copy.json";
  CHECK_THROWS_WITH(merge_reports(std::vector{one, again}), "1.json and copy.json: shard 1 of 2 is given twice");
}

TEST_CASE("what was asked of a run is read back from its report") {
  suite_options options;
  options.kernels = {"split_kv", "mqa_logits"};
  options.types = {"f16"};
  options.cases = 40;
  options.workspace_budget_bytes = 4096;
  options.library_arguments = " --unchecked";
  const suite_options read = read_report(report_json("x.so", "cpu", options, {}), "x").options;
  CHECK(read.kernels == options.kernels);
  CHECK(read.types == options.types);
  CHECK(read.cases == 40);
  CHECK(read.seconds == 0);
  CHECK(read.workspace_budget_bytes == 4096);
  CHECK(read.library_arguments == " --unchecked");
  options.seconds = 2.5;
  CHECK(read_report(report_json("x.so", "cpu", options, {}), "x").options.seconds == 2.5);
}

TEST_CASE("shards with different arguments exit as bad input", "[long]") {
  const testing::scratch at;
  const auto run = [&](const std::string& i, std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "--cases", "40", "--seed", "3", "--jobs", "1", "--shard", i + "/2", "--findings",
                               at.file("found"), "--json", at.file(i + ".json"), "--accept-blunt"});
    return assay(more, library::built_in());
  };
  const std::vector<std::string> merge{"merge-reports", at.file("1.json"), at.file("2.json")};
  std::ostringstream out;
  std::ostringstream err;
  CHECK(run("1", {"--kernel", "split_kv"}) == 0);
  CHECK(run("2", {"--kernel", "split_kv", "--lockstep-waves"}) == 0);
  CHECK(run_program(merge, {out, err, nullptr}) == 2);
  CHECK(err.str().find(at.file("1.json") + " and " + at.file("2.json") +
                       " belong to different runs: library options '' " + "and ' --lockstep-waves'") !=
        std::string::npos);
  CHECK(run("2", {"--kernel", "split_kv"}) == 0);
  CHECK(assay(merge) == 0);
}

finding finding_of(std::int64_t index, const std::string& origin, std::int64_t alike) {
  finding f;
  f.index = index;
  f.origin = origin;
  f.alike = alike;
  return f;
}

TEST_CASE("a kind of failure that two shards met is reported once, by its first case") {
  suite_report first = shard(1, 2);
  suite_report second = shard(2, 2);
  first.result.findings = {finding_of(30, "enclosure", 2)};
  second.result.findings = {finding_of(20, "enclosure", 5), finding_of(40, "memory", 1)};
  const suite_report merged = merge_reports(std::vector{first, second});
  REQUIRE(merged.result.findings.size() == 2);
  CHECK(merged.result.findings[0].index == 20);
  CHECK(merged.result.findings[0].alike == 7);
  CHECK(merged.result.findings[1].origin == "memory");
}

TEST_CASE("of the undecided cases of all shards the first are kept") {
  suite_report one = shard(1, 2), two = shard(2, 2);
  for (const std::int64_t index : {7, 1, 9})
    one.result.undecided.push_back({index, &properties()[0], "open", "x.json", 0});
  two.result.undecided.push_back({4, &properties()[1], "open", "y.json", 0});
  const suite_report merged = merge_reports(std::vector{one, two});
  REQUIRE(merged.result.undecided.size() == most_undecided_cases);
  CHECK(merged.result.undecided[0].index == 1);
  CHECK(merged.result.undecided[1].file == "y.json");
}

TEST_CASE("what is no report is bad input, by its name") {
  for (const char* text : {"", "{}", "[]", "{\"version\": 2}", "{\"version\": 1, \"library\": 3}"})
    CHECK_THROWS_AS(read_report(text, "x.json"), case_error);
  CHECK_THROWS_WITH(read_report("{\"version\": 1, \"library\": 3}", "x.json"),
                    Catch::Matchers::ContainsSubstring("x.json") && Catch::Matchers::ContainsSubstring("library"));
  CHECK_THROWS_WITH(
      read_report("{\"version\": 1, \"platforms\": []}", "x.json"),
      "x.json: must be a report of 'assay run --json': platforms: a report of several libraries cannot be "
      "merged; run the shards of each by itself");
}

}  // namespace
}  // namespace assay
