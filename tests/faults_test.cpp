/// The suite against faulty copies of the kernels: tests/faults/NAME.patch, built as lib/fault_NAME.so. CTest runs the
/// hidden case once per patch, with ASSAY_FAULT=NAME. The patch's head says which checks must catch it
/// (properties/nightly/fault.hpp).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "properties/nightly/fault_places.hpp"
#include "properties/suite/suite.hpp"

namespace fs = std::filesystem;
using namespace assay;

namespace {

fs::path patch_of(const std::string& name) {
  return fs::path(ASSAY_SOURCE_DIR) / "tests" / "faults" / (name + ".patch");
}

/// The fault that CTest names.
fault planted() {
  const char* name = std::getenv("ASSAY_FAULT");
  REQUIRE(name != nullptr);
  return read_fault(patch_of(name));
}

std::shared_ptr<library> library_of(const fault& f) {
  return library::load(fs::path(ASSAY_BINARY_DIR) / "lib" / ("fault_" + f.name + ".so"));
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
  const fault f = planted();
  const auto faulty = library_of(f);
  faulty->checks.accesses = false;  // what the others catch without it

  suite_options options;
  options.kernels = {f.kernel};
  for (const property& p : properties()) options.selected.push_back(&p);
  options.types = {f.types};
  options.seed = 1;
  options.origins = f.caught_by;
  options.findings = fs::path(ASSAY_BINARY_DIR) / "fault_findings" / f.name;
  suite_result result;
  std::set<std::string> origins;
  for (const int cases : {f.cases / 4, f.cases}) {  // most faults show in the first few
    options.cases = cases;
    result = run_suite(*faulty, options);
    origins.clear();
    for (const finding& found : result.findings)
      if (found.shrunk.reproduced) origins.insert(found.shrunk.result.origin);  // else it does not count as caught
    if (std::ranges::includes(origins, f.caught_by)) break;
  }

  if (f.caught_by.empty()) CHECK(result.findings.empty());  // as its patch says: only the checker can see it
  for (const finding& found : result.findings) {
    INFO(to_json(found.shrunk.smallest));
    if (!found.shrunk.reproduced && f.races) continue;
    CHECK(found.shrunk.reproduced);
    CHECK(found.shrunk.smallest.sequences.size() <= 2);
    const attention_case& smallest = found.shrunk.smallest;
    // Relations may need neighbours; a wrong value does not.
    if (found.shrunk.result.origin == "enclosure") CHECK(smallest.heads_q == f.heads);
    for (std::size_t s = 0; s < smallest.sequences.size(); ++s) {
      if (smallest.sequences[s].k == 0) continue;
      const verdict v = isolated_judge(*faulty, *found.broken, 10)(without_last_key(smallest, s));
      CHECK((v.result != outcome::fail || v.origin != found.shrunk.result.origin));
    }
  }
  for (const std::string& origin : f.caught_by) {
    INFO(origin << " among " << result.findings.size() << " findings");
    CHECK(origins.contains(origin));
  }
}

TEST_CASE("the checker catches the fault and names its line", "[.fault]") {
  const fault f = planted();
  if (f.checker.empty()) SKIP("the patch expects nothing of the checker");
  const auto faulty = library_of(f);
  suite_options options;
  options.kernels = {f.kernel};
  options.selected = {&properties().front()};
  options.types = {f.types};
  options.seed = 1;
  options.budget.seconds = 2;  // what is reported does not depend on how small the case is
  options.findings = fs::path(ASSAY_BINARY_DIR) / "fault_findings" / (f.name + "_checked");
  const std::vector<std::string> places =
      expected_places(f, patch_of(f.name), fs::path(ASSAY_BINARY_DIR) / "faults" / f.name);
  std::string said_instead;
  bool found = false;
  for (const int cases : {f.cases / 4, f.cases}) {  // most faults show in the first few
    if (found) break;
    options.cases = cases;
    for (const finding& seen : run_suite(*faulty, options).findings) {
      const verdict& v = seen.shrunk.result;
      said_instead += v.origin + ": " + v.what + "\n";
      CHECK(seen.shrunk.reproduced);
      found |= v.origin == f.checker && names_one_of(v.what, places);
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
