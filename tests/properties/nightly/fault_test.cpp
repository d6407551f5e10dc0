// The heads of the planted faults, and the matrix of what catches them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "properties/alter.hpp"
#include "properties/case.hpp"
#include "properties/nightly/fault_matrix.hpp"
#include "properties/write_file.hpp"
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
    CHECK(std::ranges::find(kernel_spaces(), f.kernel, &kernel_space::name) != kernel_spaces().end());
    const auto all = types_of_the_space();
    CHECK(std::ranges::find(all, f.types) != all.end());
  }
}

TEST_CASE("a patch's head says what catches the fault; a wrong one is named") {
  const testing::scratch here;
  here.write("p/a.patch",
             "Something is\nwrong: really.\nCaught-by: enclosure, other_rows\nChecker: data race\nLine: x: y\nHeads: "
             "2\nRaces: yes\n--- a/x\nCases: 9\n");
  const fault f = read_fault(here.file("p/a.patch"));
  CHECK(f.name == "a");
  CHECK(f.summary == "Something is wrong: really.");
  CHECK(f.caught_by == std::set<std::string>{"enclosure", "other_rows"});
  CHECK(f.checker == "data race");
  CHECK(f.line == "x: y");
  CHECK(f.kernel == "split_kv");
  CHECK(f.heads == 2);
  CHECK(f.cases == 700);  // what follows the head is the patch
  CHECK(f.races);
  CHECK(read_faults(here.file("p")).size() == 1);
  CHECK_THROWS_AS(read_fault(here.write("b.patch", "Cases: many\nCaught-by: x\n")), case_error);
  CHECK_THROWS_AS(read_fault(here.write("c.patch", "no check\n")), case_error);
  CHECK(read_fault(here.write("d.patch", "Checker: input store\n")).caught_by.empty());
  CHECK_THROWS_AS(read_fault(here.file("absent.patch")), case_error);
  CHECK_THROWS_AS(read_faults(here.file("empty")), environment_error);
}

TEST_CASE("the matrix says yes only where every named check caught the fault") {
  const testing::scratch here;
  fault planted{
      .name = "planted", .summary = "", .caught_by = {"split_count"}, .checker = "", .line = "", .cases = 150};
  const fault_row clean = try_fault(*library::built_in(), planted, few(here));
  CHECK_FALSE(clean.is_caught());
  CHECK(clean.caught.empty());
  CHECK(clean.cases == 150);
  CHECK(library::built_in()->checks.accesses);

  planted.caught_by = {"enclosure"};
  const auto wrong = testing::corrupting_library([](testing::call& c) {
    if (const tensor o = c.view("o"); o.size() > 0) set_bits(o, 0, poison_bits(o.type));
  });
  const fault_row caught = try_fault(*wrong, planted, few(here));
  CHECK(caught.is_caught());
  CHECK(caught.caught.contains("output_enclosed"));
  fault_row half = caught;
  half.planted.caught_by.insert("memory");
  CHECK_FALSE(half.is_caught());
  fault_row unseen = caught;
  unseen.planted.checker = "data race";
  CHECK_FALSE(unseen.is_caught());
  unseen.checker_origins = {"data race"};
  CHECK(unseen.is_caught());
  const std::string text = fault_matrix_text({caught, half});
  CHECK(text.find("planted                             yes  ") != std::string::npos);
  CHECK(text.find("planted                              NO  ") != std::string::npos);
  CHECK(text.find("\n1 of 2 faults are caught") != std::string::npos);
  CHECK(fault_matrix_json({caught, half}, few(here)).find("\"verified\":false") != std::string::npos);
}

}  // namespace assay
