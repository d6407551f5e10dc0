// The heads of the planted faults, and the matrix of what catches them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "properties/case/case.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/nightly/fault_matrix.hpp"
#include "properties/nightly/fault_places.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

suite_options few(const testing::scratch& here) {
  suite_options options;
  options.findings = here.file("findings");
  options.budget = {.seconds = 1, .tries = 200};
  return options;
}

}  // namespace

TEST_CASE("every patch's head can be read, and names checks, a kernel and types of the case space") {
  for (const fault& f : read_faults(fs::path(ASSAY_SOURCE_DIR) / "tests" / "faults")) {
    CAPTURE(f.name);
    CHECK_FALSE(f.summary.empty());
    CHECK_FALSE((f.caught_by.empty() && f.checker.empty()));
    CHECK(find_kernel_space(f.kernel) != nullptr);
    const auto all = types_of_the_space();
    CHECK(std::ranges::find(all, f.types) != all.end());
  }
}

TEST_CASE("a patch's head says what catches the fault; a wrong one is named") {
  const testing::scratch here;
  here.write("p/a.patch",
             "Something is\nwrong: really.\nCaught-by: enclosure, other_rows\nChecker: data race\nLine: x: y\nHeads: "
             "2\nSeed: 9\nRaces: yes\n--- a/x\nCases: 9\n");
  const fault f = read_fault(here.file("p/a.patch"));
  CHECK(f.name == "a");
  CHECK(f.summary == "Something is wrong: really.");
  CHECK(f.caught_by == std::set<std::string>{"enclosure", "other_rows"});
  CHECK(f.checker == "data race");
  CHECK(f.line == "x: y");
  CHECK(f.kernel == "split_kv");
  CHECK(f.heads == 2);
  CHECK(f.seed == 9);
  CHECK(f.cases == 700);  // what follows the head is the patch
  CHECK(f.races);
  CHECK(read_faults(here.file("p")).size() == 1);
  CHECK(f.upstream.empty());
  CHECK_THROWS_AS(read_fault(here.write("b.patch", "Cases: many\nCaught-by: memory\n")), case_error);
  CHECK_THROWS_AS(read_fault(here.write("c.patch", "no check\n")), case_error);
  CHECK_THROWS_AS(read_fault(here.write("c.patch", "Caught-by: enclosur\n")), case_error);
  CHECK_NOTHROW(read_fault(here.write("c.patch", "Caught-by: enclosure, platform defect, split_count\n")));
  CHECK_THROWS_AS(read_fault(here.write("c.patch", "Caught-by: exception\n")), case_error);
  CHECK_THROWS_AS(read_fault(here.write("c.patch", "Caught-by: enclosure\nSays: sums\n")), case_error);
  CHECK(read_fault(here.write("c.patch", "Caught-by: exception\nSays: sums of it\n")).says == "sums of it");
  CHECK(read_fault(here.write("d.patch", "Checker: input store\n")).caught_by.empty());
  const std::string rest = "Mistake: m\nSmallest: 3 keys\nCaught-by: memory\n";
  CHECK_THROWS_AS(read_fault(here.write("e.patch", "Upstream: Project 7 https://a.b/7\nCaught-by: memory\n")),
                  case_error);
  CHECK_THROWS_AS(read_fault(here.write("e.patch", rest)), case_error);
  CHECK_THROWS_AS(read_fault(here.write("e.patch", "Upstream: Project 7\n" + rest)), case_error);
  CHECK_THROWS_AS(read_fault(here.file("absent.patch")), case_error);
  CHECK_THROWS_AS(read_faults(here.file("empty")), environment_error);
}

TEST_CASE("the table of upstream bugs holds those that name a report, by report") {
  const testing::scratch here;
  const std::string rest =
      "Mistake: m\nSmallest: 3 keys\nSeconds: 2\nCaught-by: enclosure, memory\nChecker: data race\n";
  here.write("p/a.patch", "Upstream: Project 9 https://a.b/9\n" + rest);
  here.write("p/b.patch", "Upstream: Project 7 https://a.b/7\n" + rest);
  here.write("p/c.patch", "Caught-by: memory\n");
  CHECK(upstream_markdown(read_faults(here.file("p"))) ==
        "| report | mistake | smallest failing case | check | seconds | fault |\n|---|---|---|---|---|---|\n"
        "| [Project 7](https://a.b/7) | m | 3 keys | enclosure, memory, data race | 2 | `b` |\n"
        "| [Project 9](https://a.b/9) | m | 3 keys | enclosure, memory, data race | 2 | `a` |\n");
}

TEST_CASE("the matrix says yes only where every named check caught the fault", "[long]") {
  const testing::scratch here;
  fault planted{
      .name = "planted", .summary = "", .caught_by = {"split_count"}, .checker = "", .line = "", .cases = 150};
  const fault_row clean = try_fault(*library::built_in(), planted, {}, few(here));
  CHECK_FALSE(clean.is_caught());
  CHECK(clean.caught.empty());
  CHECK(clean.cases == 150);
  CHECK(library::built_in()->checks.accesses);

  planted.caught_by = {"enclosure"};
  const auto wrong = testing::corrupting_library([](testing::call& c) {
    if (const tensor o = c.view("o"); o.size() > 0) set_bits(o, 0, poison_bits(o.type));
  });
  const fault_row caught = try_fault(*wrong, planted, {}, few(here));
  CHECK(caught.is_caught());
  CHECK(caught.caught.contains("output_enclosed"));
  fault_row half = caught;
  half.planted.caught_by.insert("memory");
  CHECK_FALSE(half.is_caught());
  fault_row unseen = caught;
  unseen.planted.checker = "data race";
  CHECK_FALSE(unseen.is_caught());
  unseen.checker_origins = {"data race"};
  CHECK_FALSE(unseen.is_caught());
  unseen.names_place = true;
  CHECK(unseen.is_caught());
  const std::string text = fault_matrix_text({caught, half});
  CHECK(text.find("planted                             yes  ") != std::string::npos);
  CHECK(text.find("planted                              NO  ") != std::string::npos);
  CHECK(text.find("\n1 of 2 faults are caught") != std::string::npos);
  CHECK(text.find("\nplanted: the patch names enclosure, memory; cases failed, but by other checks") !=
        std::string::npos);
  CHECK(fault_matrix_json({caught, half}, few(here)).find("\"verified\":false") != std::string::npos);
}

TEST_CASE("an exception that says something else has not caught the fault", "[long]") {
  const testing::scratch here;
  const auto throwing =
      testing::corrupting_library([](testing::call&) { throw std::runtime_error("sums were written"); });
  fault planted{.name = "planted",
                .summary = "",
                .caught_by = {"exception"},
                .checker = "",
                .line = "",
                .cases = 20,
                .says = "sums were written"};
  CHECK(try_fault(*throwing, planted, {}, few(here)).is_caught());
  planted.says = "operands were written";
  CHECK_FALSE(try_fault(*throwing, planted, {}, few(here)).is_caught());
}

TEST_CASE("a checker's report that names no expected line has not caught the fault", "[long]") {
  const testing::scratch here;
  const auto reporting = testing::corrupting_library([](testing::call& c) {
    const assay_defect defect{ASSAY_DATA_RACE, "split_kv", "race (softmax.hpp:9, from split_kv_kernel.hpp:12)",
                              {0, 0, 0},       0,          0};
    c.launch.on_defect(c.launch.context, &defect);
  });
  const fault planted{
      .name = "planted", .summary = "", .caught_by = {}, .checker = "data race", .line = "", .cases = 20};
  const fault_row caught = try_fault(*reporting, planted, {"mma.hpp:3", "split_kv_kernel.hpp:12"}, few(here));
  CHECK(caught.is_caught());
  const fault_row elsewhere = try_fault(*reporting, planted, {"mma.hpp:3", "split_kv_kernel.hpp:1"}, few(here));
  CHECK_FALSE(elsewhere.is_caught());
  CHECK(elsewhere.checker_origins == caught.checker_origins);
  CHECK(fault_matrix_text({elsewhere}).find("data race elsewhere") != std::string::npos);
  CHECK(fault_matrix_text({caught}).find("elsewhere") == std::string::npos);
  CHECK(fault_matrix_json({elsewhere}, few(here)).find("\"checker_names_line\":false") != std::string::npos);
}

TEST_CASE("the places that a report may name are the lines that the patch adds, or those of the text that it gives") {
  const testing::scratch here;
  here.write("copy/kernels/a.hpp", "one\ntwo\nthree = x;\nfour\nx = five\n");
  const std::string patch =
      here.write("a.patch",
                 "Checker: data race\n--- a/kernels/a.hpp\n+++ b/kernels/a.hpp\n@@ -1,3 +1,4 @@ f()\n one\n-two and a "
                 "half\n+two\n+three = x;\n four\n");
  fault planted = read_fault(patch);
  CHECK(expected_places(planted, patch, here.file("copy")) == std::vector<std::string>{"a.hpp:2", "a.hpp:3"});
  planted.line = "kernels/a.hpp: x";
  CHECK(expected_places(planted, patch, here.file("copy")) == std::vector<std::string>{"a.hpp:3", "a.hpp:5"});
  for (const char* line : {"kernels/a.hpp: six", "kernels/b.hpp: x", "x"}) {
    planted.line = line;
    CHECK_THROWS_AS(expected_places(planted, patch, here.file("copy")), case_error);
  }
  planted.line.clear();
  here.write("copy/kernels/a.hpp", "one\ntwo\n");
  CHECK_THROWS_AS(expected_places(planted, patch, here.file("copy")), case_error);
  CHECK_THROWS_AS(
      expected_places(planted, here.write("b.patch", "+++ b/kernels/a.hpp\n@@ -1 +1 @@\n one\n"), here.file("copy")),
      case_error);
}

TEST_CASE("a report names a place only by its whole name and number") {
  const std::string report = "load (mma.hpp:37, from split_kv_kernel.hpp:170, from cpu.hpp:16)";
  CHECK(names_one_of(report, {"mma.hpp:37"}));
  CHECK(names_one_of(report, {"x.hpp:1", "split_kv_kernel.hpp:170"}));
  CHECK(names_one_of(report, {"cpu.hpp:16"}));
  CHECK_FALSE(names_one_of(report, {}));
  CHECK_FALSE(names_one_of(report, {"mma.hpp:3", "kernel.hpp:170", "split_kv_kernel.hpp:17", "cpu.hpp:1"}));
}

}  // namespace assay
