#include "kernels/split_kv/plan.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/split_kv/shape.hpp"
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

/// As of an H100 or H200.
assay::device_facts hopper(std::int64_t memory_bytes, int units) {
  return {memory_bytes, units, {32, 8, 8, 227 << 10, 228 << 10, true}};
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

TEST_CASE("split_kv declares groups of 32 keys for FP8, whose P is f16, and of 16 for others", "[plan]") {
  assay_launch launch{};
  launch.wave_size = 32;
  const auto declared = [&](assay::dtype kv, assay::dtype o) {
    problem p = decode_problem();
    p.q_type = p.o_type = o;
    p.k_type = p.v_type = kv;
    p.num_splits = 1;
    assay::contract c;
    REQUIRE(kernel().declare(&p, &launch, &c).code == ASSAY_OK);
    return c;
  };
  const assay::contract fp8 = declared(assay::dtype::e4m3fn, assay::dtype::bf16);
  const assay::contract plain = declared(assay::dtype::bf16, assay::dtype::bf16);
  CHECK(fp8.tile_keys == 32);
  CHECK(fp8.p_type == assay::dtype::f16);
  CHECK(plain.tile_keys == 16);
  CHECK(plain.p_type == assay::dtype::bf16);
  CHECK(fp8.sum_roundings == plain.sum_roundings + 1);  // the two atoms' sums
}

}  // namespace

TEST_CASE("the workspace budget is an eighth of the device, clamped, and 1.5 GiB when nothing is known", "[plan]") {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  CHECK(assay::default_workspace_budget_bytes(0) == gib + gib / 2);
  CHECK(assay::default_workspace_budget_bytes(4 * gib) == gib);
  CHECK(assay::default_workspace_budget_bytes(16 * gib) == 2 * gib);
  CHECK(assay::default_workspace_budget_bytes(192 * gib) == 8 * gib);
}

TEST_CASE("an idle device is filled with splits, of 256 keys at least, and never more than 128", "[plan]") {
  problem p = decode_problem();
  assay_plan plan{};
  REQUIRE(assay::plan_splits(p, 0, hopper(0, 2), plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 1);
  CHECK(plan.workspace_bytes == 0);
  REQUIRE(assay::plan_splits(p, 0, hopper(0, 304), plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 4);  // ceil(1000 / 256)
  CHECK(plan.workspace_bytes == 4 * 2 * 8 * (64 + 1) * 4);
  p.max_k = 1'000'000;
  p.num_pages = 70000;
  REQUIRE(assay::plan_splits(p, 0, hopper(0, 304), plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 128);
  REQUIRE(assay::plan_splits(p, 50 * 2 * 8 * 65 * 4, hopper(0, 304), plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 50);  // as many as the budget holds
}

TEST_CASE("blocks and splits fill the device once, or as many times as leave its last round full", "[plan]") {
  problem p = decode_problem();
  p.head_dim_qk = p.head_dim_v = 128;  // one block a unit: 132 at once
  p.heads_q = 32;
  p.max_k = 131072;
  p.num_pages = 70000;
  const auto splits = [&](std::int32_t heads_kv, std::int32_t sequences) {
    p.heads_kv = heads_kv;
    p.num_seqs = p.total_q = sequences;
    assay_plan plan{}, again{};
    REQUIRE(assay::plan_splits(p, 0, hopper(0, 132), plan).code == ASSAY_OK);
    REQUIRE(assay::plan_splits(p, 0, hopper(0, 132), again).code == ASSAY_OK);
    CHECK(plan.num_splits == again.num_splits);
    return plan.num_splits;
  };
  CHECK(splits(8, 1) == 16);
  CHECK(splits(4, 16) == 2);
  CHECK(splits(8, 16) == 1);
  CHECK(splits(8, 33) == 1);   // two rounds
  CHECK(splits(8, 64) == 1);   // four rounds, the last one nearly full
  CHECK(splits(4, 34) == 6);   // 136 blocks in two rounds, or 816 in seven
  CHECK(splits(8, 600) == 1);  // many rounds
}

TEST_CASE("a ring has as many slots as keep enough bytes on their way to the unit, or as fit", "[plan]") {
  problem p = decode_problem();
  const auto shape_of = [&](assay::dtype kv, std::int32_t head_dim, const assay::split_kv_device& device) {
    p.k_type = p.v_type = kv;
    p.head_dim_qk = p.head_dim_v = head_dim;
    return assay::split_kv_shape_of(p, device);
  };
  const assay::split_kv_device large = hopper(0, 132).shape;
  for (const assay::dtype kv : {assay::dtype::f16, assay::dtype::e4m3fn}) {
    const assay::split_kv_shape usual = shape_of(kv, 128, large);
    CHECK(usual.waves == 8);
    CHECK(usual.lds.slots == 2);
    CHECK(assay::split_kv_blocks_per_unit(usual, large) == 1);
    CHECK(shape_of(kv, 256, large).waves == 4);  // eight do not fit
  }
  const assay::split_kv_shape narrow = shape_of(assay::dtype::f16, 64, large);
  CHECK(narrow.waves == 8);
  CHECK(narrow.lds.slots == 2);
  CHECK(assay::split_kv_blocks_per_unit(narrow, large) == 2);
  CHECK(shape_of(assay::dtype::e4m3fn, 64, large).lds.slots == 3);  // rows are half empty in LDS
  const assay::split_kv_device small{32, 8, 8, 99 << 10, 100 << 10, true};
  CHECK(shape_of(assay::dtype::f16, 64, small).lds.slots == 3);
  CHECK(shape_of(assay::dtype::f16, 128, small).waves == 4);
  const assay::split_kv_device few_waves{64, 16, 2, 64 << 10, 64 << 10, true};
  CHECK(shape_of(assay::dtype::f16, 64, few_waves).lds.slots == 4);  // never enough
}

TEST_CASE("the waves of a block, which are the contract's states, do not depend on the rows", "[plan]") {
  problem p = decode_problem();
  for (const int of_block : {64 << 10, 99 << 10, 163 << 10, 227 << 10})
    for (p.head_dim_qk = 8; p.head_dim_qk <= 256; p.head_dim_qk += 8)
      for (p.head_dim_v = 8; p.head_dim_v <= 256; p.head_dim_v += 8) {
        const assay::split_kv_device device{32, 8, 8, of_block, of_block + 1024, true};
        p.max_q = 1;
        const assay::split_kv_shape narrow = assay::split_kv_shape_of(p, device);
        p.max_q = 4;
        const assay::split_kv_shape wide = assay::split_kv_shape_of(p, device);
        CAPTURE(of_block, p.head_dim_qk, p.head_dim_v);
        REQUIRE(narrow.rows == 8);
        REQUIRE(wide.rows == 16);
        REQUIRE(narrow.waves == wide.waves);
        REQUIRE(wide.lds.size_bytes <= of_block);
      }
}

TEST_CASE("a number of splits that was asked for is kept, also beyond the tiles, or refused", "[plan]") {
  problem p = decode_problem();
  p.num_splits = 128;
  assay_plan plan{};
  REQUIRE(assay::plan_splits(p, 0, hopper(0, 1), plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 128);
  const assay_status status = assay::plan_splits(p, 1000, hopper(0, 1), plan);
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

TEST_CASE("more rows than a grid joins are planned with one split, and refused with more", "[plan]") {
  const auto many_rows = [](std::int32_t splits) {
    return planned([splits](problem& p) {
      p.num_seqs = p.max_q = 1 << 10, p.total_q = 1 << 20, p.heads_q = 64, p.heads_kv = 8;  // 2^26 rows of 64 threads
      p.num_splits = splits;
    });
  };
  CHECK(many_rows(1).code == ASSAY_OK);
  const assay_status refused = many_rows(2);
  CHECK(refused.code == ASSAY_UNSUPPORTED);
  CHECK(names(refused, "67108863 rows of a grid that joins splits"));
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

TEST_CASE("a block's LDS fits the device for every head dimension and type, and its parts do not overlap", "[plan]") {
  const assay::split_kv_device devices[] = {
      {32, 8, 8, 227 << 10, 228 << 10, true}, {32, 8, 8, 99 << 10, 100 << 10, true},
      {32, 8, 4, 227 << 10, 228 << 10, true}, {32, 16, 8, 64 << 10, 64 << 10, false},
      {32, 16, 4, 64 << 10, 64 << 10, true},  {64, 16, 2, 64 << 10, 64 << 10, true},
      {64, 16, 4, 64 << 10, 64 << 10, false}, {32, 16, 4, 64 << 10, 64 << 10, false}};
  problem p = decode_problem();
  const std::pair<assay::dtype, assay::dtype> types[] = {{assay::dtype::f16, assay::dtype::f16},
                                                         {assay::dtype::e4m3fn, assay::dtype::e4m3fn},
                                                         {assay::dtype::i8, assay::dtype::f16}};
  for (const assay::split_kv_device& device : devices)
    for (p.head_dim_qk = 64; p.head_dim_qk <= assay::max_head_dim; p.head_dim_qk += 8)
      for (p.head_dim_v = 64; p.head_dim_v <= assay::max_head_dim; p.head_dim_v += 8)
        for (p.max_q = 1; p.max_q <= 5; p.max_q += 4)
          for (const auto& [k, v] : types) {
            p.q_type = k == assay::dtype::i8 ? k : assay::dtype::f16, p.k_type = k, p.v_type = v;
            const assay::split_kv_shape shape = assay::split_kv_shape_of(p, device);
            const assay::split_kv_lds& at = shape.lds;
            const std::int64_t k_bytes = p.head_dim_qk * assay::size_bytes(k),
                               v_bytes = p.head_dim_v * assay::size_bytes(v);
            const bool has_rows = at.q_row_bytes >= p.head_dim_qk * assay::size_bytes(p.q_type) &&
                                  at.k_row_bytes >= k_bytes && at.v_row_bytes >= v_bytes &&
                                  (at.q_row_bytes | at.k_row_bytes | at.v_row_bytes) % 128 == 0;
            const bool has_ring = at.slots >= (device.has_ring ? 2 : 1) && at.slots <= 4 &&
                                  at.ring_bytes >= at.slots * 16 * (at.k_row_bytes + at.v_row_bytes) &&
                                  at.ring_bytes >= shape.rows * p.head_dim_v * 4;
            const bool is_apart = at.ring_at >= shape.rows * at.q_row_bytes && at.ring_at % 16 == 0 &&
                                  at.ring_bytes % 16 == 0 && at.states_at >= at.ring_at + shape.waves * at.ring_bytes &&
                                  at.size_bytes >= at.states_at + 2 * shape.waves * 16 * 4;
            const bool fits = at.size_bytes <= device.lds_of_block_bytes && shape.waves >= 1 &&
                              shape.waves <= device.most_waves &&
                              shape.rows == (p.max_q * 4 <= device.narrow_columns ? device.narrow_columns : 16);
            if (!(has_rows && has_ring && is_apart && fits))
              FAIL("head dimensions " << p.head_dim_qk << " and " << p.head_dim_v << ", waves " << shape.waves
                                      << ", slots " << at.slots << ", " << at.size_bytes << " bytes");
          }
}
