#include "properties/case/operation.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "properties/generate/kernel_space.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

TEST_CASE("each kernel of the space computes one described operation", "[operation]") {
  std::set<std::string> names;
  for (const kernel_space* kernel : kernel_spaces()) {
    const operation& op = describe(std::string_view(kernel->name));
    CHECK(std::ranges::count(op.kernels, std::string_view(kernel->name)) == 1);
    names.insert(op.name);
  }
  CHECK(names == std::set<std::string>{"attention", "mqa_logits", "append_kv"});
  REQUIRE(std::size(operations) == std::size(operation_names));
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    const auto kind = static_cast<operation_kind>(i);
    CHECK(describe(kind).kind == kind);
    CHECK(describe(kind).name == std::string_view(operation_names[i]));
  }
  CHECK(describe(std::string_view("a_kernel_of_yours")).kind == operation_kind::attention);
  CHECK_THROWS_AS(describe(static_cast<operation_kind>(7)), std::invalid_argument);
}

TEST_CASE("the tensors of a case have names of their own, and its results are among what a run writes", "[operation]") {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const attention_case c = test::arbitrary(i, 40);
    const operation& op = describe(c);
    problem planned = to_problem(c);
    planned.num_splits = std::max(planned.num_splits, 1);
    std::set<std::string> all, written;
    for (const planned_tensor& t : op.inputs(c)) {
      INFO(c.kernel << " " << t.name);
      CHECK(all.insert(t.name).second);
      CHECK(t.content != tensor_content::unwritten);
      CHECK(t.role != tensor_role::output);
      if (t.role == tensor_role::in_out) written.insert(t.name);
    }
    for (const planned_tensor& t : op.outputs(planned)) {
      CHECK(all.insert(t.name).second);
      written.insert(t.name);
    }
    for (const char* result : op.results) CHECK(written.contains(result));
  }
}

TEST_CASE("what rows see follows mask, window and position", "[operation]") {
  const visibility all{}, causal{true, 0}, windowed{true, 3};
  CHECK(all.seen(-5, 10).end == 10);
  CHECK(causal.seen(4, 10).end == 5);
  CHECK(causal.seen(-1, 10).end == 0);
  CHECK((windowed.seen(4, 10).first == 2 && windowed.seen(4, 10).end == 5));
  CHECK((windowed.seen(4, 6, 10).first == 2 && windowed.seen(4, 6, 10).end == 7));
  CHECK_FALSE(windowed.seen(20, 10).contains(9));
}
