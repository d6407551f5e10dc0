/// The contract's enclosure of append_kv holds every run that follows the contract, and none of those that break a
/// rule.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "tests/oracle/append_scalar_kernel.hpp"

namespace assay::oracle {
namespace {

using testing::append_data;
using testing::append_fault;
using testing::append_options;
using testing::append_style;
using testing::memory;
using testing::setting;

std::vector<named_tensor> views_of(const std::vector<memory>& outputs) {
  std::vector<named_tensor> views;
  views.reserve(outputs.size());
  for (const memory& m : outputs) views.push_back({m.name.c_str(), m.view});
  return views;
}

/// Over all outputs.
struct verdict_of_run {
  std::int64_t elements = 0, outside = 0, overwritten = 0, unbounded = 0;
  std::string worst;
  std::map<std::string, std::int64_t> outside_of;

  void add(const judgement& j) {
    elements += j.elements;
    outside += j.outside;
    overwritten += j.overwritten;
    unbounded += j.unbounded;
    outside_of[j.tensor] += j.outside;
    if (j.outside == 0) return;
    worst = j.tensor + " " + std::to_string(j.worst_value) + " of [" + std::to_string(j.worst_enclosure.lo) + ", " +
            std::to_string(j.worst_enclosure.hi) + "], at";
    for (const std::int64_t i : j.worst_index) worst += " " + std::to_string(i);
  }
};

verdict_of_run judge_run(const setting& s, append_style style, append_fault planted = append_fault::none) {
  const enclosure bounds = enclose(s.stated, s.tensors(), style.declared());
  const std::vector<memory> outputs = testing::append_scalar_kernel(s, style, planted).run();
  verdict_of_run all;
  for (const judgement& j : judge(bounds, views_of(outputs))) all.add(j);
  return all;
}

append_style style_of(std::uint64_t n) {
  return {n % 2 == 0, n / 2 % 2 == 0, static_cast<int>(n / 4 % 4), n / 16 % 2 == 1};
}

dtype stored_type(dtype rows, std::uint64_t n) {
  constexpr dtype codes[] = {dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8};
  return n % 4 == 3 ? rows : codes[n % 4];
}

/// One of everything that a problem distinguishes, by number. All strides among the options are coprime to each other
/// or drawn, so that combinations come up.
append_options variant(std::uint64_t n) {
  std::mt19937_64 random(n);
  append_options o;
  o.seed = n;
  o.q_type = std::array{dtype::f16, dtype::bf16, dtype::f32}[n % 3];
  o.per_page = n % 2 == 1;
  o.k_type = o.per_page ? stored_type(dtype::none, random() % 3) : stored_type(o.q_type, random() % 4);
  o.v_type = o.per_page ? stored_type(dtype::none, random() % 3) : stored_type(o.q_type, random() % 4);
  o.rotary = std::array{rotary_kind::none, rotary_kind::half, rotary_kind::interleaved}[random() % 3];
  o.page_size = std::array{1, 2, 3, 4, 16, 64}[random() % 6];
  o.heads = static_cast<std::int32_t>(1 + random() % 3);
  o.dim_qk = static_cast<std::int32_t>(2 + 2 * (random() % 5));
  o.dim_v = static_cast<std::int32_t>(1 + random() % 7);
  o.pages = static_cast<std::int32_t>(1 + random() % 5);
  o.is_head_major = random() % 2 == 0;
  o.data = static_cast<append_data>(random() % testing::append_kinds_of_data);
  const bool is_power = o.data == append_data::ties || random() % 4 == 0;
  const auto scale = [&] {
    return static_cast<float>(
        std::ldexp(is_power ? 1.0 : 1 + testing::uniform(random), static_cast<int>(random() % 9) - 5));
  };
  o.k_scale = scale();
  o.v_scale = scale();
  return o;
}

}  // namespace

TEST_CASE("whatever roundings a kernel of the contract takes, what it appends is enclosed", "[oracle][append]") {
  std::int64_t elements = 0;
  for (std::uint64_t n = 0; n < 4000; ++n) {
    const setting s = testing::make_append_setting(variant(n));
    const verdict_of_run v = judge_run(s, style_of(n / 7));
    elements += v.elements;
    if (v.outside == 0 && v.unbounded == 0) continue;
    INFO("variant " << n << ": " << v.worst << "; " << v.unbounded << " undecided");
    CHECK(v.outside == 0);
    CHECK(v.unbounded == 0);
  }
  CHECK(elements > 4000 * 100);
}

TEST_CASE("what a call may change lies at the indices that the enclosures cover", "[oracle][append]") {
  for (std::uint64_t n = 0; n < 200; ++n) {
    const setting s = testing::make_append_setting(variant(n));
    const enclosure bounds = enclose(s.stated, s.tensors(), contract{});
    const std::vector<memory> outputs = testing::append_scalar_kernel(s, {}).run();
    REQUIRE(bounds.tensors.size() == outputs.size());
    for (std::size_t t = 0; t < outputs.size(); ++t) {
      const enclosed_tensor& e = bounds.tensors[t];
      CHECK(e.name == outputs[t].name);
      REQUIRE(e.indices);
      CHECK(e.shape[0] == s.stated.num_pages);
      CHECK(e.indices->size() <= static_cast<std::size_t>(variant(n).pages));
      const memory& before = s[e.name];
      const auto bytes = static_cast<std::size_t>(before.view.stride[0] * size_bytes(e.type));
      for (std::int64_t page = 0; page < s.stated.num_pages; ++page)
        if (!std::ranges::binary_search(*e.indices, page))
          CHECK(std::equal(outputs[t].bytes->begin() + page * static_cast<std::ptrdiff_t>(bytes),
                           outputs[t].bytes->begin() + (page + 1) * static_cast<std::ptrdiff_t>(bytes),
                           before.bytes->begin() + page * static_cast<std::ptrdiff_t>(bytes)));
    }
  }
}

TEST_CASE("the definition's values lie in the contract's enclosures and are all but points", "[oracle][append]") {
  for (std::uint64_t n = 0; n < 1500; ++n) {
    const setting s = testing::make_append_setting(variant(n));
    const enclosure bounds = enclose(s.stated, s.tensors(), style_of(n).declared());
    const enclosure exact = evaluate_exactly(s.stated, s.tensors());
    REQUIRE(exact.tensors.size() == bounds.tensors.size());
    std::int64_t wide = 0, missed = 0, unlike = 0;
    for (std::size_t t = 0; t < bounds.tensors.size(); ++t) {
      const enclosed_tensor &b = bounds.tensors[t], &e = exact.tensors[t];
      REQUIRE(e.elements.size() == b.elements.size());
      CHECK(e.indices == b.indices);
      for (std::size_t i = 0; i < e.elements.size(); ++i) {
        const auto flat = static_cast<std::int64_t>(i);
        const interval &x = e.elements[i], &around = b.elements[i];
        // Where the contract has roundings, D' may differ from D in it and not in the definition; never the other way.
        unlike += e.rule(flat) != b.rule(flat) && !(e.keeps(flat) && b.rule(flat) == element_rule::enclosed) ? 1 : 0;
        if (is_everything(x)) {
          unlike += e.keeps(flat) && b.keeps(flat) ? 0 : 1;  // NaN
          continue;
        }
        wide += x.hi - x.lo <= 0x1p-51 * std::max(std::fabs(x.lo), std::fabs(x.hi)) ? 0 : 1;
        missed += around.lo <= x.lo && x.hi <= around.hi ? 0 : 1;
      }
    }
    INFO("variant " << n);
    CHECK(wide == 0);
    CHECK(missed == 0);
    CHECK(unlike == 0);
  }
}

namespace {

/// Of new and rescaled codes: how many have a single admissible value.
struct sharpness {
  std::int64_t codes = 0, single = 0;
  double share() const { return static_cast<double>(single) / static_cast<double>(codes); }
};

sharpness measure(append_options o, const contract& declared) {
  sharpness all;
  for (o.seed = 1; o.seed <= 40; ++o.seed) {
    const setting s = testing::make_append_setting(o);
    for (const enclosed_tensor& t : enclose(s.stated, s.tensors(), declared).tensors)
      for (std::size_t i = 0; testing::is_code(t.type) && i < t.elements.size(); ++i) {
        if (t.rule(static_cast<std::int64_t>(i)) != element_rule::enclosed) continue;
        ++all.codes;
        const interval& e = t.elements[i];
        all.single += round_to_nearest(t.type, e.lo) == round_to_nearest(t.type, e.hi) ? 1 : 0;
      }
  }
  return all;
}

}  // namespace

TEST_CASE("nearly every code has one admissible value", "[oracle][append]") {
  append_options o;
  o.dim_qk = o.dim_v = 64;
  o.page_size = 16;
  for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz}) {
    o.k_type = o.v_type = type;
    o.per_page = false;
    for (const float scale : {1.0F, 0.037F}) {
      o.k_scale = o.v_scale = scale;
      for (const rotary_kind rotary : {rotary_kind::none, rotary_kind::half}) {
        o.rotary = rotary;
        const sharpness plain = measure(o, contract{});
        CAPTURE(scale, static_cast<int>(rotary), plain.codes, plain.single);
        CHECK(plain.codes > 50000);
        CHECK(plain.share() > (rotary == rotary_kind::none ? 0.9999 : 0.995));
      }
    }
    o.per_page = true;
    for (const append_data data : {append_data::plain, append_data::spread}) {
      o.data = data;
      o.rotary = rotary_kind::none;
      const sharpness paged = measure(o, contract{});
      CAPTURE(static_cast<int>(data), paged.codes, paged.single);
      CHECK(paged.codes > 50000);
      CHECK(paged.share() > 0.997);  // x F = A m, m a middle of codes: ties but for roundings
    }
    o.data = append_data::plain;
  }
}

TEST_CASE("a kernel that breaks a rule of append_kv leaves the enclosure", "[oracle][append]") {
  append_options o;
  o.page_size = 8;
  o.dim_qk = o.dim_v = 32;
  o.heads = 2;
  o.data = append_data::spread;
  o.per_page = true;
  const auto seen = [&](append_fault planted) {
    std::int64_t runs = 0;
    for (o.seed = 1; o.seed <= 20; ++o.seed) {
      o.k_type = o.v_type = o.seed % 2 == 0 ? dtype::e4m3fn : dtype::e4m3fnuz;
      const setting s = testing::make_append_setting(o);
      CHECK(judge_run(s, style_of(o.seed)).outside == 0);
      runs += judge_run(s, style_of(o.seed), planted).outside > 0 ? 1 : 0;
    }
    return runs;
  };
  CHECK(seen(append_fault::neighbours_scale) == 20);
  CHECK(seen(append_fault::not_rescaled) >= 18);  // where some descale grows
  CHECK(seen(append_fault::slot_off_by_one) == 20);
  CHECK(seen(append_fault::skipped_written) >= 8);  // where some row is skipped
  CHECK(seen(append_fault::truncates) == 20);
  CHECK(seen(append_fault::wrong_head) == 20);
  CHECK(seen(append_fault::nan_changed) >= 18);
  CHECK(seen(append_fault::stays_changed) >= 18);  // where a slot stays
  CHECK(seen(append_fault::descale_off) == 20);
  CHECK(seen(append_fault::fresh_keeps_scale) >= 5);
}

namespace {

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
    CHECK(judge({{k}}, views_of(outputs))[0].outside == 0);
    for (const std::uint32_t bits : {0x80U, 0x7FU, 0xFFU}) {
      outputs[0].set_bits(2, bits);
      const bool is_largest = type != dtype::e4m3fn && bits == 0x7FU;
      CHECK(judge({{k}}, views_of(outputs))[0].outside == (is_largest ? 0 : 1));
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
      return judge({{t.k_descale(c)}}, views_of(outputs))[0].outside;
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

TEST_CASE("rows stored in their own type keep every bit, signs of zero and NaN included", "[oracle][append]") {
  const tiny t(false, dtype::f16, dtype::f16);
  t.s["k_new"].set_bits(0, 0x8000);
  t.s["k_new"].set_bits(1, 0x7E01);
  const std::vector<memory> outputs = testing::append_scalar_kernel(t.s, {}).run();
  CHECK(judge({{t.k()}}, views_of(outputs))[0].outside == 0);
  outputs[0].set_bits(2, 0);
  judgement j = judge({{t.k()}}, views_of(outputs))[0];
  CHECK(j.outside == 1);
  CHECK(j.overwritten == 0);
  CHECK(!j.worst_had_to_stay);
  CHECK(j.worst_index == std::vector<std::int64_t>{0, 1, 0, 0});
  outputs[0].set_bits(2, 0x8000);
  outputs[0].set_bits(3, 0x7E00);
  CHECK(judge({{t.k()}}, views_of(outputs))[0].outside == 1);
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
