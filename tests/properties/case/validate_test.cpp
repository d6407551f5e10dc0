#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"

using namespace assay;

namespace {

attention_case good() {
  attention_case c;
  c.pool_pages = 8;
  c.sequences = {{2, 20, std::nullopt, {3, 1}}, {1, 0, std::nullopt, {}}};
  return c;
}

std::string refusal(const std::function<void(attention_case&)>& change) {
  attention_case c = good();
  change(c);
  try {
    validate(c);
  } catch (const case_error& e) {
    return e.what();
  }
  return "accepted";
}

struct wrong_case {
  const char* beginning;  ///< of the refusal
  std::function<void(attention_case&)> change;
};

void check_refused(const std::vector<wrong_case>& all) {
  for (const auto& [beginning, change] : all) {
    const std::string what = refusal(change);
    INFO(beginning << " <> " << what);
    CHECK(what.starts_with(beginning));
    CHECK(what.find('\n') == std::string::npos);
  }
}

void with_descale(attention_case& c, const char* tensor, std::vector<std::int64_t> index, std::uint32_t bits) {
  c.kv_type = dtype::e4m3fn;
  c.kv_descale = descale_kind::per_page;
  c.data.overrides = {{tensor, std::move(index), bits}};
}

constexpr std::int32_t int_max = std::numeric_limits<std::int32_t>::max();

}  // namespace

TEST_CASE("a well formed case is accepted", "[validate]") {
  CHECK_NOTHROW(validate(good()));
  attention_case c = good();
  with_descale(c, "k_descale", {7, 0}, 0x3C2D0E56);
  c.batching = q_batching::batch;
  c.sequences[1].q = 2;
  CHECK_NOTHROW(validate(c));
}

TEST_CASE("rows behind the last sequence's are for attention in group mode", "[validate]") {
  attention_case c = good();
  c.padding_rows = 5;
  CHECK_NOTHROW(validate(c));
  CHECK(to_problem(c).total_q == 8);
  CHECK(to_problem(c).max_q == 2);
  check_refused({
      {"padding_rows: -1 is not in", [](attention_case& c) { c.padding_rows = -1; }},
      {"padding_rows: 65537 is not in", [](attention_case& c) { c.padding_rows = 65537; }},
      {"padding_rows: 2147483649 is not in",
       [](attention_case& c) {
         c.padding_rows = 2;
         c.sequences[0].q = int_max - 1;
       }},
      {"padding_rows: in batch mode",
       [](attention_case& c) {
         c.padding_rows = 1;
         c.batching = q_batching::batch;
         c.sequences[1].q = 2;
       }},
      {"padding_rows: only attention",
       [](attention_case& c) {
         c.kernel = "append_kv";
         c.padding_rows = 1;
       }},
  });
}

TEST_CASE("a case of wrong types or sizes is refused by the field that is wrong", "[validate]") {
  check_refused({
      {"kernel: ", [](attention_case& c) { c.kernel = "../x"; }},
      {"q_type: ", [](attention_case& c) { c.q_type = dtype::i32; }},
      {"kv_type: ", [](attention_case& c) { c.kv_type = dtype::bf16; }},
      {"kv_type: ", [](attention_case& c) { c.q_type = dtype::i8; }},
      {"o_type: ", [](attention_case& c) { c.o_type = dtype::i8; }},
      {"bias_type: ", [](attention_case& c) { c.bias_type = dtype::i8; }},
      {"heads_q: ", [](attention_case& c) { c.heads_q = 0; }},
      {"heads_kv: ", [](attention_case& c) { c.heads_kv = 2; }},
      {"head_dim_qk: ", [](attention_case& c) { c.head_dim_qk = 60; }},
      {"head_dim_v: ", [](attention_case& c) { c.head_dim_v = -64; }},
      {"page_size: ", [](attention_case& c) { c.page_size = 0; }},
      {"pool_pages: ", [](attention_case& c) { c.pool_pages = -1; }},
      {"pool_pages: ", [](attention_case& c) { c.pool_pages = std::int64_t{1} << 40; }},
      {"row_margin: ", [](attention_case& c) { c.row_margin = -1; }},
      {"input_margin: ", [](attention_case& c) { c.input_margin = -1; }},
  });
}

TEST_CASE("a case whose tensors are too large is refused by the tensor", "[validate]") {
  check_refused({
      {"k: the pool of shape [2147483647, 128, 1, 64] exceeds 16 TiB",
       [](attention_case& c) {
         c.pool_pages = int_max;
         c.page_size = 128;
         c.sequences[0].pages = {3};
       }},
      {"k: the 2 pages in use of the pool of shape [8, 65536, 8, 1024] exceed 1 GiB",
       [](attention_case& c) {
         c.page_size = 65536;
         c.heads_q = c.heads_kv = 8;
         c.head_dim_qk = 1024;
         c.sequences[0].pages = {3};
         c.sequences[1] = {1, 1, std::nullopt, {4}};
       }},
      {"k: a pool larger than 64 MiB has 2049 pages in use, more than 2048",
       [](attention_case& c) {
         c.pool_pages = 1 << 20;
         c.page_size = 1;
         c.sequences = {{1, 2049, std::nullopt, {}}};
         for (std::int64_t page = 0; page < 2049; ++page) c.sequences[0].pages.push_back(page);
       }},
      {"o: the tensor of shape [10002, 1, 64] with 65536 elements between its rows exceeds 1 GiB",
       [](attention_case& c) { c.row_margin = 65536, c.sequences[1].q = 10000; }},
      {"q: the tensor of shape [10002, 1, 64] with 65536 elements between its rows exceeds 1 GiB",
       [](attention_case& c) { c.input_margin = 65536, c.sequences[1].q = 10000; }},
      {"q: the tensor", [](attention_case& c) { c.sequences[1].q = int_max - 2; }},
      {"o_partial: the tensor", [](attention_case& c) { c.num_splits = 1024, c.sequences[1].q = 10000; }},
  });
}

TEST_CASE("a case of wrong numbers is refused by the field that is wrong", "[validate]") {
  check_refused({
      {"window: ", [](attention_case& c) { c.window = -1; }},
      {"scale: ", [](attention_case& c) { c.scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"v_scale: ", [](attention_case& c) { c.v_scale = std::numeric_limits<float>::infinity(); }},
      {"soft_cap: ", [](attention_case& c) { c.soft_cap = -1; }},
      {"num_splits: ", [](attention_case& c) { c.num_splits = -1; }},
      {"kv_descale: ", [](attention_case& c) { c.kv_descale = descale_kind::per_page; }},
      {"data.descale_ratio: ", [](attention_case& c) { c.data.descale_ratio = 0; }},
      {"data.descale_ratio: ", [](attention_case& c) { c.data.descale_ratio = -2; }},
      {"data.descale_ratio: ",
       [](attention_case& c) { c.data.descale_ratio = std::numeric_limits<float>::infinity(); }},
      {"data.descale_ratio: ",
       [](attention_case& c) { c.data.descale_ratio = std::numeric_limits<float>::quiet_NaN(); }},
      {"workspace_budget_bytes: ", [](attention_case& c) { c.workspace_budget_bytes = -1; }},
      {"schedule.wave_size: ", [](attention_case& c) { c.schedule.wave_size = 48; }},
  });
}

TEST_CASE("a case of wrong sequences is refused by the field that is wrong", "[validate]") {
  check_refused({
      {"sequences[1].q: 1 rows, but in batch mode", [](attention_case& c) { c.batching = q_batching::batch; }},
      {"sequences[0].q: ", [](attention_case& c) { c.sequences[0].q = -1; }},
      {"sequences[1].q: 4294967294", [](attention_case& c) { c.sequences[0].q = c.sequences[1].q = int_max; }},
      {"sequences[0].k: ", [](attention_case& c) { c.sequences[0].k = -1; }},
      {"sequences[0].pages: 2 pages are given", [](attention_case& c) { c.sequences[0].k = int_max; }},
      {"sequences[0].pages[1]: page id -1", [](attention_case& c) { c.sequences[0].pages[1] = -1; }},
      {"sequences[0].pages[1]: page id 8 is", [](attention_case& c) { c.sequences[0].pages[1] = 8; }},
      {"sequences[1].prefix_offset: ", [](attention_case& c) { c.sequences[0].prefix_offset = 1; }},
  });
}

TEST_CASE("a case of wrong overrides is refused by the field that is wrong", "[validate]") {
  check_refused({
      {"data.overrides[0].index[0]: no sequence uses page 2 of the sparse pool",
       [](attention_case& c) {
         c.pool_pages = 1 << 20;
         c.data.overrides = {{"k", {2, 0, 0, 0}, 0}};
       }},
      {"data.overrides[0].bits: all bits are set",
       [](attention_case& c) { c.data.overrides = {{"q", {0, 0, 0}, 0xFFFF}}; }},
      {"data.overrides[0].tensor: ", [](attention_case& c) { c.data.overrides = {{"k_descale", {3, 0}, 0x3F800000}}; }},
      {"data.overrides[0].index[1]: ", [](attention_case& c) { with_descale(c, "v_descale", {3, 1}, 0x3F800000); }},
      {"data.overrides[0].bits: a descale", [](attention_case& c) { with_descale(c, "v_descale", {3, 0}, 0); }},
      {"data.overrides[0].bits: a descale",
       [](attention_case& c) { with_descale(c, "k_descale", {3, 0}, 0xBF800000); }},
      {"data.overrides[0].bits: a descale",
       [](attention_case& c) { with_descale(c, "k_descale", {3, 0}, 0x7F800000); }},
      {"data.overrides[0].bits: a descale",
       [](attention_case& c) { with_descale(c, "k_descale", {3, 0}, 0x7FC00000); }},
      {"data.overrides[0].tensor: ", [](attention_case& c) { c.data.overrides = {{"block_table", {0, 0}, 1}}; }},
      {"data.overrides[0].tensor: ", [](attention_case& c) { c.data.overrides = {{"bias", {0, 0, 0}, 1}}; }},
      {"data.overrides[0].index: ", [](attention_case& c) { c.data.overrides = {{"q", {0, 0}, 1}}; }},
      {"data.overrides[0].index[0]: ", [](attention_case& c) { c.data.overrides = {{"q", {3, 0, 0}, 1}}; }},
      {"data.overrides[0].bits: ", [](attention_case& c) { c.data.overrides = {{"q", {0, 0, 0}, 0x10000}}; }},
      {"data.overrides[0].bits: ",
       [](attention_case& c) { c.sinks = true, c.data.overrides = {{"sinks", {0}, 0x7F800000}}; }},
  });
}

TEST_CASE("sizes are multiplied without overflow", "[validate]") {
  const auto bytes = [](dtype type, std::vector<std::int64_t> shape, std::vector<int> order = {},
                        std::int64_t gap = 0) {
    return checked_bytes({.name = "x", .type = type, .shape = std::move(shape), .order = std::move(order), .gap = gap});
  };
  CHECK(bytes(dtype::f16, {3, 4}) == 24);
  CHECK(bytes(dtype::f32, {std::int64_t{1} << 62, 2}) == std::nullopt);
  CHECK(bytes(dtype::f32, {std::int64_t{1} << 40, 0}) == 0);
  CHECK(bytes(dtype::f32, {0, std::int64_t{1} << 62, 8}) == 0);
  // 3 rows of 4 elements with gaps of 2; 4 of 3 the other way round.
  CHECK(bytes(dtype::f16, {3, 4}, {}, 2) == 36);
  CHECK(bytes(dtype::f16, {3, 4}, {1, 0}, 2) == 40);
  CHECK(bytes(dtype::f32, {2, 1}, {}, std::int64_t{1} << 62) == std::nullopt);
}

TEST_CASE("live_keys is the union of what the rows see", "[validate]") {
  attention_case c = good();
  for (const bool causal : {false, true})
    for (const int window : {0, 1, 3, 100})
      for (int q = 0; q <= 4; ++q)
        for (int k = 0; k <= 6; ++k)
          for (int prefix = -9; prefix <= 9; ++prefix) {
            c.causal = causal;
            c.window = window;
            const sequence s{q, k, prefix == -9 ? std::nullopt : std::optional(prefix), {}};
            const key_range range = describe(c).live_keys(c, s);
            for (int j = 0; j < k + 2; ++j) {
              bool seen = false;
              for (int i = 0; i < q; ++i) {
                const int p = (s.prefix_offset ? *s.prefix_offset : k - q) + i;
                seen = seen || (j < k && (!causal || j <= p) && (window == 0 || p - window < j));
              }
              REQUIRE(seen == (j >= range.first && j < range.end));
            }
          }
}
