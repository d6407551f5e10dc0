/// The corner cases of append_kv, one element at a time; see oracle/semantics_append_kv.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "tests/oracle/append_scalar_kernel.hpp"

namespace assay::oracle {
namespace {

using testing::append_options;
using testing::memory;
using testing::setting;

/// Two pages of two slots, one head; nothing but what a test says.
struct tiny {
  append_options o;
  setting s;

  explicit tiny(bool per_page, dtype type = dtype::e4m3fn, dtype rows = dtype::f32) {
    o.q_type = rows;
    o.k_type = o.v_type = type;
    o.per_page = per_page;
    o.heads = 1;
    o.dim_qk = o.dim_v = 2;
    o.page_size = 2;
    o.pages = 1;
    o.has_skipped = false;
    s = testing::make_append_setting(o);
    s.stated.total_q = 1;
    for (memory& m : s.buffers)
      if (m.name == "k_new" || m.name == "v_new" || m.name == "slots") m.view.shape[0] = 1;
    place(1);
    for (const char* name : {"k", "v"}) {
      for (std::int64_t i = 0; i < 8; ++i) s[name].set_bits(i, 0x38);  // 1
      set_new(name[0], 1, 1);
      if (per_page) s[std::string(name) + "_descale"].set(0, 1.0);
    }
  }
  void place(std::int64_t slot) const { testing::set_slot(s["slots"], 0, slot); }
  void set_new(char which, double a, double b) const {
    const memory& m = s[std::string(1, which) + "_new"];
    m.set(0, a);
    m.set(1, b);
  }
  enclosed_tensor k(const contract& c = {}) const { return enclose(s.stated, s.tensors(), c).tensors[0]; }
  enclosed_tensor k_descale(const contract& c = {}) const { return enclose(s.stated, s.tensors(), c).tensors[2]; }
};

contract scaled_by(std::int32_t roundings) {
  contract c;
  c.scale_roundings = roundings;
  return c;
}

interval rounded(const enclosed_tensor& t, std::size_t i) {
  return {round_to_nearest(t.type, t.elements[i].lo), round_to_nearest(t.type, t.elements[i].hi)};
}
bool is_just(const interval& e, double value) {
  return e.lo == value && e.hi == value;
}

}  // namespace

TEST_CASE("codes beyond the largest saturate, and nothing else is admitted there", "[oracle][append]") {
  for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8}) {
    const tiny t(false, type);
    t.set_new('k', 1e30, -0x1p127);
    const enclosed_tensor k = t.k();
    CHECK(is_just(rounded(k, 2), testing::largest_of(type)));
    CHECK(is_just(rounded(k, 3), type == dtype::i8 ? -128 : -testing::largest_of(type)));
    std::vector<memory> outputs = testing::append_scalar_kernel(t.s, {}).run();
    CHECK(judge({{k}}, testing::views_of(outputs))[0].outside == 0);
    for (const std::uint32_t bits : {0x80U, 0x7FU, 0xFFU}) {
      outputs[0].set_bits(2, bits);
      const bool is_largest = type != dtype::e4m3fn && bits == 0x7FU;
      CHECK(judge({{k}}, testing::views_of(outputs))[0].outside == (is_largest ? 0 : 1));
    }
  }
}

TEST_CASE("a descale is one f32 where it is rounded once, and its neighbours are outside", "[oracle][append]") {
  const tiny t(true);
  t.set_new('k', 1000, 3);
  const contract once = scaled_by(1), twice = scaled_by(2);
  const float expected = 1000.0F / 448.0F;
  CHECK(is_just(rounded(t.k_descale(once), 0), static_cast<double>(expected)));
  const interval two = rounded(t.k_descale(twice), 0);
  CHECK(two.lo <= static_cast<double>(std::nextafter(expected, 0.0F)));
  CHECK(two.lo >= static_cast<double>(expected) - 2 * 0x1p-22);
  CHECK(two.hi <= static_cast<double>(expected) + 2 * 0x1p-22);
  for (const contract& c : {once, twice}) {
    std::vector<memory> outputs = testing::append_scalar_kernel(t.s, {}).run();
    const interval e = rounded(t.k_descale(c), 0);
    const auto outside = [&](float value) {
      outputs[2].set(0, static_cast<double>(value));
      return judge({{t.k_descale(c)}}, testing::views_of(outputs))[0].outside;
    };
    CHECK(outside(static_cast<float>(e.lo)) == 0);
    CHECK(outside(static_cast<float>(e.hi)) == 0);
    CHECK(outside(std::nextafter(static_cast<float>(e.hi), 9.0F)) == 1);
    CHECK(outside(std::nextafter(static_cast<float>(e.lo), 0.0F)) == 1);
  }
}

TEST_CASE("old codes stay, are rescaled or are dead as the descale says", "[oracle][append]") {
  const tiny t(true);
  t.set_new('k', 448, 3);  // A / F == D
  CHECK(t.k().keeps(0));
  CHECK(is_just(t.k_descale().elements[0], 1));
  t.set_new('k', 0, -0.0);  // amax 0
  CHECK(t.k().keeps(0));
  CHECK(is_just(rounded(t.k(), 2), 0));
  t.set_new('k', 448 * (1 + 0x1p-23), 3);
  CHECK(!t.k(scaled_by(1)).keeps(0));
  CHECK(is_just(rounded(t.k(), 0), 1));
  t.set_new('k', 896, 3);
  t.s["k"].set_bits(1, 0xFF);
  const enclosed_tensor grown = t.k(scaled_by(1));
  CHECK(is_just(grown.elements[0], 0.5));  // all factors but the code are powers of two
  CHECK(grown.keeps(1));
  CHECK(grown.held[1] == 0xFF);
  t.place(0);  // fresh: the other slot is dead
  t.s["k_descale"].set_bits(0, 0x7FC00000);
  CHECK(t.k().keeps(2));
  CHECK(t.k().keeps(3));
  CHECK(is_just(rounded(t.k_descale(scaled_by(1)), 0), 2));
  t.set_new('k', 0, 0);
  CHECK(is_just(t.k_descale().elements[0], 0x1p-64));
}

TEST_CASE("what is no descale, and rows that are not finite, leave nothing to say where they count",
          "[oracle][append]") {
  for (const double odd : {0.0, -1.0, infinity, std::nan("")}) {
    const tiny t(true);
    t.s["k_descale"].set(0, odd);
    for (std::size_t i = 0; i < 4; ++i) CHECK(is_everything(t.k().elements[i]));
    CHECK(is_everything(t.k_descale().elements[0]));
    CHECK(!is_everything(enclose(t.s.stated, t.s.tensors(), contract{}).tensors[1].elements[2]));
    t.place(0);
    CHECK(t.k().keeps(3));
    CHECK(!is_everything(t.k_descale().elements[0]));
  }
  for (const bool per_page : {false, true}) {
    const tiny t(per_page);
    t.set_new('k', std::nan(""), 1);
    CHECK(is_everything(t.k().elements[2]));
    CHECK(is_everything(t.k().elements[3]) == per_page);
    CHECK(t.k().keeps(0) == !per_page);
  }
}

TEST_CASE("scales whose reciprocals are no normal f32 leave codes undecided, and descales not", "[oracle][append]") {
  for (const float scale : {0.0F, 0x1p-127F, 0x1p127F, -0x1p-130F, std::numeric_limits<float>::quiet_NaN()}) {
    tiny t(false);
    t.s.stated.k_scale = scale;
    CHECK(is_everything(t.k().elements[2]));
    CHECK(t.k().keeps(0));
  }
  const tiny t(true);
  t.s["k_descale"].set(0, 0x1p-130);
  t.set_new('k', 0x1p-120, 0);
  CHECK(is_everything(t.k().elements[0]));
  CHECK(!is_everything(t.k_descale().elements[0]));
}

TEST_CASE("rows stored in their own type keep every bit, signs of zero and NaN included", "[oracle][append]") {
  const tiny t(false, dtype::f16, dtype::f16);
  t.s["k_new"].set_bits(0, 0x8000);
  t.s["k_new"].set_bits(1, 0x7E01);
  const std::vector<memory> outputs = testing::append_scalar_kernel(t.s, {}).run();
  CHECK(judge({{t.k()}}, testing::views_of(outputs))[0].outside == 0);
  outputs[0].set_bits(2, 0);
  judgement j = judge({{t.k()}}, testing::views_of(outputs))[0];
  CHECK(j.outside == 1);
  CHECK(j.overwritten == 0);
  CHECK(!j.worst_had_to_stay);
  CHECK(j.worst_index == std::vector<std::int64_t>{0, 1, 0, 0});
  outputs[0].set_bits(2, 0x8000);
  outputs[0].set_bits(3, 0x7E00);
  CHECK(judge({{t.k()}}, testing::views_of(outputs))[0].outside == 1);
}

TEST_CASE("without a row that is stored nothing is covered", "[oracle][append]") {
  const tiny t(true);
  t.place(-5);
  const enclosure bounds = enclose(t.s.stated, t.s.tensors(), contract{});
  for (const enclosed_tensor& e : bounds.tensors) {
    REQUIRE(e.indices);
    CHECK(e.indices->empty());
    CHECK(e.elements.empty());
  }
  for (const judgement& j : judge(bounds, t.s.tensors())) CHECK((j.elements == 0 && j.outside == 0));
}

TEST_CASE("pools of which few pages are backed are read at those alone", "[oracle][append]") {
  tiny t(true);
  constexpr std::int64_t page = std::int64_t{1} << 40;
  t.s.stated.num_pages = page + 1;
  t.place(page * 2 + 1);
  for (const char* name : {"k", "v", "k_descale", "v_descale"}) {
    memory& m = *std::ranges::find(t.s.buffers, name, &memory::name);
    m.view.shape[0] = page + 1;  // page 2^40 is where page 0 was
    m.view.data = static_cast<std::byte*>(m.view.data) - page * m.view.stride[0] * size_bytes(m.view.type);
  }
  t.set_new('k', 1000, 3);
  const enclosure bounds = enclose(t.s.stated, t.s.tensors(), contract{});
  CHECK(*bounds.tensors[0].indices == std::vector<std::int64_t>{page});
  const judgement j = judge(bounds, t.s.tensors())[0];  // as if nothing had been written
  CHECK(j.elements == 4);
  CHECK(j.outside > 0);
  CHECK(j.worst_index.front() == page);
}

TEST_CASE("what is no append_kv problem is refused", "[oracle][append]") {
  const auto refused = [](const tiny& t) {
    CHECK_THROWS_AS(enclose(t.s.stated, t.s.tensors(), contract{}), std::invalid_argument);
    CHECK_THROWS_AS(evaluate_exactly(t.s.stated, t.s.tensors()), std::invalid_argument);
  };
  tiny beyond(false);
  beyond.place(beyond.s.stated.num_pages * 2);
  refused(beyond);
  tiny heads(false);
  heads.s.stated.heads_q = 2;
  refused(heads);
  tiny types(true, dtype::f16, dtype::f16);
  refused(types);
  tiny scaled(true);
  scaled.s.stated.k_scale = 2;
  refused(scaled);
  append_options o;
  o.seed = 3;
  setting twice = testing::make_append_setting(o);
  REQUIRE(twice.stated.total_q > 1);
  for (std::int64_t row = 0; row < 2; ++row) testing::set_slot(twice["slots"], row, 5);
  CHECK_THROWS_AS(enclose(twice.stated, twice.tensors(), contract{}), std::invalid_argument);
  const tiny right(false);
  contract negative;
  negative.rescale_roundings = -1;
  CHECK_THROWS_AS(enclose(right.s.stated, right.s.tensors(), negative), std::invalid_argument);
}

}  // namespace assay::oracle
