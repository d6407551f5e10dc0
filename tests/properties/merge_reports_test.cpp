#include "properties/merge_reports.hpp"

#include <unistd.h>

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <regex>
#include <sstream>

#include "properties/cli.hpp"
#include "properties/report.hpp"
#include "properties/write_file.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// A folder that is gone afterwards.
class scratch {
 public:
  scratch() : path_(fs::temp_directory_path() / ("assay_merge_test." + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~scratch() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

int assay(std::vector<std::string> arguments, std::shared_ptr<library> lib = nullptr) {
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
  for (const char* time : {"seconds", "kernel_seconds", "oracle_seconds", "jobs"}) report.erase(time);
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

TEST_CASE("the merged reports of shards are the report of the run without shards, but for times") {
  const auto lib = testing::corrupting_library([](testing::call& c) {
    if (!c.has("lse") || c.stated.heads_q < 2) return;
    const tensor lse = c.view("lse");
    for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] += 1;
  });
  const scratch at;
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

TEST_CASE("a kind of failure that two shards met is told once, by its first case") {
  suite_report first = shard(1, 2);
  suite_report second = shard(2, 2);
  first.result.findings.push_back({.index = 30, .origin = "enclosure", .alike = 2});
  second.result.findings.push_back({.index = 20, .origin = "enclosure", .alike = 5});
  second.result.findings.push_back({.index = 40, .origin = "memory", .alike = 1});
  const suite_report merged = merge_reports(std::vector{first, second});
  REQUIRE(merged.result.findings.size() == 2);
  CHECK(merged.result.findings[0].index == 20);
  CHECK(merged.result.findings[0].alike == 7);
  CHECK(merged.result.findings[1].origin == "memory");
}

TEST_CASE("what is no report is bad input, by its name") {
  for (const char* text : {"", "{}", "[]", "{\"version\": 2}", "{\"version\": 1, \"library\": 3}"})
    CHECK_THROWS_AS(read_report(text, "x.json"), case_error);
}

}  // namespace
}  // namespace assay
