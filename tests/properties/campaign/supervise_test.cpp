#include "properties/campaign/supervise.hpp"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "properties/campaign/campaign_report.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/campaign/fake_target.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using testing::fake_target;
using testing::names_in;

result run_quietly(const options& given) {
  return run(given, *library::built_in(), [](const finding&) {});
}

TEST_CASE("a campaign without a failure says what it executed and counted, and exits 0") {
  const fake_target fake;
  const result came = run_quietly(fake.given());
  CHECK(came.findings.empty());
  CHECK(came.points.back().executions == 100);
  CHECK(came.points.back().features == 7);
  CHECK(came.counters.at("planted_counter") == 3);
  CHECK(exit_status(came) == 0);
}

TEST_CASE("a campaign of a second and of less runs each job's process once") {
  for (const double seconds : {1.0, 0.01}) {
    const fake_target fake;
    options given = fake.given();
    given.seconds = seconds;
    given.jobs = 2;
    const result came = run_quietly(given);
    CHECK(came.processes == 2);
    CHECK(came.points.back().executions == 200);
    CHECK(exit_status(came) == 0);
  }
}

TEST_CASE("an input that fails becomes a finding with its bytes, and the campaign goes on") {
  const fake_target fake;
  fake.will_find("a", "BAD of kind one");
  fake.will_find("b", "BAD of kind two");
  fake.will_find("c", "another BAD of kind one");
  const result came = run_quietly(fake.given());
  REQUIRE(came.findings.size() == 2);
  CHECK(came.processes == 4);
  CHECK(came.findings[0].complaint == complaint{"planted", "of kind one in byte 17"});
  CHECK(came.findings[0].alike == 2);
  CHECK_FALSE(came.findings[0].flaky);
  CHECK(read_file(came.findings[0].file) == "BAD of kind one");
  CHECK(names_in(fake.state("artifacts")).empty());
  CHECK(exit_status(came) == 1);
  CHECK(report_text(fake.given(), came).find("DEFECT: inputs failed in 2 ways") != std::string::npos);
}

TEST_CASE("a failure that does not come again each time is kept, and marked") {
  const fake_target fake;
  fake.will_find("a", "FLAKY of kind one");
  const result came = run_quietly(fake.given());
  REQUIRE(came.findings.size() == 1);
  CHECK(came.findings[0].flaky);
  CHECK(came.findings[0].file.filename().string().starts_with("flaky-planted-"));
  CHECK(read_file(fs::path(came.findings[0].file).replace_extension(".txt")).find("FLAKY") != std::string::npos);
  CHECK(exit_status(came) == 1);
}

TEST_CASE("what a killed campaign left is examined first, and half-written corpus entries harm nothing") {
  const fake_target fake;
  write_by_rename(fake.state("artifacts") / "0.3.crash-1", "BAD of kind one");
  write_by_rename(fake.state("corpus") / "entry", "");
  write_by_rename(fake.state("corpus") / "entry.1234.part", "half");
  const result came = run_quietly(fake.given());
  REQUIRE(came.findings.size() == 1);
  CHECK(came.points.back().executions == 102);
  CHECK(names_in(fake.state("artifacts")).empty());
  CHECK(names_in(fake.state("corpus")).size() == 2);
}

TEST_CASE("findings of campaigns before are tried again, and known") {
  const fake_target fake;
  fake.will_find("a", "BAD of kind one");
  CHECK(run_quietly(fake.given()).findings.size() == 1);
  fake.will_find("b", "another BAD of kind one");
  const result second = run_quietly(fake.given());
  REQUIRE(second.findings.size() == 1);
  CHECK(second.findings[0].is_old);
  CHECK(second.findings[0].alike == 1);
  CHECK(second.findings[0].complaint == complaint{"planted", "of kind one in byte 17"});
  CHECK(exit_status(second) == 1);
  CHECK(names_in(fake.state("findings")).size() == 2);  // the bytes, and what they are

  // What failed is repaired; then something else fails in the same way.
  write_by_rename(second.findings[0].file, "GOOD");
  const result third = run_quietly(fake.given());
  CHECK(third.findings.at(0).passes);
  CHECK(exit_status(third) == 0);
  fake.will_find("c", "a new BAD of kind one");
  const result fourth = run_quietly(fake.given());
  REQUIRE(fourth.findings.size() == 1);
  CHECK_FALSE(fourth.findings[0].passes);
  CHECK(read_file(fourth.findings[0].file) == "a new BAD of kind one");
  CHECK(exit_status(fourth) == 1);
}

TEST_CASE("a corpus entry that fails ends one process, not all, and is not lost") {
  const fake_target fake;
  write_by_rename(fake.state("corpus") / "seed", "BAD of kind one");
  const result came = run_quietly(fake.given());
  CHECK(came.processes == 2);
  CHECK(came.findings.size() == 1);
  CHECK(came.points.back().executions == 100);
  CHECK(names_in(fake.state("corpus")).empty());
  CHECK(names_in(fake.state("failing")) == std::vector<std::string>{"seed"});
}

TEST_CASE("a target that does not start is the environment's lack, with its last words") {
  const fake_target fake;
  options given = fake.given();
  write_by_rename(fake.root() / "target", "#!/bin/bash\necho cannot load x.so; exit 3\n");
  fs::permissions(fake.root() / "target", fs::perms::owner_all);
  CHECK_THROWS_AS(run_quietly(given), environment_error);
  given.fuzzed.binary = fake.root() / "nothing";
  CHECK_THROWS_AS(run_quietly(given), environment_error);
}

TEST_CASE("a campaign whose target fails on everything ends early, and says why") {
  const fake_target fake;
  write_by_rename(fake.root() / "target",
                  "#!/bin/bash\nfor a in \"$@\"; do [[ $a == -artifact_prefix=* ]] && : >\"${a#*=}crash-empty\"; done\n"
                  "echo 'assay finding: planted: always'; exit 77\n");
  fs::permissions(fake.root() / "target", fs::perms::owner_all);
  options given = fake.given();
  given.seconds = 60;
  const result came = run_quietly(given);
  CHECK(came.findings.size() == 1);
  CHECK_FALSE(came.ended_early.empty());
  CHECK(came.seconds < 30);
}

TEST_CASE("a case that fails in the library under test is minimized to a case file") {
  const auto odd = assay::testing::corrupting_library([](assay::testing::call& c) {
    const tensor lse = c.view("lse");
    for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] += 1;
  });
  const fake_target fake;
  attention_case c = assay::testing::small_case();
  const std::vector<std::string> kernels{"split_kv"};
  const auto bytes = encode_case(c, kernels);
  write_by_rename(fake.state("artifacts") / "crash-1", std::string(bytes.begin(), bytes.end()));
  options given = fake.given("split_kv");
  given.budget.seconds = 60;
  const result came = run(given, *odd, [](const finding&) {});
  REQUIRE(came.findings.size() == 1);
  const finding& f = came.findings[0];
  CHECK(f.complaint.origin == "enclosure");
  CHECK_FALSE(f.flaky);
  CHECK(f.steps > 0);
  const attention_case smallest = from_json(read_file(f.file), "finding");
  CHECK(smallest.why.starts_with("output_enclosed: enclosure: lse"));
  CHECK(smallest.sequences.size() == 1);
  CHECK(f.replay == "./assay replay " + f.file.string());
}

TEST_CASE("an interrupt ends a campaign with what it has, and loses no unexamined input") {
  const fake_target fake;
  options given = fake.given();
  given.seconds = 60;
  fake.will_find("a", "BAD of kind one");
  fake.will_find("b", "BAD of kind two");
  const result came = run(given, *library::built_in(), [&](const finding&) {
    write_by_rename(fake.state("artifacts") / "late", "BAD of kind three");
    raise(SIGINT);
  });
  CHECK(came.seconds < 30);
  CHECK(came.findings.size() == 1);
  CHECK(names_in(fake.state("artifacts")).back() == "late");
  CHECK(came.unseen >= 1);
  CHECK(report_text(given, came).find(" not examined\n") != std::string::npos);
  CHECK(run_quietly(fake.given()).findings.size() >= 2);
}

TEST_CASE("an interrupted campaign that leaves inputs unseen has verified nothing") {
  const fake_target fake;
  options given = fake.given();
  given.limit_seconds = 1;
  given.grace_seconds = 0.5;
  write_by_rename(fake.state("artifacts") / "0.3.crash-1", "HANG");
  write_by_rename(fake.state("artifacts") / "0.3.slow-unit-2", "slow");
  std::thread interrupting([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(getpid(), SIGINT);
  });
  const result came = run_quietly(given);
  interrupting.join();
  CHECK(came.findings.empty());
  CHECK(came.unseen == 1);
  CHECK(exit_status(came) == 1);
  CHECK(report_text(given, came).find("NOT VERIFIED: 1 input that ended a process was not examined") !=
        std::string::npos);
}

TEST_CASE("slow units of a killed campaign are no findings") {
  const fake_target fake;
  write_by_rename(fake.state("artifacts") / "0.3.slow-unit-1", "BAD of kind one");
  const result came = run_quietly(fake.given());
  CHECK(came.findings.empty());
  CHECK(names_in(fake.state("artifacts")).empty());
  CHECK(exit_status(came) == 0);
}

TEST_CASE("two campaigns cannot share a folder") {
  const fake_target fake;
  fake.will_find("a", "BAD of kind one");
  const auto another = [&](const finding&) { CHECK_THROWS_AS(run_quietly(fake.given()), environment_error); };
  CHECK(run(fake.given(), *library::built_in(), another).findings.size() == 1);
}

}  // namespace
}  // namespace assay::campaign
