/// The contract's enclosure of append_kv holds every run that follows the contract, and none of those that break a
/// rule.
#include <algorithm>
#include <array>
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
  for (const judgement& j : judge(bounds, testing::views_of(outputs))) all.add(j);
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
  const auto scale = [&] {  // middles times these are numbers of the rows' types, and their reciprocals none of f32
    const double leading = is_power ? std::array{1.0, 5.0, 7.0, 11.0}[random() % 4] : 1 + testing::uniform(random);
    return static_cast<float>(std::ldexp(leading, static_cast<int>(random() % 9) - 5));
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

TEST_CASE("a contract that declares too few roundings does not hold the kernel", "[oracle][append]") {
  std::int64_t outside[4] = {};
  for (std::uint64_t n = 0; n < 600; ++n) {
    append_options o = variant(n);
    if (n % 2 == 1) o.dim_qk = 64, o.q_type = n % 4 == 1 ? dtype::f32 : dtype::bf16;
    if (n % 4 == 1) o.data = append_data::repeated;
    const setting s = testing::make_append_setting(o);
    const append_style style{false, false, 3, false};
    const std::vector<memory> outputs = testing::append_scalar_kernel(s, style).run();
    for (int which = 0; which < 4; ++which) {
      contract c = style.declared();
      (which == 0   ? c.scale_roundings
       : which == 1 ? c.quantise_roundings
       : which == 2 ? c.rescale_roundings
                    : c.rotary_roundings) = which < 2 ? 1 : 0;
      for (const judgement& j : judge(enclose(s.stated, s.tensors(), c), testing::views_of(outputs)))
        outside[which] += j.outside;
    }
  }
  CAPTURE(outside[0], outside[1], outside[2], outside[3]);
  for (const std::int64_t n : outside) CHECK(n > 0);
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
  o.rotary = rotary_kind::half;
  CHECK(seen(append_fault::wrong_pairs) == 20);
  o.rotary = rotary_kind::interleaved;
  CHECK(seen(append_fault::wrong_pairs) == 20);
  o.per_page = false;
  for (const append_fault planted :
       {append_fault::slot_off_by_one, append_fault::truncates, append_fault::wrong_head, append_fault::wrong_pairs})
    CHECK(seen(planted) == 20);
  CHECK(seen(append_fault::skipped_written) >= 8);
  CHECK(seen(append_fault::stays_changed) >= 18);
}

TEST_CASE("without an evaluation in binary64, MPFR's is taken", "[oracle][append]") {
  const testing::setting s = testing::make_append_setting({});
  const enclosure fast = evaluate_in_binary64(s.stated, s.tensors()), exact = evaluate_exactly(s.stated, s.tensors());
  REQUIRE(fast.tensors.size() == exact.tensors.size());
  for (std::size_t t = 0; t < fast.tensors.size(); ++t)
    for (std::size_t i = 0; i < fast.tensors[t].elements.size(); ++i) {
      CHECK(fast.tensors[t].elements[i].lo == exact.tensors[t].elements[i].lo);
      CHECK(fast.tensors[t].elements[i].hi == exact.tensors[t].elements[i].hi);
    }
}

}  // namespace assay::oracle
