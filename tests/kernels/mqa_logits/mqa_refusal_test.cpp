/// What mqa_logits refuses on the host, and how it plans.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "kernels/mqa_logits/mqa_logits_arguments.hpp"
#include "tests/kernels/mqa_logits/mqa_setting.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay;

namespace {

problem legal_problem() {
  return mqa::trial({.contexts = {300, 20}, .max_model_len = 320, .next_n = 2, .num_splits = 2}).scalars;
}

template <class Change>
assay_status planned(Change change) {
  problem p = legal_problem();
  change(p);
  assay_plan plan{};
  return mqa::kernel().plan(&p, 0, &plan);
}

bool names(const assay_status& status, const char* word) {
  return std::string(status.message).find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("mqa_logits rejects what is no problem of its operation", "[mqa]") {
  const auto rejected = [](const char* field, auto change) {
    INFO(field);
    const assay_status status = planned(change);
    CHECK(status.code == ASSAY_REJECTED);
    CHECK(names(status, field));
  };
  REQUIRE(planned([](problem&) {}).code == ASSAY_OK);
  rejected("operation", [](problem& p) { p.operation = static_cast<operation_kind>(3); });
  rejected("heads_kv", [](problem& p) { p.heads_kv = 2; });
  rejected("batching", [](problem& p) { p.batching = q_batching::group; });
  rejected("total_q", [](problem& p) { p.total_q = 3; });
  rejected("max_model_len", [](problem& p) { p.max_model_len = 299; });
  rejected("fills_hidden", [](problem& p) { p.fills_hidden = 2; });
  rejected("split_contexts", [](problem& p) { p.split_contexts = static_cast<context_split>(-1); });
  rejected("k_order", [](problem& p) { p.k_order = static_cast<key_order>(2); });
  rejected("preshuffled", [](problem& p) { p.k_order = key_order::preshuffled, p.page_size = 24; });
}

TEST_CASE("mqa_logits does not take attention's features, nor extents beyond its own", "[mqa]") {
  const auto unsupported = [](const char* word, auto change) {
    INFO(word);
    const assay_status status = planned(change);
    CHECK(status.code == ASSAY_UNSUPPORTED);
    CHECK(names(status, word));
  };
  unsupported("operation", [](problem& p) { p.operation = operation_kind::attention; });
  unsupported("bias", [](problem& p) { p.bias_type = dtype::f32; });
  unsupported("window", [](problem& p) { p.window = 1; });
  unsupported("causal", [](problem& p) { p.causal = 1; });
  unsupported("kv_descale", [](problem& p) { p.kv_descale = descale_kind::per_page; });
  unsupported("scale", [](problem& p) { p.scale = 0.5F; });
  unsupported("scale", [](problem& p) { p.k_scale = 2.0F; });
  unsupported("soft_cap", [](problem& p) { p.soft_cap = 1.0F; });
  unsupported("types", [](problem& p) { p.q_type = dtype::f16; });
  unsupported("types", [](problem& p) { p.k_type = dtype::e4m3fnuz; });
  unsupported("head_dim_qk", [](problem& p) { p.head_dim_qk = 80; });
  unsupported("head_dim_qk", [](problem& p) { p.head_dim_qk = 160; });
  unsupported("heads_q", [](problem& p) { p.heads_q = 65; });
  unsupported("max_q", [](problem& p) { p.max_q = 5, p.total_q = 10; });
  unsupported("num_splits", [](problem& p) { p.num_splits = 129; });
  unsupported("max_model_len", [](problem& p) { p.max_model_len = 0x7FFFFFFF; });
}

TEST_CASE("attention kernels do not take MQA logits", "[mqa]") {
  const assay_library& library = *assay_library_v1();
  for (int i = 0; i < library.num_kernels; ++i) {
    if (&library.kernels[i] == &mqa::kernel()) continue;
    problem p;
    p.operation = operation_kind::mqa_logits;
    assay_plan plan{};
    const assay_status status = library.kernels[i].plan(&p, 0, &plan);
    CHECK(status.code == ASSAY_UNSUPPORTED);
    CHECK(names(status, "operation"));
  }
}

TEST_CASE("mqa_logits rejects missing tensors and rows that overlap", "[mqa]") {
  const assay_launch launch = cpu::parameters(64);
  mqa::trial t({.contexts = {100}, .max_model_len = 100, .next_n = 2});
  for (const char* name : {"q", "weights", "k", "k_row_scale", "seqlens_k", "block_table", "logits"}) {
    const assay_status status = t.run(launch, name);
    CHECK(status.code == ASSAY_REJECTED);
    CHECK(names(status, (std::string("tensor ") + name + " is missing").c_str()));
  }
  CHECK(names(t.run(launch, nullptr, 99), "overlap"));
  CHECK(t.run(launch).code == ASSAY_OK);
  t.scalars.num_splits = 0;
  CHECK(names(t.run(launch), "num_splits"));
}

TEST_CASE("mqa_logits keeps to the splits that were asked for, and else fills the device", "[mqa]") {
  const auto splits_of = [](auto change) {
    problem p = legal_problem();
    change(p);
    assay_plan plan{};
    REQUIRE(mqa::kernel().plan(&p, 0, &plan).code == ASSAY_OK);
    CHECK(plan.workspace_bytes == 0);
    return plan.num_splits;
  };
  CHECK(splits_of([](problem& p) { p.num_splits = 128; }) == 128);
  CHECK(splits_of([](problem& p) { p.num_splits = 0; }) == 2);  // two chunks of 256 hold 300 keys
  CHECK(splits_of([](problem& p) { p.num_splits = 0, p.max_k = 0; }) == 1);
  CHECK(splits_of([](problem& p) { p.num_splits = 0, p.max_k = p.max_model_len = 100000; }) == 4);  // 16 blocks, 4 rows
}

TEST_CASE("mqa_logits declares roundings that grow with the atoms of heads", "[mqa]") {
  const assay_launch launch = cpu::parameters(64);
  for (const auto& [heads, roundings] : {std::pair{1, 6}, {16, 6}, {32, 7}, {64, 9}}) {
    problem p = legal_problem();
    p.heads_q = heads;
    contract c;
    REQUIRE(mqa::kernel().declare(&p, &launch, &c).code == ASSAY_OK);
    CHECK(c.sum_roundings == roundings);
    CHECK(c.qk.products == 32);
  }
}
