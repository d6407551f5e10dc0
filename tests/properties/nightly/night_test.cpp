// Nights: their JSON, the comparison of two, and the reports.
#include <boost/property_tree/xml_parser.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "properties/case/case.hpp"
#include "properties/nightly/night_report.hpp"

namespace assay {
namespace {

night a_night() {
  night n{"2026-01-02T03:04:05Z", 20, 7, {}};
  n.stages.push_back(
      {"properties", {"run", "--seed", "7"}, 1, 12.5, {{"cases/s", 60}, {"cases passed", 700}}, {}, "a.log", true});
  n.stages.back().findings.push_back(
      {"properties", "split_kv", "enclosure", "o[0, 3] = 0.5 lies outside [1, 2]", "f.json", "./assay replay f.json"});
  n.stages.push_back({"fuzz_case", {"fuzz", "fuzz_case"}, 0, 60, {{"features", 100}}, {}, "b.log", true});
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
      CHECK(std::string(e.what()).starts_with("x.json: cannot be read as the report of a night"));
    }
  }
}

TEST_CASE("findings of two nights are the same whatever their numbers, and not whatever their check, line or kernel") {
  const night before = a_night();
  night now = a_night();
  now.stages[0].findings[0].what = "o[12, 0] = -2.5e-05 lies outside [3, 4]";
  now.stages[0].findings.push_back({"properties", "split_kv", "memory", "o[0, 3] = 0.5 lies outside [1, 2]", "", ""});
  comparison c = compare(before, now);
  CHECK(c.stayed.size() == 1);
  CHECK(c.appeared.size() == 1);
  CHECK(c.appeared[0].origin == "memory");
  CHECK(c.gone.empty());

  night other = before;
  other.stages[0].findings[0].kernel = "mqa_logits";
  CHECK(compare(before, other).appeared.size() == 1);
  night race = before, elsewhere = before;
  race.stages[0].findings[0].what = "race on LDS byte 12: store (x.hip:7)";
  elsewhere.stages[0].findings[0].what = "race on LDS byte 12: store (x.hip:8)";
  CHECK(compare(race, elsewhere).appeared.size() == 1);
  CHECK(compare(race, race).stayed.size() == 1);
}

TEST_CASE("a finding is gone only where a stage looked for it again, and reported") {
  const night before = a_night();
  night now = a_night();
  now.stages[0].findings.clear();
  CHECK(compare(before, now).gone.empty());  // the properties drew other cases
  now.stages.push_back({old_findings_stage, {}, 0, 1, {}, {}, "c.log", true});
  CHECK(compare(before, now).gone.size() == 1);
  now.stages.back().reported = false;  // it was killed, say
  CHECK(compare(before, now).gone.empty());
  now.stages.back() = {old_findings_stage, {}, 1, 1, {}, before.stages[0].findings, "c.log", true};
  now.stages.back().findings[0].stage = old_findings_stage;
  CHECK(compare(before, now).gone.empty());
  CHECK(compare(before, now).stayed.size() == 1);

  night fuzzed = a_night();
  fuzzed.stages[1].findings.push_back({"fuzz_case", "", "crash", "SIGSEGV", "", ""});
  now = a_night();
  CHECK(compare(fuzzed, now).gone.size() == 1);
  now.stages[1].reported = false;
  CHECK(compare(fuzzed, now).gone.empty());
  now.stages.pop_back();
  CHECK(compare(fuzzed, now).gone.empty());
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
  CHECK(text.find("### Gone") == std::string::npos);
  CHECK(text.find("| properties | cases/s | 60 | 75 | +25.0% |") != std::string::npos);
  CHECK(night_markdown(now, nullptr).find("no earlier night") != std::string::npos);

  std::istringstream xml(night_junit(now));
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(xml, tree);
  CHECK(tree.get<int>("testsuites.testsuite.<xmlattr>.tests") == 2);
  CHECK(tree.get<int>("testsuites.testsuite.<xmlattr>.failures") == 1);
}

TEST_CASE("a stage that is left out is said to be, with its reason, and is no failure") {
  night now = a_night();
  now.platform = "nvidia";
  now.stages.resize(1);
  now.stages[0].status = 0;
  now.stages[0].findings.clear();
  night_stage left;
  left.name = "compute-sanitizer";
  left.left_out = "skipped: no compute-sanitizer on PATH";
  now.stages.push_back(left);
  CHECK(now.is_clean());
  CHECK(to_json(night_from_json(to_json(now), "x.json")) == to_json(now));
  const std::string text = night_markdown(now, nullptr);
  CHECK(text.find("Of the nvidia kernels, beside the cpu kernels.\n") != std::string::npos);
  CHECK(text.find("| compute-sanitizer | left out: skipped: no compute-sanitizer on PATH | | |\n") !=
        std::string::npos);
  std::istringstream xml(night_junit(now));
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(xml, tree);
  CHECK(tree.get<int>("testsuites.testsuite.<xmlattr>.skipped") == 1);
  CHECK(tree.get<int>("testsuites.testsuite.<xmlattr>.failures") == 0);
  // What it would have found is not gone.
  night before = a_night();
  before.stages.push_back(left);
  before.stages.back().left_out.clear();
  before.stages.back().findings.push_back({"compute-sanitizer", "", "memcheck", "fault none: w", "", ""});
  CHECK(compare(before, now).gone.empty());
}

}  // namespace assay
