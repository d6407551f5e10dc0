#include "properties/run/residual_check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "properties/data/difference.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/minimize.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

using oracle::group_kind;

/// 8 rows of 4 heads on 256 keys in pages of 64, f16.
attention_case usual_case() {
  attention_case c;
  c.heads_q = 4;
  c.page_size = 64;
  c.pool_pages = 8;
  c.num_splits = 1;
  c.scale = 0.125F;
  c.data.fill = fill_kind::even_weights;
  c.sequences = {{.q = 8, .k = 256, .prefix_offset = {}, .pages = {6, 1, 4, 3}}};
  return c;
}

/// V of a page becomes 1.7% larger, up to f16's rounding.
void enlarge(inputs& in, std::int64_t page) {
  const tensor& v = find_buffer(in.buffers, "v")->view();
  for (std::int64_t slot = 0; slot < v.shape[1]; ++slot)
    for (std::int64_t d = 0; d < v.shape[3]; ++d) {
      const std::int64_t at = v.offset(page, slot, 0, d);
      const auto bits = static_cast<std::uint16_t>(bits_at(v, at));
      _Float16 x;
      std::memcpy(&x, &bits, sizeof x);
      x = static_cast<_Float16>(1.017F * static_cast<float>(x));
      std::uint16_t larger;
      std::memcpy(&larger, &x, sizeof x);
      set_bits(v, at, larger);
    }
}

/// The verdict on a kernel that reads a page as too large, under a contract as loose as given.
verdict judge_enlarged(const attention_case& c, float exp2_relative_error) {
  const std::shared_ptr<library> lib = library::built_in();
  const inputs in = fill(c);
  inputs wrong = fill(c);
  enlarge(wrong, 1);
  execution ran = execute(*lib, c, wrong);
  ran.declared.exp2_relative_error = exp2_relative_error;
  return judge_case(*lib, c, in, ran);
}

TEST_CASE("what the contract allows fails by its residual, with the page's name", "[residual]") {
  const verdict v = judge_enlarged(usual_case(), 0.2F);
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == residual_origin);
  CHECK(v.what.find("page 1 (keys 64 to 127 of sequence 0, kv head 0) contributes 1.") == 0);
  CHECK(v.what.find("% too much to o: ") != std::string::npos);
  CHECK(v.what.find(" sigma, by 32 rows") != std::string::npos);
  CHECK(v.rows_regressed == 32);
  CHECK(verdict_from_json(verdict_to_json(v)).rows_regressed == 32);
}

TEST_CASE("where the enclosure fails, it is the origin; data that do not suit are not tested", "[residual]") {
  CHECK(judge_enlarged(usual_case(), 0x1p-23F).origin == "enclosure");
  attention_case c = usual_case();
  c.data.fill = fill_kind::saturating;
  CHECK_FALSE(suits_residuals(c));
  CHECK(judge_enlarged(c, 0.2F).origin != residual_origin);
  c = usual_case();
  c.data.specials = special_kind::nans;
  CHECK_FALSE(suits_residuals(c));
  c = usual_case();
  c.kernel = "mqa_logits";
  CHECK_FALSE(suits_residuals(c));
}

TEST_CASE("a shrunk case still fails by its residual", "[residual]") {
  const auto judge = [](const attention_case& c) {
    const bool has_page = c.kernel == "split_kv" && c.kv_type == dtype::f16 && c.pool_pages > 1 && is_valid(c);
    return has_page ? judge_enlarged(c, 0.2F) : passed();
  };
  attention_case given = usual_case();
  given.num_splits = 2;
  given.causal = true;
  const minimized found = minimize(given, judge, {.seconds = 60, .tries = 60});
  CHECK(found.reproduced);
  CHECK(found.steps > 0);
  CHECK(found.result.origin == residual_origin);
}

TEST_CASE("the clean kernel passes by its residuals as well", "[residual]") {
  attention_case c = usual_case();
  CHECK(suits_residuals(c));
  CHECK(run_case(*library::built_in(), c).result == outcome::pass);
  c.num_splits = 3;
  c.causal = true;
  CHECK(run_case(*library::built_in(), c).result == outcome::pass);
}

/// tests/orders/library.cpp, which declares nothing, computing in such a way for the life of this.
struct order_environment {
  explicit order_environment(const char* order) { setenv("ASSAY_ORDER", order, 1); }
  ~order_environment() { unsetenv("ASSAY_ORDER"); }
  order_environment(const order_environment&) = delete;
  order_environment& operator=(const order_environment&) = delete;
};

TEST_CASE("a wrong LSE beside a right O is found with nothing declared, where its enclosure admits it", "[residual]") {
  const std::string path = ASSAY_BINARY_DIR "/lib/orders.so";
  if (!std::filesystem::exists(path)) SKIP("orders.so is not built");
  attention_case c = usual_case();
  c.q_type = c.kv_type = c.o_type = dtype::bf16;
  c.sequences.front().q = 32;
  for (const char* const order : {"ascending", "two_pass", "light_lse"}) {
    INFO(order);
    const order_environment as(order);
    const auto lib = library::load(path);
    const detailed_run run = run_in_detail(*lib, c);
    CHECK(judge_execution(run.given, run.ran).result == outcome::pass);
    CHECK(run.result.lse_regressed > 120);
    CHECK(verdict_from_json(verdict_to_json(run.result)).lse_regressed == run.result.lse_regressed);
    if (order != std::string_view("light_lse")) {
      CHECK(run.result.result == outcome::pass);
      continue;
    }
    CAPTURE(run.result.what);
    CHECK(run.result.result == outcome::fail);
    CHECK(run.result.origin == residual_origin);
    CHECK(run.result.what.find("LSE: the share of keys with (key / 16) mod 4 = 3 (sequence 0) counts 1.") == 0);
    CHECK(run.result.what.find("% too little: ") != std::string::npos);
  }
}

TEST_CASE("findings read as sentences", "[residual]") {
  CHECK(describe({.kind = group_kind::page,
                  .sequence = 0,
                  .begin = 0,
                  .end = 1024,
                  .page = 4096,
                  .excess = 0.0172,
                  .sigmas = 41.2,
                  .rows = 32}) ==
        "page 4096 (keys 0 to 1023 of sequence 0) contributes 1.7% too much to o: 41 sigma, by 32 rows");
  CHECK(describe({.kind = group_kind::key,
                  .sequence = 2,
                  .head_kv = 1,
                  .begin = 7,
                  .end = 8,
                  .excess = -1.003,
                  .sigmas = 12,
                  .rows = 4}) == "key 7 (sequence 2, kv head 1) contributes 100% too little to o: 12 sigma, by 4 rows");
  CHECK(describe({.kind = group_kind::prefix,
                  .sequence = 0,
                  .head_kv = 0,
                  .row = 3,
                  .head = 5,
                  .begin = 0,
                  .end = 128,
                  .excess = 0.5,
                  .sigmas = 11,
                  .rows = 1}) ==
        "what lies before key 128 (row 3 of sequence 0, head 5) contributes 50% too much to o: 11 sigma, by 1 row");
  CHECK(
      describe({.kind = group_kind::share, .unit = 16, .ways = 4, .index = 1, .excess = -1, .sigmas = 99, .rows = 9}) ==
      "the share of keys with (key / 16) mod 4 = 1 (all sequences) contributes 100% too little to o: 99 sigma, by 9 "
      "rows");
  CHECK(describe({.kind = group_kind::key_behind, .excess = 0.98, .sigmas = 20, .rows = 9}) ==
        "the hidden key behind the last visible one (all sequences) contributes 98% of its weight to o: 20 sigma, by 9 "
        "rows");
  CHECK(describe({.kind = group_kind::page,
                  .sequence = 0,
                  .begin = 64,
                  .end = 128,
                  .page = 7,
                  .is_of_lse = true,
                  .excess = 0.0172,
                  .sigmas = 11.2,
                  .rows = 128}) ==
        "LSE: page 7 (keys 64 to 127 of sequence 0) counts 1.7% too much: 11 sigma, by 128 rows");
  CHECK(describe({.kind = group_kind::split, .index = 2, .is_of_lse = true, .excess = -1, .sigmas = 9, .rows = 99}) ==
        "LSE: split 2 (all sequences) counts 100% too little: 9 sigma, by 99 rows");
  CHECK(describe({.kind = group_kind::not_finite, .sequence = 0, .head_kv = 0, .row = 1, .head = 2, .rows = 1}) ==
        "o is not finite in row 1 of sequence 0, head 2, where its exact value is");
}

}  // namespace
}  // namespace assay
