// NVIDIA's compute-sanitizer is a script here, which says what the tools say.
#include "properties/nightly/compute_sanitizer.hpp"

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "properties/system/write_file.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* memcheck_log = R"(========= COMPUTE-SANITIZER
skipped 2 cases of mqa_logits: x.so does not have this kernel
========= Invalid __global__ read of size 4 bytes
=========     at split_kv_kernel(void)+0x150
=========     by thread (0,0,0) in block (0,0,0)
========= Program hit unspecified launch failure
========= ERROR SUMMARY: 3 errors
========= ERROR SUMMARY: 0 errors
)";

TEST_CASE("what a tool says is its number of errors and its first complaint") {
  const tool_report memory = read_tool_report(memcheck_log);
  CHECK(memory.worked);
  CHECK(memory.errors == 3);
  CHECK(memory.first == "Invalid __global__ read of size 4 bytes");
  const tool_report race = read_tool_report(
      "========= COMPUTE-SANITIZER\n========= Error: Race reported between Write access at a and Read access at b\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  CHECK((race.worked && race.errors == 1 && race.first.starts_with("Error: Race reported between Write")));
  const tool_report none = read_tool_report("========= COMPUTE-SANITIZER\n1 case\n========= ERROR SUMMARY: 0 errors\n");
  CHECK((none.worked && none.errors == 0 && none.first.empty()));
  const tool_report broken = read_tool_report("========= COMPUTE-SANITIZER\nno device is supported\n\n");
  CHECK((!broken.worked && broken.first == "no device is supported"));
  CHECK_FALSE(read_tool_report("").worked);
}

/// In a folder of its own: compute-sanitizer, which sees a bad read of libraries named "wild", races of those named
/// "race", and does not work for those named "odd".
fs::path fake_sanitizer(const testing::scratch& here) {
  const fs::path file = here.write("compute-sanitizer", R"(#!/bin/bash
echo "$@" >>"$(dirname "$0")/called"
echo "========= COMPUTE-SANITIZER"
case "$*" in
  *odd*) echo "cannot attach"; exit 1 ;;
  *memcheck*wild*) echo "========= Invalid __global__ read of size 2 bytes"; echo "========= ERROR SUMMARY: 2 errors" ;;
  *racecheck*race*) echo "========= Error: Race reported"; echo "========= RACECHECK SUMMARY: 1 hazard displayed" ;;
  *slow*) sleep 30 ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
)");
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

sanitized_library tried(const testing::scratch& here, const std::string& name, double limit = 60) {
  const sanitizer_options options{fake_sanitizer(here), "/bin/assay", here.file("logs"), limit};
  return run_tools(name, name + ".so", {"a.json", "b.json"}, options, [](const std::string&) {});
}

TEST_CASE("the table says which tool sees which library, and the command is a replay") {
  const testing::scratch here;
  const std::vector<sanitized_library> all{tried(here, "none"), tried(here, "wild"), tried(here, "race"),
                                           tried(here, "unseen")};
  CHECK(is_clean(all));
  const std::string text = sanitizer_text(all);
  INFO(text);
  CHECK(text.find("fault        cases  memcheck racecheck initcheck synccheck  first complaint\n") == 0);
  CHECK(text.find("\nnone             2         -         -         -         -\n") != std::string::npos);
  CHECK(text.find("\nwild             2         2         -         -         -  memcheck: Invalid __global__ read of "
                  "size 2 bytes\n") != std::string::npos);
  CHECK(text.find("\nrace             2         -         1         -         -  racecheck: Error: Race reported\n") !=
        std::string::npos);
  CHECK(text.ends_with("\nthe tools see 2 of 3 faults\n"));
  const std::string called = read_file(here.file("called"));
  CHECK(
      called.starts_with("--tool memcheck --target-processes all /bin/assay replay --library none.so --jobs 1 "
                         "--property output_enclosed --limit 300 a.json b.json\n--tool racecheck "));
  const boost::json::value report = boost::json::parse(sanitizer_json(all));
  CHECK(report.at("faults_seen") == 2);
  CHECK(report.at("verified") == true);
  CHECK(report.at("findings").as_array().empty());
  CHECK(report.at("libraries").at(1).at("tools").at("memcheck").at("errors") == 2);
}

TEST_CASE("a complaint about sound kernels is a defect, and a tool that does not work verifies nothing") {
  const testing::scratch here;
  sanitized_library sound = tried(here, "race");
  sound.name = "none";
  CHECK_FALSE(is_clean({sound}));
  CHECK(sanitizer_text({sound}).find("DEFECT: a tool complains about the kernels without a fault\n") !=
        std::string::npos);
  const std::vector<sanitized_library> odd{tried(here, "none"), tried(here, "odd")};
  CHECK_FALSE(is_clean(odd));
  const std::string text = sanitizer_text(odd);
  CHECK(text.find("   failed    failed    failed    failed  memcheck failed: cannot attach\n") != std::string::npos);
  CHECK(text.find("NOT VERIFIED: a tool did not work\n") != std::string::npos);
  const boost::json::value report = boost::json::parse(sanitizer_json(odd));
  CHECK(report.at("findings").as_array().size() == 4);
  CHECK(report.at("findings").at(0).at("what") == "fault odd: the tool failed: cannot attach");
  const sanitized_library slow = tried(here, "slow", 0.2);
  CHECK_FALSE(slow.worked());
  CHECK(slow.tools[0].first == "did not end within 0.2 s");
}

TEST_CASE("a fault gets the smallest cases of its kernel and types") {
  const fs::path corpus = fs::path(ASSAY_SOURCE_DIR) / "corpus";
  const auto files = sanitized_cases(corpus, "split_kv", "f16", 5);
  REQUIRE(files.size() == 5);
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(files[i].string().find("split_kv") != std::string::npos);
    if (i > 0) CHECK(fs::file_size(files[i - 1]) <= fs::file_size(files[i]));
  }
  CHECK(sanitized_cases(corpus, "", "", 100'000).size() > 50);
  CHECK(sanitized_cases(corpus, "split_kv", "no type", 5).empty());
}

TEST_CASE("the sanitizer is looked for on PATH") {
  const testing::scratch here;
  const char* const path = std::getenv("PATH");
  REQUIRE(path != nullptr);
  const std::string before = path;
  setenv("PATH", here.path().c_str(), 1);
  CHECK(find_compute_sanitizer().empty());
  here.write("compute-sanitizer", "not executable");
  CHECK(find_compute_sanitizer().empty());
  const fs::path file = fake_sanitizer(here);
  CHECK(find_compute_sanitizer() == file);
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace assay
