#include "properties/generate/shrink.hpp"
#include "properties/case/operation.hpp"
#include "properties/generate/kernel_space.hpp"

#include <algorithm>
#include <functional>

#include <catch2/catch_test_macros.hpp>

#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

/// Greedy descent while `fails` holds.
attention_case shrunk(attention_case c, const std::function<bool(const attention_case&)>& fails) {
  for (bool moved = true; moved;) {
    moved = false;
    for (attention_case& candidate : simpler(c)) {
      if (!fails(candidate)) continue;
      c = std::move(candidate);
      moved = true;
      break;
    }
  }
  return c;
}

std::int64_t most_keys(const attention_case& c) {
  return std::ranges::max_element(c.sequences, {}, &sequence::k)->k;
}

}  // namespace

TEST_CASE("every shrink is valid, different and below its case in a well-founded order", "[shrink][long]") {
  test::for_cases(300, [](const attention_case& c) {
    for (const attention_case& s : simpler(c)) {
      INFO(to_json(c) << to_json(s));
      REQUIRE_NOTHROW(validate(s));
      REQUIRE(complexity(s) < complexity(c));
      REQUIRE(std::ranges::all_of(complexity(s), [](std::int64_t x) { return x >= 0; }));
    }
  });
}

TEST_CASE("anything shrinks to the plainest case", "[shrink]") {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const attention_case drawn = test::arbitrary(i, 100);
    if (drawn.sequences.empty()) continue;  // it stays so: a kind of its own
    const bool has_rows = std::ranges::any_of(drawn.sequences, [](const sequence& s) { return s.q > 0; });
    const attention_case c = shrunk(drawn, [](const attention_case&) { return true; });
    INFO(to_json(c));
    REQUIRE(c.sequences.size() == 1);
    CHECK(c.sequences[0].q == (has_rows ? 1 : 0));  // a case without rows is one of its own
    CHECK(c.sequences[0].k == 0);
    attention_case plainest;
    plainest.kernel = c.kernel;
    const type_choice& types = find_kernel_space(c.kernel)->types.front();
    plainest.q_type = types.q, plainest.kv_type = types.kv, plainest.o_type = types.o;
    plainest.batching = describe(c).plain_batching;
    plainest.pool_pages = 0;
    plainest.num_splits = 1;
    plainest.sequences = c.sequences;
    plainest.data.fill = fill_kind::constant;
    CHECK(c == plainest);
  }
}

TEST_CASE("what a failure needs stays, at its least", "[shrink]") {
  struct need {
    const char* name;
    std::function<bool(const attention_case&)> fails;
    std::vector<std::string> kernels = kernels_of_the_space();
  };
  const need needs[] = {
      {"67 keys", [](const attention_case& c) { return most_keys(c) >= 67; }},
      {"group of 3", [](const attention_case& c) { return c.heads_q / c.heads_kv >= 3; }},
      {"3 splits", [](const attention_case& c) { return c.num_splits >= 3; }, {"split_kv"}},
      {"window of 5", [](const attention_case& c) { return c.window >= 5; }, {"split_kv"}},
      {"two sequences", [](const attention_case& c) { return c.sequences.size() >= 2; }},
  };
  for (const need& n : needs) {
    int found = 0;
    for (std::uint64_t i = 0; found < 10; ++i) {
      const attention_case from = test::arbitrary(i, 90, n.kernels);
      if (from.sequences.empty() || !n.fails(from)) continue;
      ++found;
      const attention_case c = shrunk(from, n.fails);
      INFO(n.name << to_json(c));
      CHECK(c.sequences.size() == (n.name == std::string("two sequences") ? 2U : 1U));
      CHECK(c.heads_kv == 1);
      CHECK(c.heads_q == (n.name == std::string("group of 3") ? 3 : 1));
      CHECK(most_keys(c) == (n.name == std::string("67 keys") ? 67 : 0));
      CHECK(c.window == (n.name == std::string("window of 5") ? 5 : 0));
      CHECK(c.num_splits == (n.name == std::string("3 splits") ? 3 : 1));
    }
  }
}

TEST_CASE("what a kernel of prefill needs stays through every shrink", "[shrink]") {
  test::for_cases(300,
                  [](const attention_case& c) {
                    for (const attention_case& s : simpler(c)) {
                      INFO(to_json(c) << to_json(s));
                      REQUIRE(s.kernel == "batch_prefill");
                      REQUIRE(s.q_type == s.kv_type);
                      REQUIRE((s.q_type == s.o_type || s.q_type == dtype::e4m3fn || s.q_type == dtype::e4m3fnuz));
                      REQUIRE(s.o_type != dtype::f32);
                      REQUIRE(s.head_dim_qk % 16 == 0);
                      REQUIRE(s.head_dim_v % 16 == 0);
                      if (s.kv_descale == descale_kind::per_page) REQUIRE((s.page_size % 64 == 0 && is_fp8(s.kv_type)));
                      if (s.kv_descale == descale_kind::per_tensor) REQUIRE(s.data.descale_ratio == 1);
                    }
                  },
                  {"batch_prefill"});
}

TEST_CASE("descales, batch mode and high pages stay where a failure needs them, at their plainest", "[shrink]") {
  const auto highest = [](const attention_case& c) {
    std::int64_t page = 0;
    for (const sequence& s : c.sequences)
      for (const std::int64_t p : s.pages) page = std::max(page, p);
    return page;
  };
  attention_case from;
  from.kernel = "batch_prefill";
  from.q_type = from.kv_type = dtype::e4m3fn;
  from.o_type = dtype::bf16;
  from.page_size = 192;
  from.pool_pages = 5000;
  from.batching = q_batching::batch;
  from.kv_descale = descale_kind::per_page;
  from.data.descale_ratio = 1.02F;
  from.sequences = {{70, 500, std::nullopt, {4096, 4098, 4097}}, {70, 20, std::nullopt, {4099}}};
  const attention_case paged =
      shrunk(from, [](const attention_case& c) { return c.kv_descale == descale_kind::per_page && most_keys(c) > 64; });
  CHECK(paged.page_size == 64);
  CHECK(paged.pool_pages == 2);
  CHECK(paged.data.descale_ratio == 1);
  CHECK(paged.batching == q_batching::group);
  CHECK(shrunk(from, [](const attention_case& c) { return c.batching == q_batching::batch; }).sequences.size() == 1);
  const attention_case steep = shrunk(from, [](const attention_case& c) { return c.data.descale_ratio != 1; });
  CHECK(steep.data.descale_ratio == 2);
  CHECK(steep.kv_descale == descale_kind::per_page);
  const attention_case high = shrunk(from, [&](const attention_case& c) { return highest(c) >= 2900; });
  CHECK(highest(high) == 2900);
  CHECK(high.pool_pages == 2901);
}

TEST_CASE("overrides outside the shrunk tensors go", "[shrink]") {
  attention_case c;
  c.pool_pages = 3;
  c.sequences = {{2, 40, std::nullopt, {0, 1, 2}}, {1, 0, std::nullopt, {}}};
  c.data.overrides = {{"q", {2, 0, 0}, 1}};
  const attention_case s = shrunk(c, [](const attention_case& x) { return x.sequences[0].k >= 20; });
  CHECK(s.data.overrides.empty());
  CHECK(s.sequences.size() == 1);
  CHECK(s.sequences[0].k == 20);
}
