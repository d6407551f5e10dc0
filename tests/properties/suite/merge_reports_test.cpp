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
#include "tests/properties/html/some_pictures.hpp"
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

/// The sections of a page that do not depend on times.
std::string without_times_of_page(const std::string& file) {
  const std::string page = read_file(file);
  std::string kept;
  for (const char* section : {"findings", "cases", "teeth", "remarks", "coverage"}) {
    const std::size_t from = page.find(std::string("<section id=\"") + section + "\"");
    if (from != std::string::npos) kept += page.substr(from, page.find("</section>", from) - from);
  }
  return kept;
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
  CHECK(run({"--json", at.file("whole.json"), "--junit", at.file("whole.xml"), "--html", at.file("whole.html")}) == 1);
  for (const std::string i : {"1", "2", "3"}) run({"--shard", i + "/3", "--json", at.file(i + ".json")});
  CHECK(assay({"merge-reports", at.file("2.json"), at.file("3.json"), at.file("1.json"), "--json",
               at.file("merged.json"), "--junit", at.file("merged.xml"), "--html", at.file("merged.html")}) == 1);
  CHECK(without_times(at.file("merged.json")) == without_times(at.file("whole.json")));
  CHECK(junit_without_times(at.file("merged.xml")) == junit_without_times(at.file("whole.xml")));
  CHECK(without_times(at.file("whole.json")).at("findings").as_array().size() > 1);
  const std::string page = without_times_of_page(at.file("merged.html"));
  CHECK(page == without_times_of_page(at.file("whole.html")));
  for (const char* part :
       {"Heat map of the error of lse", "Teeth of split_kv", "Pages of the pool", "with each feature"})
    CHECK(page.find(part) != std::string::npos);
  CHECK(read_file(at.file("merged.html")).find("seed 3, merged from 3 reports, 90 cases") != std::string::npos);
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
      {"waves '0' and '32'", [](suite_report& r) { r.options.waves = 32; }},
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
  options.waves = 32;
  options.library_arguments = " --unchecked";
  const suite_options read = read_report(report_json("x.so", "cpu", options, {}), "x").options;
  CHECK(read.kernels == options.kernels);
  CHECK(read.types == options.types);
  CHECK(read.cases == 40);
  CHECK(read.seconds == 0);
  CHECK(read.workspace_budget_bytes == 4096);
  CHECK(read.waves == 32);
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

finding whole_finding(std::int64_t index, const std::string& origin) {
  finding f = finding_of(index, origin, 1);
  f.draw = 4;
  f.met_by = f.broken = &enclosure_property();
  f.shrunk.smallest = testing::small_case();
  return f;
}

finding_pictures pictures_of(std::int64_t pool_pages) {
  finding_pictures drawn{testing::largest_pictures(), testing::largest_pictures()};
  drawn.smallest.pages.pool_pages = pool_pages;
  return drawn;
}

/// As report_json writes it, of a shard with one failure.
std::string text_of(suite_report r, std::int64_t index, std::int64_t pool_pages) {
  r.options.kernels = {"split_kv"};
  r.options.selected = {&enclosure_property()};
  r.result.findings = {whole_finding(index, "enclosure")};
  r.result.total.fail = 1;
  r.result.table[{"split_kv", enclosure_property().name, "f16"}].fail = 1;
  r.result.unwritten = {"no disk of shard " + std::to_string(r.options.shard)};
  r.extras = {"2 x Fast " + std::to_string(r.options.shard), {{index, pictures_of(pool_pages)}}};
  return report_json("x.so", "cpu", r.options, r.result, r.extras);
}

TEST_CASE("what a page shows beside the numbers is read back and merged: pictures, draws, devices, unwritten cases") {
  const std::string one = text_of(shard(1, 2), 8, 100), other = text_of(shard(2, 2), 5, 200);
  const suite_report read = read_report(one, "1.json");
  CHECK(read.result.findings.at(0).draw == 4);
  REQUIRE(read.extras.pictures.contains(8));
  CHECK(to_json(read.extras.pictures.at(8).smallest) == to_json(pictures_of(100).smallest));
  REQUIRE(read.extras.pictures.at(8).met);
  CHECK(to_json(*read.extras.pictures.at(8).met) == to_json(testing::largest_pictures()));

  const suite_report merged = merge_reports(std::vector{read, read_report(other, "2.json")});
  CHECK(merged.extras.devices == "2 x Fast 1, 2 x Fast 2");
  CHECK(merged.result.unwritten == std::vector<std::string>{"no disk of shard 1", "no disk of shard 2"});
  REQUIRE(merged.result.findings.size() == 1);
  REQUIRE(merged.extras.pictures.size() == 1);  // those of the case that stays
  CHECK(merged.extras.pictures.at(5).smallest.pages.pool_pages == 200);
  CHECK(merged.without_pictures.empty());
}

/// The report with its first finding changed.
std::string changed(const std::string& report, const std::function<void(json::object&)>& change) {
  json::value whole = json::parse(report);
  change(whole.at("findings").at(0).as_object());
  return json::serialize(whole);
}

TEST_CASE("pictures whose numbers do not fit together are refused, by file and field") {
  const std::string report = text_of(shard(1, 2), 8, 100);
  struct wrong {
    const char* which;
    const char* why;
    void (*change)(json::object& pictures);
  };
  const wrong wrongs[] = {
      {"smallest", "cells: are not map_rows times map_columns",
       [](json::object& p) { p["maps"].at(0).at("cells").as_array().pop_back(); }},
      {"smallest", "map_rows: no map has so many", [](json::object& p) { p["maps"].at(0).at("map_rows") = 1'000'000; }},
      {"met", "map_columns: no map has so many", [](json::object& p) { p["maps"].at(0).at("map_columns") = -1; }},
      {"met", "ends: there are none", [](json::object& p) { p["ulps"].at(0).at("ends").as_array().clear(); }},
      {"met", "counts: are not two more than ends",
       [](json::object& p) { p["ulps"].at(0).at("counts").as_array().pop_back(); }}};
  for (const wrong& w : wrongs) {
    const std::string forged =
        changed(report, [&](json::object& f) { w.change(f["pictures"].as_object()[w.which].as_object()); });
    CHECK_THROWS_WITH(
        read_report(forged, "x.json"),
        std::string("x.json: must be a report of 'assay run --json': pictures: ") + w.which + ": " + w.why);
  }
  const std::string none = changed(report, [](json::object& f) { f["pictures"] = 3; });
  CHECK_THROWS_WITH(read_report(none, "x.json"), Catch::Matchers::ContainsSubstring("'assay run --json': pictures: "));
  json::value other = json::parse(report);
  other.at("properties").as_array().clear();
  CHECK_THROWS_WITH(read_report(json::serialize(other), "x.json"),
                    Catch::Matchers::ContainsSubstring("findings: are of no kernel or no property"));
}

TEST_CASE("a page of reports that have no pictures says so, in one line and at the finding") {
  const testing::scratch at;
  const auto old = [](const std::string& report) {
    json::value whole = json::parse(report);
    for (const char* field : {"devices", "unwritten"}) whole.as_object().erase(field);
    for (const char* field : {"pictures", "draw"}) whole.at("findings").at(0).as_object().erase(field);
    return json::serialize(whole);
  };
  const std::string one = at.write("1.json", old(text_of(shard(1, 2), 8, 100)));
  const std::string two = at.write("2.json", old(text_of(shard(2, 2), 5, 200)));
  const std::string page = at.file("new/folder/page.html");
  std::ostringstream out, err;
  CHECK(run_program({"merge-reports", one, two, "--html", page}, {out, err, nullptr}) == 1);
  CHECK(err.str().empty());
  CHECK(out.str().find(page + ": without pictures of " + one + " and 1 other file, which an older version wrote\n") !=
        std::string::npos);
  const std::string html = read_file(page);
  CHECK(html.find("The report of this finding&#39;s shard holds no pictures") != std::string::npos);
  CHECK(html.find("Heat map") == std::string::npos);

  at.write("1.json", text_of(shard(1, 2), 8, 100));
  at.write("2.json", text_of(shard(2, 2), 5, 200));
  out.str("");
  CHECK(run_program({"merge-reports", one, two, "--html", page}, {out, err, nullptr}) == 1);
  CHECK(out.str().find("without pictures") == std::string::npos);
  const std::string drawn = read_file(page);
  CHECK(drawn.find("The pool has 200 pages") != std::string::npos);  // of case 5
  CHECK(drawn.find("x.so on 2 x Fast 1, 2 x Fast 2, seed 1, merged from 2 reports") != std::string::npos);
  CHECK(run_program({"merge-reports", one, two, "--html", "/proc/page"}, {out, err, nullptr}) == 2);
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
