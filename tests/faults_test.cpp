/// try_fault() on faulty copies of the kernels: tests/faults/NAME.patch, built as lib/fault_NAME.so. CTest runs the
/// hidden case once per patch, with ASSAY_FAULT=NAME. The patch's head says which checks must catch the fault
/// (properties/nightly/fault.hpp).
#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "properties/nightly/fault_matrix.hpp"
#include "properties/nightly/fault_places.hpp"
#include "properties/suite/sufficiency.hpp"

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

/// The finding came again, its case is small, and one key less in any sequence makes the case pass.
void check_smallest(library& faulty, const fault& f, const finding& found) {
  const minimized& shrunk = found.shrunk;
  INFO(to_json(shrunk.smallest));
  if (!shrunk.reproduced && f.races) return;
  CHECK(shrunk.reproduced);
  CHECK(shrunk.smallest.sequences.size() <= 2);
  // Relations may need neighbours; a wrong value does not.
  if (shrunk.result.origin == "enclosure") CHECK(shrunk.smallest.heads_q == f.heads);
  const execution_checks usual = faulty.checks;
  faulty.checks.accesses = false;  // as when it was found
  for (std::size_t s = 0; s < shrunk.smallest.sequences.size(); ++s) {
    if (shrunk.smallest.sequences[s].k == 0) continue;
    const verdict v = isolated_judge(faulty, *found.broken, 10)(without_last_key(shrunk.smallest, s));
    CHECK((v.result != outcome::fail || v.origin != shrunk.result.origin));
  }
  faulty.checks = usual;
}

}  // namespace

TEST_CASE("the named checks catch the fault: small cases, and the checker names its line", "[.fault]") {
  const fault f = planted();
  const auto faulty = library_of(f);
  suite_options options;
  options.seed = static_cast<std::uint64_t>(f.seed);
  options.budget.seconds = 100;  // to the smallest case on a busy machine, too
  options.findings = fs::path(ASSAY_BINARY_DIR) / "fault_findings" / f.name;
  const std::vector<std::string> places =
      f.checker.empty() ? std::vector<std::string>{}
                        : expected_places(f, patch_of(f.name), fs::path(ASSAY_BINARY_DIR) / "faults" / f.name);
  const fault_row row = try_fault(*faulty, f, places, options);
  for (const finding& found : row.findings) check_smallest(*faulty, f, found);
  if (f.caught_by.empty()) CHECK(row.findings.empty());  // as its patch says: only the checker can see it
  for (const std::string& origin : f.caught_by) {
    INFO(origin << " among " << row.findings.size() << " findings");
    CHECK(row.origins.contains(origin));
  }
  std::string reports;
  for (const finding& found : row.checker_findings) {
    CHECK(found.shrunk.reproduced);
    reports += found.shrunk.result.origin + ": " + found.shrunk.result.what + "\n";
  }
  INFO(reports);
  CHECK(row.names_place == !f.checker.empty());
  CHECK(row.is_caught());
}

TEST_CASE("the kernels without a patch, loaded as a library, give the suite nothing to catch", "[faults][long]") {
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
