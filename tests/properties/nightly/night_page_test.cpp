#include "properties/nightly/night_page.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

night some_night(const std::string& started, double speed) {
  night n{started, 60, 7, {}};
  night_stage bench;
  bench.name = "bench";
  bench.arguments = {"bench"};
  bench.numbers = {{"cases/s", speed}};
  n.stages.push_back(bench);
  return n;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("nights of a folder are read by age; what is no report is left out") {
  const testing::scratch here;
  here.write("b/night.json", to_json(some_night("2026-11-22T03:00:00Z", 2)));
  here.write("a/night.json", to_json(some_night("2026-11-23T03:00:00Z", 3)));
  here.write("c/night.json", "{\"version\": 1");
  here.write("findings/x.json", "{}");
  const std::vector<night> nights = nights_in(here.path());
  REQUIRE(nights.size() == 2);
  CHECK(nights[0].stages[0].numbers.at("cases/s") == 2);
  CHECK(nights_in(here.path() / "none").empty());
}

TEST_CASE("the page of a night has its stages, and numbers over the nights") {
  const std::vector<night> earlier = {some_night("2026-11-21T03:00:00Z", 1), some_night("2026-11-22T03:00:00Z", 3)};
  const night now = some_night("2026-11-23T03:00:00Z", 2);
  const std::string page = night_page(now, &earlier[1], earlier);
  CHECK(has(page, ">VERIFIED</span> 1 stage, no defect"));
  CHECK(has(page, "d=\"M4.0 24.0L80.0 4.0L156.0 14.0\""));
  CHECK(has(page, "-33.3%"));
  CHECK_FALSE(has(page, "id=\"findings\""));
}

TEST_CASE("the command to run next is that of the first finding on the page: a new one") {
  night before = some_night("2026-11-22T03:00:00Z", 2), now = some_night("2026-11-23T03:00:00Z", 2);
  before.stages[0].reported = now.stages[0].reported = true;
  now.stages[0].status = before.stages[0].status = 1;
  before.stages[0].findings = {{"bench", "split_kv", "enclosure", "old", "old.json", "./assay replay old.json"}};
  now.stages[0].findings = before.stages[0].findings;
  now.stages[0].findings.push_back({"bench", "split_kv", "data race", "new", "new.json", "./assay replay new.json"});
  const auto first_command = [](const std::string& page) { return page.substr(page.find("<code>"), 40); };
  CHECK(has(first_command(night_page(now, &before, {before})), "replay new.json"));
  CHECK(has(first_command(night_page(now, nullptr, {})), "replay old.json"));
}

TEST_CASE("a number that did not change has no sign, and a stage's command is text, in full") {
  night before = some_night("2026-11-22T03:00:00Z", 100'000), now = some_night("2026-11-23T03:00:00Z", 99'999);
  now.stages[0].arguments = {
      "run", "--seconds", "900", "--seed", "20261123", "--json", "out/nightly/a/properties.json"};
  const std::string page = night_page(now, &before, {before});
  CHECK(has(page, ">0.0%</td>"));
  CHECK_FALSE(has(page, "-0.0%"));
  CHECK(has(page, "<td>run --seconds 900 --seed 20261123 --json out/nightly/a/properties.json</td>"));
}

TEST_CASE("the page of a night tells new findings from old ones, and escapes them") {
  night before = some_night("2026-11-22T03:00:00Z", 2), now = some_night("2026-11-23T03:00:00Z", 2);
  now.stages[0].status = 1;
  now.stages[0].reported = before.stages[0].reported = true;
  now.stages[0].findings = {
      {"bench", "split_kv", "enclosure", "<script>x</script>", "f.json", "./assay replay f.json"}};
  const std::string page = night_page(now, &before, {before});
  CHECK(has(page, ">DEFECT</span> 1 of 1 stage failed"));
  CHECK(has(page, "<h3>New (1)</h3>"));
  CHECK(has(page, "&lt;script&gt;"));
  CHECK_FALSE(has(page, "<script"));
  CHECK(has(page, "<code>./assay replay f.json</code>"));
  CHECK(has(night_page(now, nullptr, {}), "<h3>Findings (1)</h3>"));
  before.stages[0].findings = now.stages[0].findings;
  CHECK(has(night_page(now, &before, {before}), "<h3>Still there (1)</h3>"));
}

}  // namespace
}  // namespace assay
