// Nights: their JSON, the comparison of two, and the reports.
#include <boost/property_tree/xml_parser.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "properties/case.hpp"
#include "properties/nightly/night_report.hpp"

namespace assay {
namespace {

night a_night() {
  night n{"2026-01-02T03:04:05Z", 20, 7, {}};
  n.stages.push_back(
      {"properties", {"run", "--seed", "7"}, 1, 12.5, {{"cases/s", 60}, {"cases passed", 700}}, {}, "a.log"});
  n.stages.back().findings.push_back(
      {"properties", "enclosure", "o[0, 3] = 0.5 lies outside [1, 2]", "f.json", "./assay replay f.json"});
  n.stages.push_back({"fuzz_case", {"fuzz", "fuzz_case"}, 0, 60, {{"features", 100}}, {}, "b.log"});
  return n;
}

}  // namespace

TEST_CASE("a night survives its JSON; what is none is refused by name") {
  const night n = a_night(), read = night_from_json(to_json(n), "x.json");
  CHECK(to_json(read) == to_json(n));
  CHECK_FALSE(read.is_clean());
  for (const char* bad : {"", "[]", "{}", R"({"version": 2})", R"({"version": 1, "started": 3})"}) {
    try {
      night_from_json(bad, "x.json");
      FAIL("read " << bad);
    } catch (const case_error& e) {
      CHECK(std::string(e.what()).starts_with("x.json: is no report of a night"));
    }
  }
}

TEST_CASE("findings of two nights are the same whatever their numbers, and not whatever their check") {
  const night before = a_night();
  night now = a_night();
  now.stages[0].findings[0].what = "o[12, 0] = 0.25 lies outside [3, 4]";
  now.stages[0].findings.push_back({"properties", "memory", "o[0, 3] = 0.5 lies outside [1, 2]", "", ""});
  comparison c = compare(before, now);
  CHECK(c.stayed.size() == 1);
  CHECK(c.appeared.size() == 1);
  CHECK(c.appeared[0].origin == "memory");
  CHECK(c.gone.empty());
  c = compare(now, before);
  CHECK(c.gone.size() == 1);
  now.stages.erase(now.stages.begin());  // a stage that did not run has fixed nothing
  c = compare(before, now);
  CHECK(c.gone.empty());
  CHECK(c.numbers.size() == 1);
}

TEST_CASE("numbers are compared by stage and name") {
  const night before = a_night();
  night now = a_night();
  now.stages[0].numbers["cases/s"] = 75;
  now.stages[1].numbers = {{"executions", 3}};
  const comparison c = compare(before, now);
  REQUIRE(c.numbers.size() == 2);
  CHECK(c.numbers[1].name == "cases/s");
  CHECK(c.numbers[1].relative() == 0.25);
}

TEST_CASE("the reports say what failed, what is new and by how much numbers changed") {
  night now = a_night();
  now.stages[0].numbers["cases/s"] = 75;
  now.stages[0].findings[0].origin = "platform | defect";
  const night before = a_night();
  const std::string text = night_markdown(now, &before);
  CHECK(text.starts_with("# Night of 2026-01-02T03:04:05Z: DEFECT\n"));
  CHECK(text.find("| properties | DEFECT | 12.5 | cases passed 700, cases/s 75 |") != std::string::npos);
  CHECK(text.find("### New findings (1)") != std::string::npos);
  CHECK(text.find("### Gone (1)") != std::string::npos);
  CHECK(text.find("| properties | cases/s | 60 | 75 | +25.0% |") != std::string::npos);
  CHECK(night_markdown(now, nullptr).find("no earlier night") != std::string::npos);

  std::istringstream xml(night_junit(now));
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(xml, tree);
  CHECK(tree.get<int>("testsuites.testsuite.<xmlattr>.tests") == 2);
  CHECK(tree.get<int>("testsuites.testsuite.<xmlattr>.failures") == 1);
}

}  // namespace assay
