/// The suite against faulty copies of the kernels: tests/faults/NAME.patch, built as lib/fault_NAME.so. CTest runs the
/// hidden case once per patch, with ASSAY_FAULT=NAME. The patch's head says which checks must catch it:
///   Caught-by: <origin>[, <origin>...]   "enclosure", "platform defect", "memory" or a property's name
///   Checker: <origin>                    what the checker must report, with that line, or one that the patch adds:
///   Line: <path>: <text>                 by what stands there
///   Heads: <n>                           query heads that the smallest failing case needs; 1 if not said
///   Cases: <n>                           how many the suite may need; 700 if not said
///   Races: yes                           blocks write the same element, so that some findings do not come again
///   Kernel: <name>, Types: <types>       what is patched, and of it what is built; split_kv and f16 if not said
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "properties/suite.hpp"

namespace fs = std::filesystem;
using namespace assay;

namespace {

/// What the patch's head says after `key`, or the fallback.
std::string said(const std::string& fault, const std::string& key, const std::string& fallback) {
  std::ifstream patch(fs::path(ASSAY_SOURCE_DIR) / "tests" / "faults" / (fault + ".patch"));
  for (std::string line; std::getline(patch, line) && !line.starts_with("---");)
    if (line.starts_with(key)) return line.substr(key.size());
  return fallback;
}

std::set<std::string> expected_origins(const std::string& fault) {
  std::istringstream list(said(fault, "Caught-by: ", ""));
  std::set<std::string> origins;
  for (std::string origin; std::getline(list, origin, ',');) {
    origin.erase(0, origin.find_first_not_of(' '));
    origins.insert(origin);
  }
  return origins;
}

/// The case with one key less at the end of sequence s.
attention_case without_last_key(attention_case c, std::size_t s) {
  sequence& shortened = c.sequences[s];
  --shortened.k;
  shortened.pages.resize(static_cast<std::size_t>((shortened.k + c.page_size - 1) / c.page_size));
  return c;
}

}  // namespace

TEST_CASE("the suite catches the fault, names the check, and shrinks to the fewest keys", "[.fault]") {
  const char* fault = std::getenv("ASSAY_FAULT");
  REQUIRE(fault != nullptr);
  const auto faulty = library::load(fs::path(ASSAY_BINARY_DIR) / "lib" / ("fault_" + std::string(fault) + ".so"));
  faulty->checks.accesses = false;  // what the others catch without it
  const std::set<std::string> expected = expected_origins(fault);
  REQUIRE(!expected.empty());

  suite_options options;
  options.kernels = {said(fault, "Kernel: ", "split_kv")};
  for (const property& p : properties()) options.selected.push_back(&p);
  options.types = {said(fault, "Types: ", "f16")};
  options.cases = std::stoi(said(fault, "Cases: ", "700"));
  options.seed = 1;
  options.origins = expected;
  options.findings = fs::path(ASSAY_BINARY_DIR) / "fault_findings" / fault;
  const suite_result result = run_suite(*faulty, options);

  std::set<std::string> origins;
  for (const finding& f : result.findings) {
    INFO(to_json(f.shrunk.smallest));
    if (!f.shrunk.reproduced && said(fault, "Races: ", "no") == "yes") continue;
    CHECK(f.shrunk.reproduced);
    origins.insert(f.shrunk.result.origin);  // only what comes again counts as caught
    CHECK(f.shrunk.smallest.sequences.size() <= 2);
    const attention_case& smallest = f.shrunk.smallest;
    // Relations may need neighbours; a wrong value does not.
    if (f.shrunk.result.origin == "enclosure") CHECK(smallest.heads_q == std::stoi(said(fault, "Heads: ", "1")));
    for (std::size_t s = 0; s < smallest.sequences.size(); ++s) {
      if (smallest.sequences[s].k == 0) continue;
      const verdict v = isolated_judge(*faulty, *f.broken, 10)(without_last_key(smallest, s));
      CHECK((v.result != outcome::fail || v.origin != f.shrunk.result.origin));
    }
  }
  for (const std::string& origin : expected) {
    INFO(origin << " among " << result.findings.size() << " findings");
    CHECK(origins.contains(origin));
  }
}

/// The patched file, line by line.
std::vector<std::string> patched_lines(const std::string& fault, const fs::path& file) {
  std::ifstream copy(fs::path(ASSAY_BINARY_DIR) / "faults" / fault / file);
  std::vector<std::string> lines;
  for (std::string text; std::getline(copy, text);) lines.push_back(text);
  return lines;
}

std::string place(const fs::path& file, std::size_t number) {
  return file.filename().string() + ":" + std::to_string(number);
}

/// "split_kv_kernel.hpp:120" for each line that the patch adds.
std::vector<std::string> added_places(const std::string& fault) {
  std::ifstream patch(fs::path(ASSAY_SOURCE_DIR) / "tests" / "faults" / (fault + ".patch"));
  std::vector<std::string> added;
  fs::path file;
  std::size_t number = 0;
  for (std::string line; std::getline(patch, line);) {
    if (line.starts_with("+++ b/")) {
      file = line.substr(6);
      number = 0;
    } else if (line.starts_with("@@ ")) {
      number = std::stoul(line.substr(line.find('+') + 1));
    } else if (number > 0 && !line.starts_with('-')) {
      if (line.starts_with('+')) {
        REQUIRE(patched_lines(fault, file).at(number - 1) == line.substr(1));
        added.push_back(place(file, number));
      }
      ++number;
    }
  }
  return added;
}

/// Places of which the checker's report must name one.
std::vector<std::string> expected_places(const std::string& fault) {
  const std::string told = said(fault, "Line: ", "");
  if (told.empty()) return added_places(fault);
  const fs::path file = told.substr(0, told.find(": "));
  const std::string text = told.substr(told.find(": ") + 2);
  const std::vector<std::string> lines = patched_lines(fault, file);
  std::vector<std::string> places;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find(text) != std::string::npos) places.push_back(place(file, i + 1));
  return places;
}

TEST_CASE("the checker catches the fault and names its line", "[.fault]") {
  const char* fault = std::getenv("ASSAY_FAULT");
  REQUIRE(fault != nullptr);
  const std::string origin = said(fault, "Checker: ", "");
  if (origin.empty()) SKIP("the patch expects nothing of the checker");
  const auto faulty = library::load(fs::path(ASSAY_BINARY_DIR) / "lib" / ("fault_" + std::string(fault) + ".so"));
  suite_options options;
  options.kernels = {said(fault, "Kernel: ", "split_kv")};
  options.selected = {&properties().front()};
  options.types = {said(fault, "Types: ", "f16")};
  options.seed = 1;
  options.budget.seconds = 2;  // what is reported does not depend on how small the case is
  options.findings = fs::path(ASSAY_BINARY_DIR) / "fault_findings" / (std::string(fault) + "_checked");
  const std::vector<std::string> places = expected_places(fault);
  REQUIRE(!places.empty());
  std::string said_instead;
  bool found = false;
  const std::int64_t all = std::stoi(said(fault, "Cases: ", "700"));
  for (const std::int64_t cases : {all / 4, all}) {  // most faults show in the first few
    if (found) break;
    options.cases = cases;
    for (const finding& f : run_suite(*faulty, options).findings) {
      const verdict& v = f.shrunk.result;
      said_instead += v.origin + ": " + v.what + "\n";
      CHECK(f.shrunk.reproduced);
      for (const std::string& p : places)
        found |= v.origin == origin &&
                 (v.what.find(p + ",") != std::string::npos || v.what.find(p + ")") != std::string::npos);
    }
  }
  INFO(said_instead);
  CHECK(found);
}

TEST_CASE("the kernels without a patch, loaded as a library, give the suite nothing to catch", "[faults]") {
  const auto clean = library::load(fs::path(ASSAY_BINARY_DIR) / "lib" / "assay_kernels_cpu.so");
  suite_options options;
  options.kernels = clean->kernels();
  for (const property& p : properties()) options.selected.push_back(&p);
  options.cases = 130;
  options.seed = 1;
  options.findings = fs::path(ASSAY_BINARY_DIR) / "fault_findings" / "none";
  const suite_result result = run_suite(*clean, options);
  CHECK(result.findings.empty());
  CHECK(result.total.pass > 100);
  CHECK(exit_status(result) == 0);
}
