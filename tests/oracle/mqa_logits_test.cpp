/// The contract's enclosure of mqa_logits holds every run that follows the contract, and none of those that break a
/// rule.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "oracle/width.hpp"
#include "tests/oracle/mqa_scalar_kernel.hpp"

namespace assay::oracle {
namespace {

using testing::mqa_fault;
using testing::mqa_options;
using testing::mqa_style;

constexpr accumulation fp8_atoms{32, 48, 1.0F, 0x1p-24F, 0.0F};
constexpr accumulation truncating_atoms{16, 13, 17.0F, 0x1p-23F, 0.0F};

judgement judge_logits(const enclosure& bounds, const testing::memory& written) {
  const named_tensor output{"logits", written.view};
  return judge(bounds, {&output, 1})[0];
}

/// The contract declares exactly as many roundings as the run took.
judgement judge_run(const testing::setting& s, const accumulation& atoms, const mqa_style& style, std::uint64_t seed,
                    mqa_fault planted = mqa_fault::none, std::int32_t row_margin = 0) {
  contract c;
  c.qk = atoms;
  testing::mqa_scalar_kernel kernel(s, c, style, seed, planted);
  const testing::memory written = kernel.run(row_margin);
  c.sum_roundings = kernel.most_roundings();
  return judge_logits(enclose(s.stated, s.tensors(), c), written);
}

mqa_style style_of(std::uint64_t n) {
  return {static_cast<int>(n % 4), static_cast<int>(n / 4 % 5), n / 20 % 2 == 1, n / 40 % 2 == 1};
}
constexpr std::uint64_t styles = 80;

/// One of everything that a problem distinguishes, by number.
mqa_options variant(std::uint64_t n) {
  mqa_options o;
  o.seed = n;
  o.type = n % 2 == 0 ? dtype::e4m3fn : dtype::e4m3fnuz;
  o.contexts = {static_cast<std::int32_t>(n % 70), 0, 1, 70};
  o.next_n = static_cast<std::int32_t>(1 + n % 4);
  o.heads = static_cast<std::int32_t>(1 + n % 9);
  o.dim = n % 3 == 0 ? 48 : 32;
  o.page_size = n % 5 == 0 ? 32 : 16;
  o.max_model_len = 70;
  o.order = n % 3 == 1 ? key_order::preshuffled : key_order::plain;
  if (n % 7 == 3) o.page_size = 3, o.order = key_order::plain;
  o.page_list = n % 4 == 1;
  o.fills_hidden = n % 3 != 2;
  return o;
}

}  // namespace

TEST_CASE("whatever order and roundings a kernel of the contract chooses, its logits are enclosed", "[oracle][mqa]") {
  for (std::uint64_t n = 0; n < styles; ++n) {
    const testing::setting s = testing::make_mqa_setting(variant(n));
    for (const accumulation& atoms : {fp8_atoms, truncating_atoms}) {
      const judgement j = judge_run(s, atoms, style_of(n), n, mqa_fault::none, static_cast<std::int32_t>(n % 3));
      INFO("variant " << n << ": " << j.worst_factor);
      CHECK(j.elements == s.stated.total_q * 70);
      CHECK(j.outside == 0);
      CHECK(j.unbounded == 0);
    }
  }
}

TEST_CASE("the same holds where terms cancel, lie far apart, underflow or come near to f32's largest",
          "[oracle][mqa]") {
  for (std::uint64_t n = 0; n < 4 * styles; ++n) {
    mqa_options o = variant(n);
    o.contexts = {9};
    o.max_model_len = 9;
    o.heads = static_cast<std::int32_t>(5 + n % 4);
    o.draw = [n](char which, std::int64_t at, std::mt19937_64& random) {
      const double x = testing::normal(random);
      switch (n / styles) {
        case 0:  // weights cancel in pairs
          return which == 'w' ? (at % 2 == 0 ? 1.0 : -1.0) * (1 + 0x1p-20 * x) : which == 's' ? 0.3 : std::fabs(x);
        case 1:  // products from 2^-30 to 2^30
          return which == 'w' ? std::ldexp(x, static_cast<int>(random() % 60) - 30) : which == 's' ? 0.7 : x;
        case 2:  // scales and weights whose products are subnormal or vanish, in some orders only
          return which == 's'   ? std::ldexp(1 + std::fabs(x), -120 - static_cast<int>(random() % 20))
                 : which == 'w' ? std::ldexp(x, 8 - static_cast<int>(random() % 28))
                                : x;
        default: return which == 's' ? 0x1p60 : which == 'w' ? x * 0x1p56 : x;
      }
    };
    const testing::setting s = testing::make_mqa_setting(o);
    const judgement j = judge_run(s, n % 2 == 0 ? fp8_atoms : truncating_atoms, style_of(n % styles), n);
    INFO("variant " << n << ": " << j.worst_factor << " at " << j.worst_value << " of [" << j.worst_enclosure.lo << ", "
                    << j.worst_enclosure.hi << "]");
    CHECK(j.outside == 0);
    CHECK(j.unbounded == 0);
  }
}

TEST_CASE("the bound of the roundings is nearly reached: it hides nothing", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {40};
  o.max_model_len = 40;
  o.heads = 6;
  double reached = 0;
  for (std::uint64_t n = 0; n < styles; ++n) {
    o.seed = n;
    mqa_style style = style_of(n);
    style.drifts = true;
    reached = std::max(reached, judge_run(testing::make_mqa_setting(o), fp8_atoms, style, n).worst_factor);
  }
  CHECK(reached > 0.7);
  CHECK(reached <= 1);
}

TEST_CASE("a kernel that breaks a rule of mqa_logits leaves the enclosure by far", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {61, 33};
  o.next_n = 2;
  o.heads = 16;
  o.max_model_len = 64;
  o.order = key_order::preshuffled;
  for (const bool fills : {false, true}) {
    o.fills_hidden = fills;
    const testing::setting s = testing::make_mqa_setting(o);
    CHECK(judge_run(s, fp8_atoms, {}, 1).outside == 0);
    for (const mqa_fault planted :
         {mqa_fault::head_missing, mqa_fault::relu_after_sum, mqa_fault::next_keys_scale, mqa_fault::columns_shifted,
          mqa_fault::wrong_page, mqa_fault::plain_order, mqa_fault::weight_inside}) {
      const judgement j = judge_run(s, fp8_atoms, {}, 1, planted);
      INFO("fault " << static_cast<int>(planted) << ": " << j.outside << " outside, factor " << j.worst_factor);
      const std::int64_t visible = 60 + 61 + 32 + 33;
      CHECK(j.outside >= visible * 2 / 5);  // a missing head is dead for every other key, wrong pages begin at key 16
      CHECK(j.worst_factor > 1e4);
      CHECK(j.overwritten == 0);
    }
  }
}

TEST_CASE("hidden columns that are written and visible ones that are not are seen", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {20, 1, 0};
  o.next_n = 3;
  o.fills_hidden = false;
  const testing::setting s = testing::make_mqa_setting(o);
  const enclosure bounds = enclose(s.stated, s.tensors(), contract{});
  for (std::int64_t row = 0; row < 9; ++row)
    for (std::int64_t column = 0; column < 64; ++column)
      CHECK(bounds.tensors[0].keeps(row * 64 + column) == !testing::mqa_reader(s).is_visible(row, column));

  judgement j = judge_run(s, fp8_atoms, {}, 1, mqa_fault::none, 5);
  CHECK(j.outside == 0);
  j = judge_run(s, fp8_atoms, {}, 1, mqa_fault::row_sees_too_much, 5);
  CHECK(j.outside == 4);  // of sequence 0 three rows, of sequence 1 the one that sees a key
  CHECK(j.overwritten == 4);
  CHECK(j.worst_had_to_stay);
  CHECK(j.worst_index == std::vector<std::int64_t>{0, 18});
  j = judge_run(s, fp8_atoms, {}, 1, mqa_fault::hidden_nan, 5);
  CHECK(j.overwritten == 9);
  CHECK(j.worst_bits == 0x7FC00000U);
  j = judge_run(s, fp8_atoms, {}, 1, mqa_fault::unwritten_column, 5);
  CHECK(j.outside == 4);
  CHECK(j.overwritten == 0);
  CHECK(std::isnan(j.worst_value));

  o.fills_hidden = true;
  const testing::setting filled = testing::make_mqa_setting(o);
  CHECK(judge_run(filled, fp8_atoms, {}, 1).outside == 0);
  CHECK(judge_run(filled, fp8_atoms, {}, 1, mqa_fault::row_sees_too_much).outside == 4);
  CHECK(judge_run(filled, fp8_atoms, {}, 1, mqa_fault::hidden_nan).outside == 9);
  CHECK(judge_run(filled, fp8_atoms, {}, 1, mqa_fault::unwritten_column).outside == 4);
  const testing::memory untouched = testing::make_logits(filled.stated, 0);
  CHECK(judge_logits(bounds, untouched).outside == 18 + 19 + 20 + 1);
  CHECK(judge_logits(enclose(filled.stated, filled.tensors(), contract{}), untouched).outside == 9 * 64);
}

namespace {

/// With sums over heads in a stated order: rows of the atoms joined by these strides.
contract in_order(const accumulation& atoms, std::initializer_list<std::int32_t> tree, bool fuses) {
  contract c;
  c.qk = atoms;
  c.fuses_logits = fuses ? 1 : 0;
  c.head_rows = 1 << tree.size();
  std::ranges::copy(tree, c.head_tree);
  c.sum_roundings = 0;  // without meaning
  return c;
}

judgement judge_in_order(const testing::setting& s, const contract& declared, const contract& ran, std::uint64_t seed,
                         bool drifts) {
  mqa_style style;
  style.drifts = drifts;
  return judge_logits(enclose(s.stated, s.tensors(), declared), testing::mqa_scalar_kernel(s, ran, style, seed).run());
}

/// Of kernels on the cpu platform, on NVIDIA's and RDNA's; one row; more rows than heads.
contract order_of(std::uint64_t n, const accumulation& atoms) {
  const bool fuses = n % 2 == 0;
  switch (n / 2 % 5) {
    case 0: return in_order(atoms, {2, 1, 4, 8}, fuses);
    case 1: return in_order(atoms, {8, 1, 2, 4}, fuses);
    case 2: return in_order(atoms, {8, 4, 2, 1}, fuses);
    case 3: return in_order(atoms, {}, fuses);
    default: return in_order(atoms, {1, 2, 4, 8, 16, 32}, fuses);
  }
}

/// Terms of all sizes that cancel, ties, sums that underflow, and plain numbers.
mqa_options awkward(std::uint64_t n) {
  mqa_options o = variant(n);
  o.contexts = {static_cast<std::int32_t>(1 + n % 90), 3};
  o.max_model_len = 90;
  o.heads = static_cast<std::int32_t>(1 + n * 7 % 40);
  o.draw = [n](char which, std::int64_t at, std::mt19937_64& random) {
    const double x = testing::normal(random);
    switch (n / 10 % 5) {
      case 0: return which == 'w' ? (at % 2 == 0 ? 1.0 : -1.0) * (1 + 0x1p-20 * x) : which == 's' ? 0.3 : std::fabs(x);
      case 1: return which == 'w' ? std::ldexp(x, static_cast<int>(random() % 60) - 30) : which == 's' ? -0.7 : x;
      case 2: return which == 'w' ? std::ldexp(x, -static_cast<int>(random() % 20) - 140) : x;
      case 3:  // halves of a last place: ties, and sums just beside them
        return which == 'w' ? std::ldexp(1.0 + static_cast<double>(random() % 2), -24 * static_cast<int>(random() % 3))
               : which == 's' ? 1.0
                              : std::ldexp(static_cast<double>(random() % 3), -3);
      default: return x;
    }
  };
  return o;
}

}  // namespace

TEST_CASE("where the order of the heads is stated, the enclosure is the very logit", "[oracle][mqa]") {
  std::int64_t elements = 0, points = 0;
  for (std::uint64_t n = 0; n < 200; ++n) {
    const testing::setting s = testing::make_mqa_setting(awkward(n));
    const contract c = order_of(n, fp8_atoms);
    const judgement j = judge_in_order(s, c, c, n, false);
    INFO("variant " << n << ": " << j.worst_factor << " at " << j.worst_value << " of [" << j.worst_enclosure.lo << ", "
                    << j.worst_enclosure.hi << "]");
    CHECK(j.outside == 0);
    CHECK(j.unbounded == 0);
    elements += j.elements;
    points += j.elements - j.uncertain;
  }
  CAPTURE(elements, points);
  CHECK(static_cast<double>(points) > 0.999 * static_cast<double>(elements));
}

TEST_CASE("atoms that go as far as their model lets them stay inside where the order is stated", "[oracle][mqa]") {
  for (std::uint64_t n = 0; n < 200; ++n) {
    const testing::setting s = testing::make_mqa_setting(awkward(n));
    for (const accumulation& atoms : {fp8_atoms, truncating_atoms}) {
      const contract c = order_of(n, atoms);
      const judgement j = judge_in_order(s, c, c, n, true);
      INFO("variant " << n << ": " << j.worst_factor);
      CHECK(j.outside == 0);
      CHECK(j.unbounded == 0);
    }
  }
}

TEST_CASE("a sum over heads in another order than the stated one is seen", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {60};
  o.heads = 64;
  const testing::setting s = testing::make_mqa_setting(o);
  const contract declared = in_order(fp8_atoms, {2, 1, 4, 8}, true);
  CHECK(judge_in_order(s, declared, declared, 1, false).outside == 0);
  for (const contract& ran : {in_order(fp8_atoms, {2, 1, 4, 8}, false), in_order(fp8_atoms, {1, 2, 4, 8}, true),
                              in_order(fp8_atoms, {2, 1, 4}, true), in_order(fp8_atoms, {}, true)})
    CHECK(judge_in_order(s, declared, ran, 1, false).outside > 15);
}

TEST_CASE("in the stated order, what is no number or beyond f32 leaves nothing to say", "[oracle][mqa]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double odd : {nan, infinity, -infinity, 0x1.8p127, -0x1.8p127})
    for (const char where : {'w', 's'}) {
      mqa_options o;
      o.contexts = {4};
      o.heads = 3;
      o.draw = [&](char which, std::int64_t at, std::mt19937_64&) {
        return which == where && at == 1 ? odd : which == 'q' || which == 'k' ? 2.0 : 1.0;
      };
      const testing::setting s = testing::make_mqa_setting(o);
      for (const bool fuses : {false, true}) {
        const enclosed_tensor bounds = enclose(s.stated, s.tensors(), in_order(fp8_atoms, {1, 2}, fuses)).tensors[0];
        for (std::size_t key = 0; key < 4; ++key)
          if (where == 'w' && std::isnan(odd))
            CHECK(bounds.rule(static_cast<std::int64_t>(key)) == element_rule::nan);  // times a dot product above 0
          else
            CHECK(is_everything(bounds.elements[key]) == (where == 'w' || key == 1));
      }
    }
}

TEST_CASE("an order that joins some rows never or twice is refused", "[oracle][mqa]") {
  mqa_options o;
  const testing::setting s = testing::make_mqa_setting(o);
  const auto refused = [&](std::int32_t rows, std::initializer_list<std::int32_t> tree) {
    contract c = in_order(fp8_atoms, tree, true);
    c.head_rows = rows;
    CHECK_THROWS_AS(enclose(s.stated, s.tensors(), c), std::invalid_argument);
  };
  refused(16, {1, 2, 4});
  refused(4, {1, 2, 4});
  refused(4, {1, 1});
  refused(4, {3});
  refused(4, {1, -2});
  refused(4, {1, 0, 2});
  refused(12, {1, 2, 4});
  refused(128, {1, 2, 4, 8, 16, 32});
}

TEST_CASE("a logit's enclosure is as wide as the contract's roundings of its terms, no wider", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {512};
  o.heads = 64;
  o.dim = 128;
  o.page_size = 64;
  o.max_model_len = 512;
  const auto width = [&](bool signs, std::int32_t roundings) {
    testing::setting s = testing::make_mqa_setting(o);
    if (!signs) {
      const testing::memory& weights = s["weights"];
      for (std::int64_t i = 0; i < 64; ++i)
        weights.set_bits(i, std::bit_cast<std::uint32_t>(
                                std::fabs(static_cast<float>(testing::mqa_reader(s).number("weights", i)))));
    }
    contract c;
    c.qk = fp8_atoms;
    c.sum_roundings = roundings;
    return measure_width(enclose(s.stated, s.tensors(), c).tensors[0]);
  };
  const width_statistics one_sign = width(false, 8), both = width(true, 8);
  CAPTURE(one_sign.median_radius_ulp, one_sign.p99_radius_ulp, one_sign.sharp_share);
  CAPTURE(both.median_radius_ulp, both.p99_radius_ulp, both.sharp_share);
  // Seven roundings before the last, each at most half an ulp to one ulp of the result where terms have one sign: 3.5
  // to
  // 7. With both signs the terms' magnitudes, which the order of summation may expose, are several times the result.
  CHECK(one_sign.median_radius_ulp < 5.5);
  CHECK(one_sign.p99_radius_ulp < 7.05);
  CHECK(both.median_radius_ulp < 30);
}

}  // namespace assay::oracle
