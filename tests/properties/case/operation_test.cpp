#include "properties/case/operation.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "properties/case/slots.hpp"
#include "properties/generate/kernel_space.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

TEST_CASE("each kernel of the space computes one described operation", "[operation]") {
  std::set<std::string> names;
  for (const kernel_space& kernel : kernel_spaces()) names.insert(describe(std::string_view(kernel.name)).name);
  CHECK(names == std::set<std::string>{"attention", "mqa_logits", "append_kv"});
  for (const operation_kind kind : {operation_kind::attention, operation_kind::mqa_logits, operation_kind::append_kv})
    CHECK(describe(kind).kind == kind);
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

TEST_CASE("a row of append_kv goes to the slot of its position, or nowhere", "[operation]") {
  attention_case c;
  c.kernel = "append_kv";
  c.page_size = 4;
  c.pool_pages = 9;
  c.sequences = {{.q = 3, .k = 6, .prefix_offset = {}, .pages = {8, 2}}};
  const sequence& s = c.sequences.front();
  CHECK(slot_of(c, s, 0) == 8 * 4 + 3);
  CHECK(slot_of(c, s, 1) == 2 * 4);
  CHECK(slot_of(c, s, 2) == 2 * 4 + 1);
  c.sequences.front().prefix_offset = -1;
  CHECK(slot_of(c, s, 0) == -1);
  CHECK(slot_of(c, s, 1) == 8 * 4);
  c.sequences.front().prefix_offset = 5;
  CHECK(slot_of(c, s, 1) == -1);
}

TEST_CASE("fields that append_kv does not read, and pages that are used twice, are refused", "[operation]") {
  attention_case good;
  good.kernel = "append_kv";
  good.pool_pages = 2;
  good.sequences = {{.q = 1, .k = 20, .prefix_offset = {}, .pages = {1, 0}}};
  REQUIRE_NOTHROW(validate(good));
  const auto refused = [&](auto&& edit) {
    attention_case c = good;
    edit(c);
    try {
      validate(c);
    } catch (const case_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused([](attention_case& c) { c.causal = true; }) == "causal: append_kv does not read it");
  CHECK(refused([](attention_case& c) { c.num_splits = 2; }).starts_with("num_splits"));
  CHECK(refused([](attention_case& c) { c.heads_q = 2; }).starts_with("heads_q"));
  CHECK(refused([](attention_case& c) { c.sequences[0].pages = {1, 1}; }).find("page 1 is used twice") !=
        std::string::npos);
  CHECK(refused([](attention_case& c) { c.k_scale = 2; }).starts_with("k_scale"));
  CHECK(refused([](attention_case& c) { c.kernel = "split_kv", c.rotary = rotary_kind::half; }).starts_with("rotary"));
}
