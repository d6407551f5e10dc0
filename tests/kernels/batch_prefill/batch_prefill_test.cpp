/// batch_prefill against the definition of attention in binary64. The bound is that of a bf16 P, which is loose: what
/// it sees is structure (tiles, pages, masks, descales, dead memory), not roundings, which are the enclosure's
/// business.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "kernels/device/convert.hpp"
#include "tests/kernels/batch_prefill/prefill_setting.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay;
using prefill::setting;

namespace {

/// Fails on the first element outside its bound; returns the output bits.
std::vector<std::uint16_t> check(const setting& s, const assay_launch& launch) {
  INFO(text(s) << ", " << cpu::name(launch));
  prefill::trial t(s);
  const assay_status status = t.run(launch);
  INFO(status.message);
  REQUIRE(status.code == ASSAY_OK);
  for (const auto& c : t.compare()) {
    const bool inside = c.actual == c.exact || std::fabs(c.actual - c.exact) <= c.bound;
    if (!inside) FAIL(c.actual << " is not within " << c.bound << " of " << c.exact);
  }
  return t.o;
}

void check_both_waves(const setting& s) {
  for (const int wave_size : {32, 64}) check(s, cpu::parameters(wave_size));
}

}  // namespace

TEST_CASE("batch_prefill takes one, two, three and many tiles, full and not", "[prefill]") {
  for (const int keys : {1, 63, 64, 65, 127, 128, 129, 192, 193, 320, 1000}) {
    check_both_waves({.sequences = {{1, keys}}});
    check_both_waves({.sequences = {{70, keys}}, .page_size = 64, .kv_descale = descale_kind::per_page});
  }
}

TEST_CASE("batch_prefill takes both FP8 types, both output types and all head dimensions", "[prefill]") {
  for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz})
    for (const dtype o_type : {dtype::f16, dtype::bf16})
      for (const int dim : {64, 80, 96, 112, 128})
        check_both_waves({.sequences = {{17, 200}},
                          .type = type,
                          .o_type = o_type,
                          .head_dim_qk = dim,
                          .head_dim_v = 192 - dim,
                          .v_scale = 0.3F});
}

TEST_CASE("batch_prefill takes f16 and bf16, whose rows are longer", "[prefill]") {
  for (const dtype type : {dtype::f16, dtype::bf16})
    for (const int dim : {64, 80, 96, 112, 128})
      for (const bool causal : {false, true})
        check_both_waves({.sequences = {{70, 200}, {1, 65}},
                          .type = type,
                          .o_type = type,
                          .heads_q = 2,
                          .head_dim_qk = dim,
                          .head_dim_v = 192 - dim,
                          .causal = causal,
                          .v_scale = 0.3F});
}

TEST_CASE("batch_prefill takes every page size and both page tables", "[prefill]") {
  for (const int page_size : {1, 3, 16, 64, 128, 1000, 1024})
    for (const auto table : {page_table_kind::block_table, page_table_kind::page_list})
      for (const bool causal : {false, true})
        check_both_waves({.sequences = {{5, 300}, {1, 0}, {66, 70}, {2, 1100}},
                          .page_size = page_size,
                          .page_table = table,
                          .causal = causal});
}

TEST_CASE("batch_prefill takes descales per page, with neighbours far apart", "[prefill][long]") {
  for (const int page_size : {64, 128, 1024})
    for (const float soft_cap : {0.0F, 2.0F})
      for (const bool causal : {false, true})
        check_both_waves({.sequences = {{3, 640}, {70, 1100}},
                          .type = dtype::e4m3fnuz,
                          .heads_q = 2,
                          .heads_kv = 2,
                          .page_size = page_size,
                          .kv_descale = descale_kind::per_page,
                          .causal = causal,
                          .soft_cap = soft_cap,
                          .v_scale = 1.7F,
                          .seed = 9});
}

TEST_CASE("batch_prefill takes the causal mask wherever it falls, and rows that see nothing", "[prefill]") {
  check_both_waves({.sequences = {{130, 70}, {64, 64}, {65, 129}, {1, 400}}, .causal = true});
  check_both_waves({.sequences = {{130, 70}, {20, 300}, {20, 300}, {70, 500}},
                    .page_size = 64,
                    .kv_descale = descale_kind::per_page,
                    .causal = true,
                    .prefix_offset = {-50, 0, 2000000000, 100}});
}

TEST_CASE("batch_prefill takes batch mode, and groups of query heads", "[prefill]") {
  for (const int heads : {1, 2, 6})
    for (const auto batching : {q_batching::group, q_batching::batch})
      check_both_waves(
          {.sequences = {{67, 150}, {67, 3}}, .heads_q = 6, .heads_kv = heads, .batching = batching, .causal = true});
}

TEST_CASE("batch_prefill gives the same bits under every schedule and on every run", "[prefill]") {
  const setting s{.sequences = {{70, 500}}, .page_size = 64, .kv_descale = descale_kind::per_page};
  for (const int wave_size : {32, 64}) {
    const std::vector<std::uint16_t> expected = check(s, cpu::parameters(wave_size));
    for (const assay_launch& launch : cpu::all_launches())
      if (launch.wave_size == wave_size) CHECK(check(s, launch) == expected);
  }
}

TEST_CASE("batch_prefill takes blocks of eight waves, where sequences have more than 128 rows", "[prefill]") {
  for (const dtype type : {dtype::e4m3fn, dtype::bf16})
    for (const bool causal : {false, true})
      check_both_waves({.sequences = {{300, 300}, {129, 70}, {5, 400}},
                        .type = type,
                        .o_type = dtype::bf16,
                        .heads_q = 2,
                        .head_dim_qk = 80,
                        .head_dim_v = 128,
                        .causal = causal});
}

TEST_CASE("batch_prefill's sums stay finite, however large the logits are", "[prefill]") {
  for (const dtype type : {dtype::e4m3fn, dtype::bf16}) {
    prefill::trial t({.sequences = {{3, 200}}, .type = type, .o_type = dtype::bf16});
    t.scalars.scale = 0x1p40F;
    REQUIRE(t.run(cpu::parameters(32)).code == ASSAY_OK);
    for (const float lse : t.lse) CHECK(std::isfinite(lse));
    for (const std::uint16_t o : t.o) CHECK(std::isfinite(to_float(device::bf16{o})));
  }
}
