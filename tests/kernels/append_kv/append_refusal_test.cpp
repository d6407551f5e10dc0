/// What append_kv refuses: nothing is written then.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "kernels/append_kv/append_kv_check.hpp"
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

/// "1 and 2": the lowest row whose slot a row before it has, behind the first of those.
std::string first_clash(const std::vector<std::int64_t>& slots) {
  for (auto at = slots.begin(); at != slots.end(); ++at)
    if (const auto before = std::find(slots.begin(), at, *at); *at >= 0 && before != at)
      return std::to_string(before - slots.begin()) + " and " + std::to_string(at - slots.begin());
  return {};
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

TEST_CASE("append_kv takes as many rows as a grid, which counts threads in 32 bits", "[append]") {
  const auto refuses = [](descale_kind descales, std::int32_t rows) {
    const assay_status status = planned([&](problem& p) {
      p.kv_descale = descales, p.total_q = rows;
      p.heads_q = p.heads_kv = 32, p.head_dim_qk = p.head_dim_v = 64;  // 256 vectors a row: a block's threads
    });
    CHECK(status.code == (names(status, "a grid's") ? ASSAY_UNSUPPORTED : ASSAY_OK));
    return status.code != ASSAY_OK;
  };
  constexpr std::int32_t threads = 128, blocks = (std::int64_t{1} << 32) / threads - 1;  // a row a block
  CHECK(!refuses(descale_kind::per_page, blocks));
  CHECK(refuses(descale_kind::per_page, blocks + 1));
  constexpr std::int32_t wide_blocks = (std::int64_t{1} << 32) / 256 - 1;  // of three rows, the last one of fewer
  CHECK(!refuses(descale_kind::per_tensor, 3 * wide_blocks - 1));
  CHECK(refuses(descale_kind::per_tensor, 3 * wide_blocks));
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

TEST_CASE("append_kv plans a workspace that holds two entries a row, within the budget", "[append]") {
  problem p = append::trial(legal_setting()).scalars;
  const auto bytes_of = [&p](std::int32_t rows) {
    assay_plan plan{};
    p.total_q = rows;
    CHECK(append::kernel().plan(&p, 0, &plan).code == ASSAY_OK);
    return plan.workspace_bytes;
  };
  CHECK(bytes_of(0) == 0);
  CHECK(bytes_of(1) == 32 + 4 * 16);
  CHECK(bytes_of(8) == 32 + 4 * 16);
  CHECK(bytes_of(9) == 32 + 4 * 32);
  CHECK(bytes_of(1 << 16) == 32 + (4 << 17));
  CHECK(bytes_of((1 << 16) + 1) == 32 + (4 << 18));
  p.kv_descale = descale_kind::per_tensor, p.heads_q = p.heads_kv = 1, p.head_dim_qk = p.head_dim_v = 8;  // 768 a block
  const std::int64_t most = bytes_of(INT32_MAX);
  CHECK(most == 32 + (std::int64_t{1} << 34));
  assay_plan plan{};
  CHECK(append::kernel().plan(&p, most, &plan).code == ASSAY_OK);
  const assay_status status = append::kernel().plan(&p, most - 1, &plan);
  CHECK(status.code == ASSAY_UNSUPPORTED);
  CHECK(names(status, "workspace of 17179869216 bytes for 2147483647 rows is over the budget of 17179869215 bytes"));
}

TEST_CASE("append_kv rejects a workspace that is null, short or not aligned", "[append]") {
  append::trial t(legal_setting());
  t.change_launch = [](assay_launch& l) { l.workspace = nullptr; };
  require_refusal(t, "workspace is null, but the plan asks for 96 bytes");
  t.change_launch = [](assay_launch& l) { --l.workspace_bytes; };
  require_refusal(t, "workspace has 95 bytes, but the plan asks for 96");
  t.change_launch = [](assay_launch& l) { l.workspace = static_cast<char*>(l.workspace) + 8; };
  require_refusal(t, "workspace is not aligned to 16 bytes");
  t.change_launch = {};
  CHECK(t.run(cpu::parameters(64)).code == ASSAY_OK);
  append::trial none({.slots = {}});
  none.change_launch = [](assay_launch& l) { CHECK(l.workspace == nullptr); };
  CHECK(none.run(cpu::parameters(64)).code == ASSAY_OK);
}

TEST_CASE("append_kv names the lowest wrong row in every order of threads", "[append]") {
  std::mt19937_64 random(1);
  for (const std::size_t rows : {2U, 8U, 127U, 128U, 129U, 256U, 300U}) {  // a block alone takes 128
    append::setting s = legal_setting();
    s.heads = 1, s.dim_k = s.dim_v = 8, s.num_pages = 60;
    s.slots.resize(rows);
    for (std::int64_t& slot : s.slots) slot = static_cast<std::int64_t>(random() % (3 * rows)) - 1;
    if (rows == 2) s.slots = {9, 9};
    if (rows == 8) s.slots = {-1, 30, 31, 9, 9, 9, 31, 30};
    const std::string expected = "in rows " + first_clash(s.slots);
    for (assay_launch launch : cpu::all_launches()) {
      launch.workers = rows > 128 ? 3 : 1;
      append::trial t(s);
      const assay_status status = t.run(launch);
      INFO(rows << " rows, " << cpu::name(launch) << ": " << status.message);
      CHECK(status.code == ASSAY_REJECTED);
      CHECK(std::string(status.message).ends_with(expected));
      CHECK(t.is_unchanged());
    }
  }
}

TEST_CASE("append_kv finds a slot among many whose search begins at one entry", "[append]") {
  for (const std::int32_t rows : {40, 128, 200}) {
    append::setting s{
        .slots = {}, .cache = dtype::e4m3fn, .heads = 1, .dim_k = 8, .dim_v = 8, .page_size = 1024, .num_pages = 128};
    const int bits = append_table_bits(rows);
    const std::uint32_t first = append_first_entry(5, bits);
    for (std::int64_t slot = 5; std::ssize(s.slots) < rows; ++slot)
      if (append_first_entry(slot, bits) == first) s.slots.push_back(slot);
    REQUIRE(s.slots.back() < s.num_pages * s.page_size);
    append::trial good(s);
    CHECK(good.run(cpu::parameters(64)).code == ASSAY_OK);
    s.slots.back() = s.slots[static_cast<std::size_t>(rows / 2)];
    append::trial taken(s);
    require_refusal(taken, "in rows " + std::to_string(rows / 2) + " and " + std::to_string(rows - 1));
  }
}

TEST_CASE("append_kv has no outcome where no run() was", "[append]") {
  append::trial t(legal_setting());
  REQUIRE(t.run(cpu::parameters(64)).code == ASSAY_OK);
  std::vector<assay_tensor> given;
  given.reserve(t.tensors.size());
  for (append::owned_tensor& tensor : t.tensors) given.push_back(tensor.given());
  alignas(16) std::uint32_t workspace[24];
  assay_launch launch = cpu::parameters(64);
  launch.workspace = workspace, launch.workspace_bytes = sizeof workspace;
  for (const std::uint32_t row : {0x5A5A5A5AU, 1U, 2U}) {
    workspace[0] = row;
    const auto count = static_cast<std::int32_t>(given.size());
    const assay_status status = append::kernel().outcome(&t.scalars, given.data(), count, &launch);
    CHECK(status.code == ASSAY_FAILED);
    CHECK(names(status, "the workspace is not that of a run()"));
  }
}

TEST_CASE("append_kv plans one split and declares its roundings", "[append]") {
  problem p = append::trial(legal_setting()).scalars;
  assay_plan plan{};
  p.num_splits = 0;
  REQUIRE(append::kernel().plan(&p, 0, &plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 1);
  const assay_launch launch = cpu::parameters(64);
  contract c;
  CHECK(append::kernel().declare(&p, &launch, &c).code == ASSAY_REJECTED);
  p.num_splits = 1;
  REQUIRE(append::kernel().declare(&p, &launch, &c).code == ASSAY_OK);
  CHECK(c.scale_roundings == 1);
  CHECK(c.quantise_roundings == 1);
  CHECK(c.rescale_roundings == 2);
}
