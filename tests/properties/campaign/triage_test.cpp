/// Which inputs need no looking into, and what becomes of them.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <sstream>

#include "properties/campaign/campaign_report.hpp"
#include "properties/campaign/supervise.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/campaign/fake_target.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using testing::fake_target;
using testing::names_in;

result run_for_long(const fake_target& fake) {
  options given = fake.given();
  given.seconds = 6;
  return run(given, *library::built_in(), [](const finding&) {});
}

std::vector<std::string> complaints(const result& came) {
  std::vector<std::string> all;
  all.reserve(came.findings.size());
  for (const finding& f : came.findings) all.push_back(f.complaint.origin + ": " + f.complaint.what);
  std::ranges::sort(all);
  return all;
}

TEST_CASE("an input that turns out as another failure than its process said stands for itself alone", "[campaign]") {
  const fake_target fake;
  fake.will_find("a", "SLOW and BAD of kind one");
  fake.will_find("b", "SLOW and BAD of kind two");
  CHECK(complaints(run_for_long(fake)) ==
        std::vector<std::string>{"planted: of kind one in byte 17", "planted: of kind two in byte 17"});
}

TEST_CASE("the target checks what the judge checks, in the campaign and where its inputs are replayed", "[campaign]") {
  const auto checks_named = [](execution_checks checks) {
    const fake_target fake;
    fake.will_find("a", "BAD of kind one");
    options given = fake.given();
    given.checks = checks;
    const result came = run(given, *library::built_in(), [](const finding&) {});
    REQUIRE(came.findings.size() == 1);
    std::istringstream lines(read_file(fake.root() / "checks"));
    std::set<std::string> all;
    for (std::string line; std::getline(lines, line);) all.insert(line);
    REQUIRE(all.size() == 1);
    const std::string setting = all.begin()->empty() ? "" : "ASSAY_FUZZ_CHECKS=" + *all.begin() + " ";
    CHECK(came.findings[0].replay.starts_with(setting + fake.root().string()));
    return *all.begin();
  };
  CHECK(checks_named({false, false}) == "none");
  CHECK(checks_named({true, true}) == "lockstep_waves");
  CHECK(checks_named({true, false}).empty());
}

TEST_CASE("however many hangs did not come again, the next input that hung is examined", "[campaign]") {
  const fake_target fake;
  for (int i = 0; i < 6; ++i) fake.will_find(fmt::format("a{}", i), fmt::format("SLOW {}", i));
  fake.will_find("b", "SLOW and BAD of kind one");
  const result came = run_for_long(fake);
  REQUIRE(came.findings.size() == 2);
  CHECK((came.findings[0].flaky && came.findings[0].complaint.origin == "hang" && came.findings[0].alike == 6));
  CHECK((!came.findings[1].flaky && came.findings[1].complaint.origin == "planted"));
}

TEST_CASE("an old finding is mended where it passes each time, a flaky one not even then", "[campaign]") {
  const fake_target fake;
  const auto leave = [&](const std::string& name, const std::string& bytes) {
    write_by_rename(fake.state("findings") / (name + ".txt"), "planted: of kind one in byte 17\n");
    write_by_rename(fake.state("findings") / (name + ".bytes"), bytes);
  };
  leave("mended", "GOOD");
  leave("flaky-mended_now_and_then", "GOOD");
  leave("fails_every_other_time", "FLAKY of kind one");
  write_by_rename(fake.root() / "failed_before", "");  // it passes the first time
  // Of two files of one kind, the one that fails counts, whichever is read first.
  leave("a", "GOOD");
  leave("flaky-a", "BAD of kind one");
  leave("b", "BAD of kind one");
  leave("flaky-b", "GOOD");
  const result came = run(fake.given(), *library::built_in(), [](const finding&) {});
  std::map<std::string, bool> passes;
  for (const finding& f : came.findings) passes[f.name] = f.passes;
  CHECK(passes == std::map<std::string, bool>{{"mended", true},
                                              {"mended_now_and_then", false},
                                              {"fails_every_other_time", false},
                                              {"a", false},
                                              {"b", false}});
  CHECK(exit_status(came) == 1);
}

TEST_CASE("an old finding whose case is discarded is not mended", "[campaign]") {
  const fake_target fake;
  attention_case c = assay::testing::small_case();
  c.why = "output_enclosed: enclosure: o[0] = 1 lies outside; found by fuzz_fake of seed 1";
  write_by_rename(fake.state("findings") / "enclosure-1.json", to_json(c));
  const auto refusing = assay::testing::refusing_library(ASSAY_UNSUPPORTED);
  const result came = run(fake.given("split_kv"), *refusing, [](const finding&) {});
  REQUIRE(came.findings.size() == 1);
  CHECK_FALSE(came.findings[0].passes);
  CHECK(exit_status(came) == 1);
  CHECK(run(fake.given("split_kv"), *library::built_in(), [](const finding&) {}).findings.at(0).passes);
}

TEST_CASE("a few inputs of a kind that says how the process ended and no more are kept", "[campaign]") {
  const fake_target fake;
  for (int i = 0; i < 7; ++i) fake.will_find(fmt::format("a{}", i), fmt::format("CRASH {}", i));
  const result came = run_for_long(fake);
  REQUIRE(came.findings.size() == 1);
  CHECK(came.findings[0].complaint.origin == "crash");
  CHECK(came.findings[0].alike == 7);
  const fs::path more = fake.state("findings") / (came.findings[0].name + ".more");
  REQUIRE(names_in(more).size() == 4);
  for (const std::string& name : names_in(more)) CHECK(read_file(more / name).starts_with("CRASH "));
  CHECK(names_in(fake.state("artifacts")).empty());
}

}  // namespace
}  // namespace assay::campaign
