#include "kernels/split_kv/plan.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/split_kv/split_kv_arguments.hpp"

namespace {

using assay::problem;

problem decode_problem() {
  problem p;
  p.num_seqs = p.total_q = 2;
  p.max_q = 1;
  p.max_k = 1000;
  p.heads_q = 8;
  p.heads_kv = 2;
  p.num_pages = 200;
  return p;
}

const assay_kernel& kernel() {
  return assay_library_v1()->kernels[0];
}

/// Status code and message of plan() for a problem with one change.
template <class Change>
assay_status planned(Change change, std::int64_t budget = 0) {
  problem p = decode_problem();
  change(p);
  assay_plan plan{};
  return kernel().plan(&p, budget, &plan);
}

bool names(const assay_status& status, const char* word) {
  return std::string(status.message).find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("the workspace budget is an eighth of the device, clamped, and 1.5 GiB when nothing is known", "[plan]") {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  CHECK(assay::default_workspace_budget_bytes(0) == gib + gib / 2);
  CHECK(assay::default_workspace_budget_bytes(4 * gib) == gib);
  CHECK(assay::default_workspace_budget_bytes(16 * gib) == 2 * gib);
  CHECK(assay::default_workspace_budget_bytes(192 * gib) == 8 * gib);
}

TEST_CASE("an idle device is filled with splits, at most one per tile, and never more than 128", "[plan]") {
  problem p = decode_problem();
  assay_plan plan{};
  REQUIRE(assay::plan_splits(p, 0, {0, 1}, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 1);
  CHECK(plan.workspace_bytes == 0);
  REQUIRE(assay::plan_splits(p, 0, {0, 304}, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 16);  // ceil(1000 / 64)
  CHECK(plan.workspace_bytes == 16 * 2 * 8 * (64 + 1) * 4);
  p.max_k = 1'000'000;
  p.num_pages = 70000;
  REQUIRE(assay::plan_splits(p, 0, {0, 304}, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 128);
  REQUIRE(assay::plan_splits(p, 50 * 2 * 8 * 65 * 4, {0, 304}, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 50);  // as many as the budget holds
}

TEST_CASE("a number of splits that was asked for is kept, also beyond the tiles, or refused", "[plan]") {
  problem p = decode_problem();
  p.num_splits = 128;
  assay_plan plan{};
  REQUIRE(assay::plan_splits(p, 0, {0, 1}, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 128);
  const assay_status status = assay::plan_splits(p, 1000, {0, 1}, plan);
  CHECK(status.code == ASSAY_UNSUPPORTED);
  CHECK(names(status, "workspace"));
}

TEST_CASE("workspace sizes saturate instead of overflowing", "[plan]") {
  problem p = decode_problem();
  p.total_q = p.heads_q = std::numeric_limits<std::int32_t>::max();
  CHECK(assay::workspace_bytes(p, 128) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("rows behind the last sequence's are planned, with room for their partials", "[plan]") {
  problem p = decode_problem();
  p.total_q = 7;  // 2 sequences of a row each: 5 are padding
  p.num_splits = 4;
  assay_plan plan{};
  REQUIRE(kernel().plan(&p, 0, &plan).code == ASSAY_OK);
  CHECK(plan.workspace_bytes == 4 * 7 * 8 * (64 + 1) * 4);
  p.num_seqs = p.max_q = 0;
  CHECK(kernel().plan(&p, 0, &plan).code == ASSAY_OK);
}

TEST_CASE("what is no problem is rejected with the field's name", "[plan]") {
  const auto rejected = [](const char* field, auto change) {
    INFO(field);
    const assay_status status = planned(change);
    CHECK(status.code == ASSAY_REJECTED);
    CHECK(names(status, field));
  };
  rejected("num_seqs", [](problem& p) { p.num_seqs = -1; });
  rejected("total_q", [](problem& p) { p.total_q = -1; });
  rejected("max_q", [](problem& p) { p.max_q = 3; });
  rejected("max_k", [](problem& p) { p.max_k = -5; });
  rejected("heads_kv", [](problem& p) { p.heads_kv = 3; });
  rejected("heads_kv", [](problem& p) { p.heads_kv = 0; });
  rejected("page_size", [](problem& p) { p.page_size = 0; });
  rejected("num_pages", [](problem& p) { p.num_pages = 0; });
  rejected("window", [](problem& p) { p.window = -1; });
  rejected("causal", [](problem& p) { p.causal = 2; });
  rejected("scale", [](problem& p) { p.scale = std::nanf(""); });
  rejected("v_scale", [](problem& p) { p.v_scale = HUGE_VALF; });
  rejected("soft_cap", [](problem& p) { p.soft_cap = -1.0F; });
  rejected("q_type", [](problem& p) { p.q_type = assay::dtype::none; });
  rejected("o_type", [](problem& p) { p.o_type = static_cast<assay::dtype>(77); });
  rejected("bias_type", [](problem& p) { p.bias_type = assay::dtype::i8; });
  rejected("page_table", [](problem& p) { p.page_table = static_cast<assay::page_table_kind>(2); });
}

TEST_CASE("a legal problem that the kernels do not do is unsupported, with a reason", "[plan]") {
  const auto unsupported = [](const char* word, auto change) {
    INFO(word);
    const assay_status status = planned(change);
    CHECK(status.code == ASSAY_UNSUPPORTED);
    CHECK(names(status, word));
  };
  unsupported("head_dim_qk", [](problem& p) { p.head_dim_qk = 68; });
  unsupported("head_dim_v", [](problem& p) { p.head_dim_v = 264; });
  unsupported("num_splits", [](problem& p) { p.num_splits = 129; });
  unsupported("these types together", [](problem& p) { p.o_type = assay::dtype::bf16; });
  unsupported("num_seqs", [](problem& p) { p.num_seqs = 1 << 25; });
}

TEST_CASE("run() wants a planned problem and all tensors, and launches nothing without", "[plan]") {
  problem p = decode_problem();
  assay_launch launch{};
  launch.wave_size = 64;
  CHECK(kernel().run(&p, nullptr, 0, &launch).code == ASSAY_REJECTED);
  p.num_splits = 1;
  const assay_status status = kernel().run(&p, nullptr, 0, &launch);
  CHECK(status.code == ASSAY_REJECTED);
  CHECK(names(status, "tensor q is missing"));
  launch.wave_size = 48;
  CHECK(names(kernel().run(&p, nullptr, 0, &launch), "wave_size"));
  CHECK(kernel().run(nullptr, nullptr, 0, &launch).code == ASSAY_REJECTED);
}

TEST_CASE("a block's LDS fits into 48 KiB for every head dimension, and its parts do not overlap", "[plan]") {
  for (int qk = 64; qk <= assay::max_head_dim; qk += 8)
    for (int v = 64; v <= assay::max_head_dim; v += 8)
      for (const int bytes : {1, 2}) {
        const assay::split_kv_lds at = assay::lay_out_split_kv(qk, v, bytes);
        const bool fits = 16 * at.q_stride * bytes <= at.kv_at && at.kv_at + 64 * at.q_stride * bytes <= at.scores_at &&
                          at.kv_at + 64 * at.v_stride * 2 <= at.scores_at && at.size_bytes <= 48 * 1024 &&
                          at.kv_at % 16 == 0 && at.scores_at % 16 == 0 && at.p_at % 16 == 0;
        if (!fits) FAIL("head dimensions " << qk << " and " << v);
      }
}
