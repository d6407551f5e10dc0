#include "properties/suite/report.hpp"

#include <boost/property_tree/xml_parser.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

suite_options some_options() {
  suite_options options;
  options.selected = {&properties()[0], &properties()[1]};
  options.seed = 9;
  return options;
}

suite_result some_result(const suite_options& options) {
  suite_result result;
  result.table[{"split_kv", options.selected[0]->name, "f16"}] = {.pass = 3, .fail = 1, .discard = 0, .undecided = 0};
  result.table[{"split_kv", options.selected[1]->name, "bf16"}] = {.pass = 4, .fail = 0, .discard = 1, .undecided = 2};
  result.total = {.pass = 7, .fail = 1, .discard = 1, .undecided = 2};
  result.discards["unsupported: <nothing> & \"more\""] = 1;
  finding f;
  f.index = 17;
  f.met_by = f.broken = options.selected[0];
  f.alike = 1;
  f.file = "out/findings/x.json";
  f.shrunk = {testing::small_case(), failed("enclosure", "o[0] = 1 lies < outside & \x01 [2, 3]"), true, 5, 8};
  result.findings.push_back(f);
  return result;
}

TEST_CASE("the text says what ran on which types, what failed, and how to replay it") {
  const suite_options options = some_options();
  const std::string text = report_text(options, some_result(options));
  CAPTURE(text);
  CHECK(text.find("split_kv                bf16   f16  pass  fail discard undecided") != std::string::npos);
  CHECK(text.find("output_enclosed          0     4     3     1       0         0") != std::string::npos);
  CHECK(text.find("      1 unsupported: <nothing>") != std::string::npos);
  CHECK(text.find("case 17 of seed 9, shrunk in 5 steps (8 tries) to 2 sequences, 4 queries, 57 keys, 4 heads") !=
        std::string::npos);
  CHECK(text.find("\n./assay replay out/findings/x.json\n") != std::string::npos);
  CHECK(text.ends_with("DEFECT: 1 of 11 cases failed, in 1 way (seed 9)\n"));
}

TEST_CASE("a run that met accepted defects says which, how often, and so does its verdict") {
  suite_options options = some_options();
  options.accept_blunt = true;
  suite_result result = some_result(options);
  result.findings.clear();
  result.table.clear();
  result.total = {.pass = 7, .fail = 0, .discard = 0, .undecided = 0};
  result.accepted = {{"data-race a.hpp:1 why", 0}, {"data-race b.hpp:2 why", 0}};
  CHECK(report_text(options, result).find("7 cases, no defect;") != std::string::npos);
  result.accepted["data-race b.hpp:2 why"] = 3;
  const std::string text = report_text(options, result);
  CAPTURE(text);
  CHECK(text.find("accepted 0 times: data-race a.hpp:1 why\naccepted 3 times: data-race b.hpp:2 why\n") !=
        std::string::npos);
  CHECK(text.find("7 cases, no defect but those that --accept names;") != std::string::npos);
}

TEST_CASE("of a case of thousands of sequences the report shows the beginning, and names the file") {
  const suite_options options = some_options();
  suite_result result = some_result(options);
  result.findings[0].shrunk.smallest.sequences.resize(10'000, {.q = 1, .k = 0, .prefix_offset = {}, .pages = {}});
  const std::string text = finding_text(options, result.findings[0]);
  CHECK(std::ranges::count(text, '\n') < 70);
  CHECK(text.find(" lines more: see out/findings/x.json\n./assay replay out/findings/x.json\n") != std::string::npos);
}

TEST_CASE("a narrow terminal shows the beginning of a case's long lines, where a file has them") {
  const suite_options options = some_options();
  suite_result result = some_result(options);
  finding& f = result.findings[0];
  f.shrunk.smallest.sequences = {{.q = 1, .k = 900, .prefix_offset = {}, .pages = std::vector<std::int64_t>(90, 7)}};
  const auto longest_of_case = [](const std::string& text) {
    std::size_t longest = 0;
    std::istringstream lines(text.substr(text.find("\n{\n")));
    for (std::string line; std::getline(lines, line) && !line.starts_with("./assay");)
      longest = std::max(longest, line.size());
    return longest;
  };
  CHECK(longest_of_case(finding_text(options, f)) > 200);
  CHECK(longest_of_case(finding_text(options, f, 80)) == 80);
  CHECK(finding_text(options, f, 80).find(" ...\n") != std::string::npos);
  CHECK(report_text(options, result, 80).find(finding_text(options, f, 80)) != std::string::npos);
  CHECK(report_junit(options, result).find(" ...") == std::string::npos);
  f.file.clear();  // then it is to be copied from here
  CHECK(longest_of_case(finding_text(options, f, 80)) > 200);
}

TEST_CASE("JUnit stays well-formed whatever the messages hold") {
  const suite_options options = some_options();
  std::istringstream text(report_junit(options, some_result(options)));
  boost::property_tree::ptree xml;
  REQUIRE_NOTHROW(boost::property_tree::read_xml(text, xml));
  const auto& suite = xml.get_child("testsuites.testsuite");
  CHECK(suite.get<int>("<xmlattr>.tests") == 2);
  CHECK(suite.get<int>("<xmlattr>.failures") == 1);
  CHECK(suite.get<std::string>("testcase.failure.<xmlattr>.message") == "o[0] = 1 lies < outside & \\x01 [2, 3]");
}

TEST_CASE("a failure that did not repeat is called flaky") {
  const suite_options options = some_options();
  suite_result result = some_result(options);
  result.findings[0].shrunk.reproduced = false;
  CHECK(finding_text(options, result.findings[0]).find("it is flaky") != std::string::npos);
  result.findings[0].origin = "hang";
  result.findings[0].what = "no end after 60 s";
  CHECK(finding_text(options, result.findings[0]).find("\n  hang: no end after 60 s\n  case ") != std::string::npos);
  CHECK(report_junit(options, result).find("<failure type=\"hang\" message=\"no end after 60 s\">") !=
        std::string::npos);
}

}  // namespace
}  // namespace assay
