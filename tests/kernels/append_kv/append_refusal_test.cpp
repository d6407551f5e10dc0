/// What append_kv refuses: nothing is written then.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "kernels/append_kv/append_kv_arguments.hpp"
#include "tests/kernels/append_kv/append_setting.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay;

namespace {

append::setting legal_setting() {
  return {.slots = {5, -1, 17},
          .cache = dtype::e4m3fn,
          .descales = descale_kind::per_page,
          .rotary = rotary_kind::half,
          .descale = 0.01F};
}

template <class Change>
assay_status planned(Change change) {
  problem p = append::trial(legal_setting()).scalars;
  change(p);
  assay_plan plan{};
  return append::kernel().plan(&p, 0, &plan);
}

bool names(const assay_status& status, const std::string& word) {
  return std::string(status.message).find(word) != std::string::npos;
}

void require_refusal(append::trial& t, const std::string& word,
                     const std::function<void(std::vector<assay_tensor>&)>& change = {}) {
  const assay_status status = t.run(cpu::parameters(64), change);
  INFO(word << ": " << status.message);
  CHECK(status.code == ASSAY_REJECTED);
  CHECK(names(status, word));
  CHECK(t.is_unchanged());
}

assay_tensor& find(std::vector<assay_tensor>& given, const std::string& name) {
  for (assay_tensor& t : given)
    if (name == t.name) return t;
  throw std::runtime_error(name);
}

}  // namespace

TEST_CASE("append_kv rejects what is no problem of its operation", "[append]") {
  const auto rejected = [](const char* field, auto change) {
    INFO(field);
    const assay_status status = planned(change);
    CHECK(status.code == ASSAY_REJECTED);
    CHECK(names(status, field));
  };
  REQUIRE(planned([](problem&) {}).code == ASSAY_OK);
  rejected("operation", [](problem& p) { p.operation = static_cast<operation_kind>(3); });
  rejected("rotary", [](problem& p) { p.rotary = static_cast<rotary_kind>(3); });
  rejected("heads_q", [](problem& p) { p.heads_q = 2 * p.heads_kv; });
  rejected("head_dim_qk", [](problem& p) { p.head_dim_qk = 7; });
  rejected("k_scale", [](problem& p) { p.k_scale = 0.5F; });
  rejected("v_scale", [](problem& p) { p.v_scale = 2.0F; });
  rejected("k_scale", [](problem& p) { p.kv_descale = descale_kind::per_tensor, p.k_scale = 0.0F; });
  rejected("v_scale", [](problem& p) { p.kv_descale = descale_kind::per_tensor, p.v_scale = std::nanf(""); });
  rejected("k_scale", [](problem& p) {
    p.kv_descale = descale_kind::per_tensor, p.k_type = p.v_type = p.q_type, p.k_scale = 0.5F;
  });
  rejected("total_q", [](problem& p) { p.total_q = -1; });
  rejected("page_size", [](problem& p) { p.page_size = 0; });
}

TEST_CASE("append_kv does not take other operations' features, nor types and extents beyond its own", "[append]") {
  const auto unsupported = [](const char* word, auto change) {
    INFO(word);
    const assay_status status = planned(change);
    CHECK(status.code == ASSAY_UNSUPPORTED);
    CHECK(names(status, word));
  };
  unsupported("operation is attention", [](problem& p) { p.operation = operation_kind::attention, p.total_q = 0; });
  unsupported("operation is mqa_logits", [](problem& p) { p.operation = operation_kind::mqa_logits, p.total_q = 0; });
  unsupported("bias", [](problem& p) { p.bias_type = dtype::f32; });
  unsupported("window", [](problem& p) { p.window = 1; });
  unsupported("causal", [](problem& p) { p.causal = 1; });
  unsupported("scale", [](problem& p) { p.scale = 0.5F; });
  unsupported("soft_cap", [](problem& p) { p.soft_cap = 1.0F; });
  unsupported("k_order", [](problem& p) { p.k_order = key_order::preshuffled; });
  unsupported("num_splits", [](problem& p) { p.num_splits = 2; });
  unsupported("types", [](problem& p) { p.q_type = dtype::f32; });
  unsupported("types", [](problem& p) { p.v_type = dtype::e4m3fnuz; });
  unsupported("types", [](problem& p) { p.k_type = p.v_type = dtype::bf16; });
  unsupported("per_page", [](problem& p) { p.k_type = p.v_type = dtype::f16; });
  unsupported("head_dim_qk", [](problem& p) { p.head_dim_qk = 20; });
  unsupported("head_dim_v", [](problem& p) { p.head_dim_v = 20; });
  unsupported("heads_kv", [](problem& p) { p.heads_q = p.heads_kv = 70000; });
  unsupported("exceeds", [](problem& p) { p.head_dim_v = 1 << 28; });
}

TEST_CASE("append_kv rejects missing tensors, wrong roles and pools whose rows overlap", "[append]") {
  append::trial t(legal_setting());
  for (const append::owned_tensor& tensor : t.tensors)
    require_refusal(t, "tensor " + tensor.name + " is missing",
                    [&](std::vector<assay_tensor>& given) { find(given, tensor.name).name = "nothing"; });
  for (const char* const name : {"k", "v", "k_descale", "v_descale"}) {
    for (const std::int32_t role : {ASSAY_INPUT, ASSAY_OUTPUT})
      require_refusal(t, std::string("tensor ") + name + " has role",
                      [&](std::vector<assay_tensor>& given) { find(given, name).role = role; });
    std::int64_t strides[4] = {};
    require_refusal(t, std::string("tensor ") + name + " is written, but its elements overlap",
                    [&](std::vector<assay_tensor>& given) {
                      assay_tensor& broken = find(given, name);
                      std::copy_n(broken.view.strides, broken.view.ndim, strides);
                      strides[0] = broken.view.ndim == 4 ? 8 : 2;
                      broken.view.strides = strides;
                    });
  }
  require_refusal(t, "tensor k is not aligned",
                  [](std::vector<assay_tensor>& given) { find(given, "k").view.byte_offset = 4; });
  std::int64_t extents[2] = {49, 32};
  require_refusal(t, "tensor rope_sin has 49 rows",
                  [&](std::vector<assay_tensor>& given) { find(given, "rope_sin").view.shape = extents; });
  CHECK(t.run(cpu::parameters(64)).code == ASSAY_OK);
}

TEST_CASE("append_kv names the rows and the slot of a clash", "[append]") {
  append::setting s = legal_setting();
  s.slots = {5, -1, 17, -1, 5, 17};
  append::trial taken(s);
  require_refusal(taken, "slot 5 (page 0, slot 5 of it) in rows 0 and 4");
  s.slots.assign(600, -1);
  s.slots[3] = s.slots[599] = s.slots[598] = 63;
  append::trial far(s);
  require_refusal(far, "slot 63 (page 3, slot 15 of it) in rows 3 and 598");
  // The low 32 bits alone are those of another slot.
  s.slots = {5, 5 + (std::int64_t{1} << 32)};
  append::trial wide(s);
  require_refusal(wide, "slot 4294967301 in row 1, but the pool has 64");
}

TEST_CASE("append_kv rejects slots behind the pool and positions outside of the rope tables", "[append]") {
  append::setting s = legal_setting();
  s.slots = {63, 64};
  append::trial behind(s);
  require_refusal(behind, "slot 64 in row 1, but the pool has 64");
  for (const std::int32_t position : {-1, 50, INT32_MAX, INT32_MIN}) {
    append::trial outside(legal_setting());
    outside.tensor("positions").set(1, 0x7FFFFFFF);  // its row is skipped
    CHECK(outside.run(cpu::parameters(64)).code == ASSAY_OK);
    append::trial broken(legal_setting());
    broken.tensor("positions").set(2, static_cast<std::uint32_t>(position));
    const assay_status status = broken.run(cpu::parameters(64));
    INFO(status.message);
    CHECK(status.code == ASSAY_REJECTED);
    CHECK(names(status, "position " + std::to_string(position) + " in row 2, but the rope tables have 50 rows"));
  }
}

TEST_CASE("append_kv plans one split and declares its roundings", "[append]") {
  problem p = append::trial(legal_setting()).scalars;
  assay_plan plan{};
  p.num_splits = 0;
  REQUIRE(append::kernel().plan(&p, 0, &plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 1);
  CHECK(plan.workspace_bytes == 0);
  const assay_launch launch = cpu::parameters(64);
  contract c;
  CHECK(append::kernel().declare(&p, &launch, &c).code == ASSAY_REJECTED);
  p.num_splits = 1;
  REQUIRE(append::kernel().declare(&p, &launch, &c).code == ASSAY_OK);
  CHECK(c.scale_roundings == 1);
  CHECK(c.quantise_roundings == 1);
  CHECK(c.rescale_roundings == 2);
}
