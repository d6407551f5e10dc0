/// Processes of a campaign that fail and leave no input behind: they are findings as well.
#include <catch2/catch_test_macros.hpp>

#include "properties/campaign/campaign_report.hpp"
#include "properties/campaign/supervise.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/campaign/fake_target.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using testing::fake_target;

result run_quietly(const options& given) {
  return run(given, *library::built_in(), [](const finding&) {});
}

TEST_CASE("a process that is killed and leaves no input is a finding, with its log", "[campaign]") {
  const fake_target fake;
  fake.will_find("a", "LOST");
  int reported = 0;
  const result came = run(fake.given(), *library::built_in(), [&](const finding&) { ++reported; });
  REQUIRE(came.findings.size() == 1);
  const finding& f = came.findings[0];
  CHECK(f.complaint == complaint{"crash", "killed by signal 9 (Killed) and left no input"});
  CHECK(f.flaky);
  CHECK(f.replay.empty());
  CHECK(reported == 1);
  CHECK(read_file(f.file).find("INITED") != std::string::npos);  // what the next process overwrites
  CHECK(came.processes >= 2);
  CHECK(exit_status(came) == 1);
  CHECK(report_text(fake.given(), came).find("DEFECT: inputs failed in 1 way ") != std::string::npos);

  const result second = run_quietly(fake.given());  // without the input, no run can show that it is gone
  REQUIRE(second.findings.size() == 1);
  CHECK((second.findings[0].is_old && second.findings[0].complaint == f.complaint));
  CHECK(exit_status(second) == 1);
}

TEST_CASE("what a process said of a finding counts, where its input is lost", "[campaign]") {
  const fake_target fake;
  fake.will_find("a", "LOST and WHY of kind one");
  fake.will_find("b", "LOST and WHY of kind one");
  const result came = run_quietly(fake.given());
  REQUIRE(came.findings.size() == 1);
  CHECK(came.findings[0].complaint == complaint{"planted", "of kind one in byte 17"});
  CHECK(came.findings[0].alike == 2);
  CHECK(exit_status(came) == 1);
}

TEST_CASE("a process that does not end when the time is up hangs", "[campaign]") {
  const fake_target fake;
  fake.will_find("a", "HANG");
  options given = fake.given();
  given.limit_seconds = 1;
  given.grace_seconds = 0.5;
  const result came = run_quietly(given);
  REQUIRE(came.findings.size() == 1);
  CHECK(came.findings[0].complaint.origin == "hang");
  CHECK(exit_status(came) == 1);
  // libFuzzer looks every limit / 2 + 1 s whether an input is over its limit: it may not be ended before that.
  CHECK(came.seconds >= given.seconds + 1 + 0.5 + 1);
}

TEST_CASE("a target that stops to start after others ran ends the campaign with its report", "[campaign]") {
  const fake_target fake;
  write_by_rename(
      fake.root() / "target",
      "#!/bin/bash\nif mkdir \"$(dirname \"$0\")/once\"; then echo '#1 INITED cov: 1'; exit 1; fi\nexit 3\n");
  fs::permissions(fake.root() / "target", fs::perms::owner_all);
  options given = fake.given();
  given.seconds = 60;
  const result came = run_quietly(given);
  REQUIRE(came.findings.size() == 1);
  CHECK(came.findings[0].alike == came.processes);
  CHECK_FALSE(came.ended_early.empty());
  CHECK(came.seconds < 30);
  CHECK(exit_status(came) == 1);
}

}  // namespace
}  // namespace assay::campaign
