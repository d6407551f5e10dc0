#include "properties/campaign/target.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/case/case.hpp"
#include "properties/system/errors.hpp"
#include "tests/properties/campaign/fake_target.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::campaign {
namespace {

TEST_CASE("a target's bytes are a case and back, reason and kernel aside") {
  const target t{"fuzz_split_kv", "split_kv", {}};
  attention_case c = assay::testing::small_case();
  c.why = "a reason";
  const auto bytes = bytes_of(t, c);
  REQUIRE(bytes);
  c.why.clear();
  CHECK(case_of(t, *bytes) == c);
  c.kernel = "mqa_logits";
  CHECK_FALSE(bytes_of(t, c));
  CHECK_FALSE(case_of({"fuzz_case", "", {}}, *bytes));
}

TEST_CASE("half of a corpus entry is a case as well") {
  const target t{"fuzz_split_kv", "split_kv", {}};
  auto bytes = *bytes_of(t, assay::testing::small_case());
  for (; !bytes.empty(); bytes.pop_back()) CHECK_NOTHROW(validate(*case_of(t, bytes)));
}

TEST_CASE("an unknown target is bad input; one without a binary of libFuzzer lacks in the environment") {
  const testing::fake_target fake;
  CHECK_THROWS_AS(find_target("fuzz_nothing", {fake.root()}), case_error);
  CHECK_THROWS_AS(find_target("fuzz_split_kv", {fake.root()}), environment_error);
  std::filesystem::copy(fake.root() / "target", fake.root() / "fuzz_split_kv");
  const target found = find_target("fuzz_split_kv", {fake.root()});
  CHECK(found.kernel == "split_kv");
  CHECK(found.binary.filename() == "fuzz_split_kv");
}

}  // namespace
}  // namespace assay::campaign
