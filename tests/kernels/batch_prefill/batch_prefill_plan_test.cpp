/// What batch_prefill's host side takes and refuses.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/batch_prefill_contract.hpp"
#include "kernels/batch_prefill/prefill_shape.hpp"
#include "kernels/library.h"
#include "tests/kernels/batch_prefill/prefill_setting.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay;

namespace {

const assay_kernel& kernel(const std::string& name) {
  const assay_library& library = *assay_library_v1();
  for (const assay_kernel& k : std::span(library.kernels, static_cast<std::size_t>(library.num_kernels)))
    if (name == k.name) return k;
  throw std::logic_error("no kernel " + name);
}

problem prefill_problem() {
  problem p;
  p.q_type = p.k_type = p.v_type = dtype::e4m3fn;
  p.num_seqs = 2;
  p.total_q = 200;
  p.max_q = 100;
  p.max_k = 1000;
  p.heads_q = 8;
  p.heads_kv = 2;
  p.page_size = 64;
  p.num_pages = 200;
  return p;
}

template <class Change>
assay_status planned(const char* name, problem p, Change change) {
  change(p);
  assay_plan plan{};
  const assay_status status = kernel(name).plan(&p, 0, &plan);
  if (status.code == ASSAY_OK) CHECK(plan.num_splits == 1);
  if (status.code == ASSAY_OK) CHECK(plan.workspace_bytes == 0);
  return status;
}

bool names(const assay_status& status, const char* word) {
  return std::string(status.message).find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("batch_prefill plans one split, whatever it is asked to choose", "[plan]") {
  CHECK(planned("batch_prefill", prefill_problem(), [](problem&) {}).code == ASSAY_OK);
  CHECK(planned("batch_prefill", prefill_problem(), [](problem& p) { p.num_splits = 1; }).code == ASSAY_OK);
  CHECK(planned("batch_prefill", prefill_problem(), [](problem& p) { p.batching = q_batching::batch; }).code ==
        ASSAY_OK);
  CHECK(planned("batch_prefill", prefill_problem(), [](problem& p) {
          p.kv_descale = descale_kind::per_page;
          p.page_size = 1024;
        }).code == ASSAY_OK);
}

TEST_CASE("what batch_prefill does not do is unsupported, with a reason", "[plan]") {
  const auto unsupported = [](const char* word, auto change) {
    INFO(word);
    const assay_status status = planned("batch_prefill", prefill_problem(), change);
    CHECK(status.code == ASSAY_UNSUPPORTED);
    CHECK(names(status, word));
  };
  unsupported("these types together", [](problem& p) { p.q_type = dtype::f16; });
  unsupported("these types together", [](problem& p) { p.v_type = dtype::e4m3fnuz; });
  unsupported("these types together", [](problem& p) { p.o_type = dtype::f32; });
  unsupported("window", [](problem& p) { p.window = 5; });
  unsupported("bias", [](problem& p) { p.bias_type = dtype::f32; });
  unsupported("num_splits", [](problem& p) { p.num_splits = 2; });
  unsupported("head_dim_qk", [](problem& p) { p.head_dim_qk = 72; });
  unsupported("head_dim_v", [](problem& p) { p.head_dim_v = 144; });
  unsupported("head_dim_v", [](problem& p) { p.head_dim_v = 48; });
  unsupported("page_size", [](problem& p) {
    p.kv_descale = descale_kind::per_page;
    p.page_size = 32;
  });
  unsupported("page_size", [](problem& p) {
    p.kv_descale = descale_kind::per_page;
    p.page_size = 96;
  });
  unsupported("max_k", [](problem& p) { p.max_k = std::numeric_limits<std::int32_t>::max(); });
  unsupported("num_seqs", [](problem& p) { p.num_seqs = 1 << 24; });
}

TEST_CASE("problems of batch mode and descales that are none are rejected by every kernel", "[plan]") {
  for (const char* name : {"split_kv", "batch_prefill"}) {
    const auto rejected = [&](const char* word, auto change) {
      INFO(name << ", " << word);
      const assay_status status = planned(name, prefill_problem(), change);
      CHECK(status.code == ASSAY_REJECTED);
      CHECK(names(status, word));
    };
    rejected("batching", [](problem& p) { p.batching = static_cast<q_batching>(2); });
    rejected("kv_descale", [](problem& p) { p.kv_descale = static_cast<descale_kind>(-1); });
    rejected("total_q", [](problem& p) {
      p.batching = q_batching::batch;
      p.total_q = 199;
    });
  }
}

TEST_CASE("split_kv does batch mode, but no descales per page", "[plan]") {
  problem p = prefill_problem();
  p.q_type = p.k_type = p.v_type = dtype::f16;
  CHECK(planned("split_kv", p, [](problem& q) { q.num_splits = 1; }).code == ASSAY_OK);
  CHECK(planned("split_kv", p, [](problem& q) {
          q.num_splits = 1;
          q.batching = q_batching::batch;
          q.max_q = q.total_q / q.num_seqs;
        }).code == ASSAY_OK);
  const assay_status descales = planned("split_kv", p, [](problem& q) { q.kv_descale = descale_kind::per_page; });
  CHECK(descales.code == ASSAY_UNSUPPORTED);
  CHECK(names(descales, "kv_descale"));
}

TEST_CASE("batch_prefill's run() names the tensor that is missing or too much, and launches nothing", "[plan]") {
  const assay_launch launch = cpu::parameters(64);
  problem p = prefill_problem();
  CHECK(kernel("batch_prefill").run(&p, nullptr, 0, &launch).code == ASSAY_REJECTED);  // not planned
  p.num_splits = 1;
  CHECK(names(kernel("batch_prefill").run(&p, nullptr, 0, &launch), "tensor q is missing"));
  const assay_tensor sinks{"sinks", static_cast<std::int32_t>(dtype::f32), {}, ASSAY_INPUT};
  const assay_status status = kernel("batch_prefill").run(&p, &sinks, 1, &launch);
  CHECK(status.code == ASSAY_UNSUPPORTED);
  CHECK(names(status, "sinks"));

  // A setting without descales, run as if it had them.
  prefill::trial t({.sequences = {{3, 100}}, .page_size = 64});
  t.scalars.kv_descale = descale_kind::per_page;
  CHECK(names(t.run(launch), "tensor k_descale is missing"));
  CHECK(t.o.front() == 0xFFFF);
}

TEST_CASE("batch_prefill's ring and Q fit into a block's LDS for all types and head dimensions", "[plan]") {
  problem p = prefill_problem();
  for (const dtype type : {dtype::e4m3fn, dtype::f16})
    for (const int rows : {1, 64, 128, 129, 1000})
      for (const int lanes : {32, 64})
        for (int qk = 64; qk <= prefill_max_head_dim; qk += prefill_head_dim_step)
          for (int v = 64; v <= prefill_max_head_dim; v += prefill_head_dim_step) {
            p.q_type = p.k_type = p.v_type = type;
            p.max_q = rows, p.head_dim_qk = qk, p.head_dim_v = v;
            const prefill_shape s = prefill_shape_of(p, lanes, false);
            const auto element_bytes = static_cast<std::int32_t>(size_bytes(type));
            const bool fits = s.lanes == lanes && s.rows == s.waves * prefill_wave_rows && s.slots >= 2 &&
                              s.k_row_bytes >= qk * element_bytes && s.k_row_bytes % 128 == 0 &&
                              s.v_row_bytes >= v * element_bytes && s.v_row_bytes % 128 == 0 &&
                              s.lds_bytes >= s.slots * prefill_tile_keys * (s.k_row_bytes + s.v_row_bytes) &&
                              s.lds_bytes >= s.rows * qk * 2 && s.lds_bytes <= 64 * 1024;
            CHECK(s.waves == (rows > 128 && lanes == 32 ? 8 : 4));
            if (!fits) FAIL("rows " << rows << ", lanes " << lanes << ", head dimensions " << qk << " and " << v);
          }
}

TEST_CASE("batch_prefill declares what warpgroups sum, 32 values of a lane, then four lanes, and fuse", "[plan]") {
  problem p = prefill_problem();
  p.num_splits = 1;
  const contract c = declare_batch_prefill(p, 32, true);
  CHECK(c.tile_keys == 128);
  CHECK(c.tile_rows == 16);
  CHECK(c.sum_roundings == 6);
  CHECK(c.sum_join_roundings == 2);
  CHECK(c.fuses_logits == 1);
  CHECK(c.least_rounded_maximum == 0x1p16F);
  p.scale = -p.scale;
  CHECK(declare_batch_prefill(p, 32, true).fuses_logits == 0);
  p.scale = -p.scale;
  p.soft_cap = 30.0F;
  CHECK(declare_batch_prefill(p, 32, true).fuses_logits == 0);
}

TEST_CASE("batch_prefill declares what it sums, merges and multiplies", "[plan]") {
  const assay_launch launch = cpu::parameters(64);
  problem p = prefill_problem();
  p.num_splits = 1;
  contract c;
  REQUIRE(kernel("batch_prefill").declare(&p, &launch, &c).code == ASSAY_OK);
  CHECK(c.fuses_logits == 0);
  CHECK(c.p_shift == 0);
  CHECK(c.p_type == dtype::f16);
  CHECK(c.merge_roundings == 0);
  CHECK(c.tile_rows == 16);
  CHECK(c.qk.products == 16);
  CHECK(c.sum_roundings == 5);
  CHECK(c.sum_join_roundings == 2);
  p.q_type = p.k_type = p.v_type = dtype::e4m3fnuz;
  p.soft_cap = 30.0F;
  p.kv_descale = descale_kind::per_page;
  REQUIRE(kernel("batch_prefill").declare(&p, &launch, &c).code == ASSAY_OK);
  CHECK(c.fuses_logits == 0);
  CHECK(c.p_type == dtype::f16);
  CHECK(c.merge_roundings == 2);
  p.kv_descale = descale_kind::per_tensor;
  p.q_type = p.k_type = p.v_type = p.o_type = dtype::bf16;
  REQUIRE(kernel("batch_prefill").declare(&p, &launch, &c).code == ASSAY_OK);
  CHECK(c.p_type == dtype::bf16);
}
