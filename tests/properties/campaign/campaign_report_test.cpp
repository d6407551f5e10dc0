#include "properties/campaign/campaign_report.hpp"

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "properties/campaign/supervise.hpp"
#include "properties/cli/cli.hpp"
#include "tests/properties/campaign/fake_target.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using testing::fake_target;

result counted(const fake_target& fake, const std::string& lines) {
  fake.will_count(lines);
  return run(fake.given(), *library::built_in(), [](const finding&) {});
}

TEST_CASE("a campaign that decided fewer than half of its runs verified nothing", "[campaign]") {
  const fake_target fake;
  const result none = counted(fake, "runs 100\ndecided 0\ndiscarded 100\nundecided 0\n");
  CHECK(exit_status(none) == 1);
  CHECK(report_text(fake.given(), none)
            .find("NOT VERIFIED: 0 of 100 runs were decided, fewer than 50%; 100 were discarded, 0 undecided (seed") !=
        std::string::npos);
  const boost::json::value report = boost::json::parse(report_json(fake.given(), none));
  CHECK(report.at("shortfall").as_string().starts_with("0 of 100 runs"));
  CHECK(report.at("counters").at("discarded") == 100);

  CHECK(exit_status(counted(fake, "runs 100\ndecided 49\ndiscarded 1\nundecided 50\n")) == 1);
  CHECK(exit_status(counted(fake, "runs 100\n")) == 1);
  const result half = counted(fake, "runs 100\ndecided 50\ndiscarded 50\nundecided 0\n");
  CHECK(exit_status(half) == 0);
  CHECK(report_text(fake.given(), half).find("no defect in 100 executions") != std::string::npos);
}

TEST_CASE("a library without the target's kernel is not fuzzed", "[campaign]") {
  const fake_target fake;
  const assay_library table = ASSAY_LIBRARY("cpu", nullptr, 0);
  const auto empty = std::make_shared<library>(&table, "empty.so");
  for (const std::string name : {"fuzz_split_kv", "fuzz_problem", "fuzz_schedule"}) {
    fs::copy(fake.root() / "target", fake.root() / name);
    std::ostringstream out, err;
    CHECK(run_program({"fuzz", name, "--targets", fake.root().string(), "--dir", fake.state().string(), "--seconds",
                       "1", "--empty"},
                      {out, err, empty}) == 2);
    CHECK(err.str().find(name + ": empty.so has no kernel ") != std::string::npos);
    CHECK_FALSE(fs::exists(fake.state()));
  }
}

}  // namespace
}  // namespace assay::campaign
