/// Campaigns in which a library with device tensors judges beside the cpu kernels: over the driver that
/// tests/device/fake_device.hpp loads from ASSAY_BINARY_DIR.
#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "properties/campaign/campaign_report.hpp"
#include "properties/campaign/judges.hpp"
#include "properties/campaign/supervise.hpp"
#include "properties/cli/program.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/system/write_file.hpp"
#include "tests/device/fake_device.hpp"
#include "tests/properties/campaign/fake_target.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using assay::testing::fake_device;
using assay::testing::fake_device_file;
using assay::testing::has_fake_device;
using testing::fake_target;

options with_device(const fake_target& fake) {
  options given = fake.given("split_kv");
  given.beside = library::load(fake_device_file);
  given.beside_arguments = " --platform nvidia";
  given.budget.seconds = 60;
  return given;
}

std::string input_of(const attention_case& c) {
  const std::vector<std::string> kernels{"split_kv"};
  const auto bytes = encode_case(c, kernels);
  return {bytes.begin(), bytes.end()};
}

result examined(const options& given, const fake_target& fake) {
  write_by_rename(fake.state("artifacts") / "crash-1", input_of(assay::testing::small_case()));
  return run(given, *library::built_in(), [](const finding&) {});
}

TEST_CASE("what only the device gets wrong is a finding, named by platform, minimized, and replayed there",
          "[campaign][device]") {
  if (!has_fake_device()) SKIP("the fake device is not built");
  const fake_target fake;
  {
    const fake_device device("wrong_output");
    const result came = examined(with_device(fake), fake);
    REQUIRE(came.findings.size() == 1);
    const finding& f = came.findings[0];
    CHECK(f.complaint.origin == "enclosure");
    CHECK(f.complaint.what.starts_with("nvidia: o["));
    CHECK_FALSE(f.flaky);
    const attention_case smallest = from_json(read_file(f.file), "finding");
    CHECK(smallest.why.starts_with("output_enclosed: enclosure: nvidia: o["));
    REQUIRE(smallest.sequences.size() == 1);
    CHECK(smallest.sequences[0].k == 33);  // the fault needs more than 32
    CHECK(f.replay == "./assay replay --platform nvidia " + f.file.string());
    CHECK(exit_status(came) == 1);
    // The next campaign tries it again, on the device.
    const result next = run(with_device(fake), *library::built_in(), [](const finding&) {});
    REQUIRE(next.findings.size() == 1);
    CHECK((next.findings[0].is_old && !next.findings[0].passes));
    CHECK(next.findings[0].replay == f.replay);
  }
  const fake_device mended("");
  const result last = run(with_device(fake), *library::built_in(), [](const finding&) {});
  REQUIRE(last.findings.size() == 1);
  CHECK(last.findings[0].passes);
  CHECK(exit_status(last) == 0);
}

TEST_CASE("an error of the device and a hang there are findings, and the campaign goes on", "[campaign][device]") {
  if (!has_fake_device()) SKIP("the fake device is not built");
  const auto complaint_with = [](const char* planted, double limit) {
    const fake_device device(planted);
    const fake_target fake;
    options given = with_device(fake);
    given.limit_seconds = limit;
    given.budget.seconds = 1;
    const result came = examined(given, fake);
    REQUIRE(came.findings.size() == 1);
    CHECK(came.points.back().executions == 100);  // of the process that ran afterwards
    CHECK(came.findings[0].replay.starts_with("./assay replay --platform nvidia "));
    return came.findings[0].complaint;
  };
  CHECK(complaint_with("error", 5) ==
        complaint{"memory",
                  "nvidia: the device: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)"});
  CHECK(complaint_with("hang", 0.2).origin == "hang");
}

TEST_CASE("what only the cpu kernels get wrong is named by their platform", "[campaign][device]") {
  if (!has_fake_device()) SKIP("the fake device is not built");
  const fake_device device("");
  const auto odd = assay::testing::corrupting_library([](assay::testing::call& c) {
    const tensor lse = c.view("lse");
    for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] += 1;
  });
  const fake_target fake;
  const options given = with_device(fake);
  const verdict v = library_judge(given, *odd, 20)(assay::testing::small_case());
  CHECK(v.origin == "enclosure");
  CHECK(v.what.starts_with("cpu: lse["));
}

TEST_CASE("the target's processes get the library, and the number that chooses a device", "[campaign][device]") {
  if (!has_fake_device()) SKIP("the fake device is not built");
  const fake_device device("");
  const fake_target fake;
  write_by_rename(fake.root() / "target",
                  "#!/bin/bash\necho \"$ASSAY_FUZZ_JOB $ASSAY_FUZZ_BESIDE\" >>\"$(dirname \"$0\")/said\"\n"
                  "echo '#1 INITED cov: 5 ft: 7 corp: 1/9b exec/s: 0 rss: 9Mb'\n"
                  "echo 'stat::number_of_executed_units: 3'\n");
  fs::permissions(fake.root() / "target", fs::perms::owner_all);
  options given = with_device(fake);
  given.jobs = 2;
  given.seconds = 0.1;
  run(given, *library::built_in(), [](const finding&) {});
  const std::string said = read_file(fake.root() / "said");
  for (const std::string number : {"0", "1"})
    CHECK(said.find(number + " " + fs::absolute(fake_device_file).string() + "\n") != std::string::npos);
}

TEST_CASE("each platform must decide half of its runs, and its speed is printed", "[campaign]") {
  const auto counted = [](const std::string& of_device) {
    const fake_target fake;
    fake.will_count("runs 100\ndecided 100\ncpu:runs 100\ncpu:decided 100\ncpu:microseconds 2000000\n" + of_device);
    const result came = run(fake.given(), *library::built_in(), [](const finding&) {});
    return std::tuple(exit_status(came), report_text(fake.given(), came), report_json(fake.given(), came));
  };
  const auto [status, text, json] =
      counted("nvidia:runs 100\nnvidia:decided 90\nnvidia:undecided 10\nnvidia:microseconds 500000\n");
  CHECK(status == 0);
  CHECK(text.find("cpu: 100 runs, 100 decided, 50.0 executions/s of the time that it took\n"
                  "nvidia: 100 runs, 90 decided, 200.0 executions/s of the time that it took\n") != std::string::npos);
  const boost::json::value report = boost::json::parse(json);
  CHECK(report.at("by_platform").at(1).at("platform") == "nvidia");
  CHECK(report.at("by_platform").at(1).at("executions_per_second").to_number<double>() == 200);
  const auto [little, said, unused] = counted("nvidia:runs 100\nnvidia:decided 0\nnvidia:discarded 100\n");
  CHECK(little == 1);
  CHECK(said.find("NOT VERIFIED: nvidia: 0 of 100 runs were decided, fewer than 50%; 100 were discarded") !=
        std::string::npos);
}

TEST_CASE("targets that run no case of the library are refused beside a device", "[campaign][device]") {
  if (!has_fake_device()) SKIP("the fake device is not built");
  const fake_device device("");
  const fake_target fake;
  fs::copy(fake.root() / "target", fake.root() / "fuzz_oracle");
  std::ostringstream out, err;
  CHECK(run_program({"fuzz", "fuzz_oracle", "--targets", fake.root().string(), "--library", fake_device_file, "--dir",
                     fake.state().string(), "--empty"},
                    {out, err, nullptr}) == 2);
  CHECK(err.str() ==
        "assay: fuzz_oracle: runs on the cpu platform alone; " + fake_device_file + " is a library for nvidia\n");
  CHECK_FALSE(fs::exists(fake.state()));
}

TEST_CASE("a campaign on a library of a device says which kernels choose and which judge", "[campaign][device]") {
  if (!has_fake_device()) SKIP("the fake device is not built");
  const fake_device device("");
  const fake_target fake;
  fs::copy(fake.root() / "target", fake.root() / "fuzz_split_kv");
  std::ostringstream out, err;
  CHECK(
      run_program({"fuzz", "fuzz_split_kv", "--targets", fake.root().string(), "--library", fake_device_file,
                   "--platform", "nvidia", "--dir", fake.state().string(), "--empty", "--seconds", "1", "--seed", "1"},
                  {out, err, nullptr}) == 0);
  INFO(err.str());
  CHECK(
      out.str().starts_with("fuzz_split_kv on the cpu kernels of built-in, whose coverage chooses, and the nvidia "
                            "kernels of " +
                            fake_device_file + " on 1 x a fake device, seed 1, state in "));
}

}  // namespace
}  // namespace assay::campaign
