// Per-page descales of other sizes than near 1, and terms far below the largest.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "properties/case/operation.hpp"
#include "properties/data/inputs.hpp"
#include "properties/data/recipe.hpp"
#include "tests/properties/data/decode.hpp"

using namespace assay;

namespace {

attention_case paged_case(descale_size size) {
  attention_case c;
  c.q_type = c.kv_type = dtype::e4m3fn;
  c.kv_descale = descale_kind::per_page;
  c.page_size = 64;
  c.heads_q = c.heads_kv = 2;
  c.pool_pages = 30;
  c.data.descale_ratio = 1.1F;
  c.data.descales = size;
  c.sequences = {{1, 30 * 64, std::nullopt, {}}};
  for (std::int64_t page = 0; page < 30; ++page) c.sequences[0].pages.push_back(page);
  return c;
}

/// Pages and heads of that tensor whose descale satisfies the predicate.
template <typename Predicate>
int count(const inputs& in, const char* name, Predicate&& holds) {
  const tensor& t = test::tensor_of(in, name);
  int n = 0;
  for (std::int64_t page = 0; page < t.shape[0]; ++page)
    for (std::int64_t head = 0; head < t.shape[1]; ++head) n += holds(test::value_at(t, t.offset(page, head))) ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("least: a third of the pages has the least descale that append_kv writes", "[recipe]") {
  const inputs in = fill(paged_case(descale_size::least));
  for (const char* name : {"k_descale", "v_descale"}) {
    CHECK(count(in, name, [](double d) { return d == 0x1p-64; }) == 20);
    CHECK(count(in, name, [](double d) { return d > 0.5 && d < 2; }) == 40);
  }
}

TEST_CASE("tiny: a third of V's pages has a descale without an inverse, and no ratio leaves the range", "[recipe]") {
  const inputs in = fill(paged_case(descale_size::tiny));
  CHECK(count(in, "k_descale", [](double d) { return d > 0.5 && d < 2; }) == 60);
  CHECK(count(in, "v_descale", [](double d) { return d >= 0x1p-149 && d <= 0x1p-128; }) == 19);  // not the last page
  CHECK(count(in, "v_descale", [](double d) { return d > 0x1p-61 && d < 0x1p-59; }) == 41);
}

TEST_CASE("tiny: no row ends with a page whose descale has no inverse, wherever a mask ends it", "[recipe]") {
  attention_case c = paged_case(descale_size::tiny);
  c.kernel = "batch_prefill";
  const auto tiny_pages = [&] {
    const inputs in = fill(c);
    const tensor& t = test::tensor_of(in, "v_descale");
    std::vector<std::int64_t> pages;
    for (std::int64_t page = 0; page < t.shape[0]; ++page)
      for (std::int64_t head = 0; head < t.shape[1]; ++head)
        if (test::value_at(t, t.offset(page, head)) < 0x1p-100) pages.push_back(page);
    return pages;
  };
  const auto is_tiny = [&](std::int64_t page) { return std::ranges::count(tiny_pages(), page) > 0; };
  c.sequences[0].q = 70;  // the first row's last key is on page 28 with a mask, on page 29 without
  for (int tries = 0; tries < 20 && !is_tiny(28); ++tries) ++c.data.seed;
  CHECK(is_tiny(28));
  c.causal = true;
  CHECK(!is_tiny(28));
  CHECK(!tiny_pages().empty());
  c.sequences[0].prefix_offset = -1;  // the first row sees nothing, the others keys up to 69
  CHECK(std::ranges::none_of(tiny_pages(), [](std::int64_t page) { return page < 2 || page == 29; }));
}

TEST_CASE("near_new_rows: a descale is just below or just above what the new rows need", "[recipe]") {
  attention_case c;
  c.kernel = "append_kv";
  c.kv_type = dtype::e4m3fn;
  c.kv_descale = descale_kind::per_page;
  c.data.descales = descale_size::near_new_rows;
  int below = 0, above = 0;
  for (c.data.seed = 1; c.data.seed <= 20; ++c.data.seed) {
    c.pool_pages = 2;
    c.sequences = {{3, 24, std::nullopt, {0, 1}}};  // rows are keys 21 to 23, of page 1
    const inputs in = fill(c);
    for (const auto& [rows, name] : {std::pair{"k_new", "k_descale"}, {"v_new", "v_descale"}}) {
      const tensor& t = test::tensor_of(in, rows);
      double largest = 0;
      for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t dim = 0; dim < t.shape[2]; ++dim)
          largest = std::max(largest, std::fabs(test::value_at(t, t.offset(row, 0, dim))));
      const tensor& d = test::tensor_of(in, name);
      const double near = test::value_at(d, d.offset(1, 0)) / (largest / 448);
      const double away = std::max(near, 1 / near) - 1;
      CHECK((away >= 0.999 * 0x1p-10 && away <= 1.001 * 0x1p-3));
      ++(near < 1 ? below : above);
      CHECK(test::value_at(d, d.offset(0, 0)) == 1);  // no new row goes there
    }
  }
  CHECK(std::min(below, above) >= 8);
}

TEST_CASE("long_tail: all terms but one are 2^-25 to 2^-40 of it", "[recipe]") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8}) {
    attention_case c;
    c.q_type = c.kv_type = type;
    c.scale = 0.125F;
    c.q_scale = c.k_scale = 1 / static_cast<float>(amplitude(type));
    c.heads_q = c.heads_kv = 8;
    c.page_size = 256;
    c.pool_pages = 1;
    c.data.fill = fill_kind::long_tail;
    c.sequences = {{1, 200, std::nullopt, {0}}};
    const inputs in = fill(c);
    const tensor &q = test::tensor_of(in, "q"), &k = test::tensor_of(in, "k"), &v = test::tensor_of(in, "v");
    for (std::int64_t head = 0; head < 8; ++head) {
      int zeros = 0;
      for (std::int64_t key = 0; key < 200; ++key) {
        double dot = 0;
        for (std::int64_t d = 0; d < 64; ++d)
          dot += test::value_at(q, q.offset(0, head, d)) * test::value_at(k, k.offset(0, key, head, d));
        const double octaves = dot * 0.125 * double{c.q_scale} * double{c.k_scale} * 1.4426950408889634;
        if (dot == 0) {
          ++zeros;
          CHECK(test::value_at(v, v.offset(0, key, head, 0)) == 0);
        } else {
          REQUIRE((octaves <= -25 * 0.93 && octaves >= -40 * 1.07));  // FP8 keys are rounded to 1/16
        }
      }
      CHECK(zeros == 1);
    }
  }
}

TEST_CASE("dead descales that are numbers keep codes and their products with P numbers, in f32") {
  attention_case c = paged_case(descale_size::near_1);
  c.pool_pages = 40;  // ten that no sequence uses
  c.data.poison = poison_kind::huge;
  for (const dtype type : {dtype::e4m3fn, dtype::e5m2}) {
    c.q_type = c.kv_type = type;
    const float largest = type == dtype::e5m2 ? 57344.0F : 448.0F;
    const inputs in = fill(c);
    for (const char* name : {"k_descale", "v_descale"}) {
      CHECK(count(in, name, [&](double x) { return std::isfinite(static_cast<float>(x) * largest); }) == 80);
      CHECK(count(in, name, [](double x) { return x > 0x1p90; }) == 20);  // and would show in any output
    }
  }
}
