#include "fuzz/edits.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "properties/data/edit.hpp"
#include "properties/generate/choice.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;

namespace {

/// What the library's answers to many edited and broken calls come to: the first that is wrong.
std::optional<std::string> first_wrong(const library& lib, const attention_case& c, int calls) {
  inputs given = fill(c);
  problem planned;
  std::int64_t workspace_bytes = 0;
  REQUIRE(plan_problem(*lib.find(c.kernel), given.stated, 0, &planned, {}, &workspace_bytes).code == ASSAY_OK);
  relations::refusal_check checked(lib, c, std::move(given), planned, workspace_bytes);
  std::mt19937_64 random(5);
  random_source choices([&random] { return random(); });
  for (int i = 0; i < calls; ++i)
    if (auto wrong = fuzz::break_and_check(checked, choices)) return wrong;
  return std::nullopt;
}

}  // namespace

TEST_CASE("the built-in kernels refuse every edited and broken call", "[fuzz]") {
  const auto wrong = first_wrong(*library::built_in(), testing::small_case(), 4000);
  INFO(wrong.value_or(""));
  CHECK(!wrong);
}

TEST_CASE("a library that takes what it should refuse, or writes before it refuses, is found out", "[fuzz]") {
  const auto credulous = testing::faulty_library([](testing::call&) { return assay_status{ASSAY_OK, {}}; });
  CHECK(first_wrong(*credulous, testing::small_case(), 500)->find("run() accepted ") == 0);
  const auto silent = testing::faulty_library([](testing::call&) { return assay_status{ASSAY_REJECTED, {}}; });
  CHECK(first_wrong(*silent, testing::small_case(), 500)->find("run() accepted ") == 0);
  const auto hasty = testing::faulty_library([](testing::call& c) {
    if (c.has("o") && c.at("o").view.data != nullptr) *static_cast<char*>(c.at("o").view.data) = 1;
    return assay_status{ASSAY_REJECTED, "too late"};
  });
  CHECK(first_wrong(*hasty, testing::small_case(), 500)->find("run() launched in spite of ") == 0);
}
