/// The judge accepts what lies in an enclosure and nothing else; a NaN never passes.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "oracle/width.hpp"
#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

judgement judge_one(dtype type, interval bounds, double value) {
  const testing::memory m("o", type, {1});
  m.set(0, value);
  const named_tensor output{"o", m.view};
  return judge({{{"o", type, {1}, {bounds}}}}, {&output, 1})[0];
}

}  // namespace

TEST_CASE("ends are rounded to the type, and one ulp beyond them is outside", "[oracle]") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32}) {
    const double x = round_to_nearest(type, 0.7), step = ulp(type, 0.7);
    const interval e{x - 0.4 * step, x + 1.4 * step};  // rounds to x ... x + step
    CHECK(judge_one(type, e, x).outside == 0);
    CHECK(judge_one(type, e, x + step).outside == 0);
    CHECK(judge_one(type, e, x - step).outside == 1);
    CHECK(judge_one(type, e, x + 2 * step).outside == 1);
    CHECK(judge_one(type, e, x + 2 * step).worst_factor == 3);
    CHECK(judge_one(type, e, x).worst_factor == 1);
    CHECK(judge_one(type, e, x).sharp == 1);
    CHECK(judge_one(type, {x - 0.6 * step, x + 0.6 * step}, x).sharp == 0);
    CHECK(judge_one(type, {x - 0.6 * step, x + 0.6 * step}, x).uncertain == 1);
    CHECK(judge_one(type, point(x), x).uncertain == 0);
    CHECK(judge_one(type, point(x), x).sharp == 0);
    CHECK(judge_one(type, point(x), x).worst_factor == 0);
    CHECK(judge_one(type, point(x), x + step).worst_factor == 2);
    CHECK(judge_one(type, point(x), -x).outside == 1);
  }
}

TEST_CASE("the factors of all elements have that of the worst one, and tell inside from outside", "[oracle]") {
  const testing::memory m("o", dtype::f32, {2, 3});
  enclosed_tensor bounds{"o", dtype::f32, {2, 3}, std::vector<interval>(6, {1, 3})};
  bounds.elements[4] = {-infinity, infinity};
  const double values[] = {2, 3, 5, 1, 7, 2.5};
  for (int i = 0; i < 6; ++i) m.set(i, values[i]);
  const named_tensor output{"o", m.view};
  CHECK(factors(bounds, {&output, 1}) == std::vector<double>{0, 1, 3, 1, 0, 0.5});
  CHECK(judge({{bounds}}, {&output, 1})[0].worst_factor == 3);
  m.set(0, std::nan(""));
  CHECK(factors(bounds, {&output, 1})[0] == infinity);
}

TEST_CASE("a NaN is outside of every enclosure that says something", "[oracle]") {
  for (const interval e :
       {interval{-1, 1}, point(0), point(-infinity), interval{-infinity, 0}, interval{70000, infinity}}) {
    const judgement j = judge_one(dtype::f16, e, std::nan(""));
    CHECK(j.outside == 1);
    CHECK(j.worst_factor == infinity);
  }
  const judgement undecided = judge_one(dtype::f16, everything, std::nan(""));
  CHECK(undecided.unbounded == 1);
  CHECK(undecided.uncertain == 0);
  CHECK(undecided.outside == 0);
  CHECK(undecided.worst_index.empty());
}

namespace {

judgement judge_bits(dtype type, interval bounds, element_rule rule, std::uint32_t bits) {
  const testing::memory m("o", type, {1});
  m.set_bits(0, bits);
  const named_tensor output{"o", m.view};
  return judge({{{"o", type, {1}, {bounds}, {static_cast<std::uint8_t>(rule)}}}}, {&output, 1})[0];
}

}  // namespace

TEST_CASE("a zero of the wrong sign is outside where the sign is fixed, only there", "[oracle]") {
  const interval around{-1e-9, 1e-9};
  CHECK(judge_bits(dtype::f16, around, element_rule::positive, 0x8000).outside == 1);
  CHECK(judge_bits(dtype::f16, around, element_rule::positive, 0x8000).worst_factor == infinity);
  CHECK(judge_bits(dtype::f16, around, element_rule::positive, 0x8000).worst_rule == element_rule::positive);
  CHECK(judge_bits(dtype::f16, around, element_rule::positive, 0x8000).worst_is_wrong_zero);
  CHECK(!judge_bits(dtype::f16, around, element_rule::positive, 0x8001).worst_is_wrong_zero);
  CHECK(judge_bits(dtype::f16, around, element_rule::positive, 0x0000).outside == 0);
  CHECK(judge_bits(dtype::f16, around, element_rule::negative, 0x0000).outside == 1);
  CHECK(judge_bits(dtype::f16, around, element_rule::negative, 0x8000).outside == 0);
  CHECK(judge_bits(dtype::f16, around, element_rule::enclosed, 0x8000).outside == 0);
  CHECK(judge_bits(dtype::f32, point(0), element_rule::positive, 0x80000000U).outside == 1);
  CHECK(judge_bits(dtype::f32, {-1, 1}, element_rule::positive, 0xBF000000U).outside == 0);  // -0.5 is no zero
  CHECK(judge_bits(dtype::e4m3fnuz, around, element_rule::negative, 0).outside == 0);        // has no -0
  CHECK(judge_bits(dtype::f32, everything, element_rule::positive, 0x80000000U).unbounded == 1);
}

TEST_CASE("where NaN is due any NaN passes and no number; where it is admitted, the enclosure holds too", "[oracle]") {
  for (const std::uint32_t bits : {0x7FC00000U, 0xFFC00001U, 0x7F800001U}) {
    CHECK(judge_bits(dtype::f32, everything, element_rule::nan, bits).outside == 0);
    CHECK(judge_bits(dtype::f32, everything, element_rule::nan, bits).unbounded == 0);
    CHECK(judge_bits(dtype::f32, {1, 2}, element_rule::or_nan, bits).outside == 0);
  }
  for (const std::uint32_t bits : {0x3F800000U, 0x7F800000U, 0U}) {
    const judgement j = judge_bits(dtype::f32, everything, element_rule::nan, bits);
    CHECK(j.outside == 1);
    CHECK(j.worst_factor == infinity);
    CHECK(j.worst_rule == element_rule::nan);
    CHECK(j.overwritten == 0);
  }
  CHECK(judge_bits(dtype::f32, {1, 2}, element_rule::or_nan, 0x3F800000U).outside == 0);
  CHECK(judge_bits(dtype::f32, {1, 2}, element_rule::or_nan, 0x7F800000U).outside == 1);
  for (const auto& [rule, plus, minus] :
       {std::tuple{element_rule::or_plus, 0, 1}, {element_rule::or_minus, 1, 0}, {element_rule::or_special, 0, 0}}) {
    CHECK(judge_bits(dtype::f32, {1, 2}, rule, 0x7F800000U).outside == plus);
    CHECK(judge_bits(dtype::f32, {1, 2}, rule, 0xFF800000U).outside == minus);
    CHECK(judge_bits(dtype::f32, {1, 2}, rule, 0x7FC00000U).outside == 0);
    CHECK(judge_bits(dtype::f32, {1, 2}, rule, 0xFFFFFFFFU).outside == 1);  // not written
    CHECK(judge_bits(dtype::f32, {1, 2}, rule, 0x40000000U).outside == 0);
    CHECK(judge_bits(dtype::f32, {1, 2}, rule, 0x40400000U).outside == 1);  // 3: no number beyond the interval
  }
  CHECK(judge_bits(dtype::f32, {1, 2}, element_rule::or_nan, 0x40400000U).outside == 1);
  CHECK(judge_bits(dtype::f16, everything, element_rule::nan, 0x7E00).outside == 0);
  CHECK(judge_bits(dtype::f16, everything, element_rule::nan, 0x7C00).outside == 1);
}

TEST_CASE("an unwritten element is no NaN that a kernel wrote", "[oracle]") {
  for (const auto& [type, bits] : {std::pair{dtype::f32, 0xFFFFFFFFU}, {dtype::f16, 0xFFFFU}, {dtype::bf16, 0xFFFFU}})
    for (const element_rule rule : {element_rule::nan, element_rule::or_nan}) {
      const interval bounds = rule == element_rule::nan ? everything : interval{1, 2};
      CHECK(judge_bits(type, bounds, rule, bits).outside == 1);
      CHECK(judge_bits(type, bounds, rule, bits >> 1).outside == 0);  // what NVIDIA's units write
      CHECK(judge_bits(type, bounds, rule, bits - 1).outside == 0);
    }
}

TEST_CASE("an LSE of -inf passes only where no key is visible", "[oracle]") {
  CHECK(judge_one(dtype::f32, point(-infinity), -infinity).outside == 0);
  CHECK(judge_one(dtype::f32, point(-infinity), -infinity).worst_factor == 0);
  CHECK(judge_one(dtype::f32, point(-infinity), -1e30).outside == 1);
  CHECK(judge_one(dtype::f32, point(-infinity), 0).worst_factor == infinity);
  CHECK(judge_one(dtype::f32, {-100, 0}, -infinity).outside == 1);
}

TEST_CASE("overflow of the output type is accepted where the value overflows, only there", "[oracle]") {
  CHECK(judge_one(dtype::f16, {70000, 70001}, infinity).outside == 0);
  CHECK(judge_one(dtype::f16, {70000, 70001}, 65504).outside == 1);
  CHECK(judge_one(dtype::f16, {65510, 65530}, infinity).outside == 0);
  CHECK(judge_one(dtype::f16, {65510, 65530}, 65504).outside == 0);
  CHECK(judge_one(dtype::f16, {1, 2}, infinity).outside == 1);
}

TEST_CASE("the worst element is named by its logical index, whatever the strides", "[oracle]") {
  testing::memory m("o", dtype::f32, {2, 3});
  m.view.stride[0] = 1;
  m.view.stride[1] = 2;  // column major
  for (std::int64_t i = 0; i < 6; ++i) m.set(i, 1.0);
  m.set(m.view.offset(1, 2), 1.5);
  m.set(m.view.offset(0, 1), 1.25);
  const named_tensor output{"o", m.view};
  const judgement j = judge({{{"o", dtype::f32, {2, 3}, std::vector<interval>(6, {0.9, 1.1})}}}, {&output, 1})[0];
  CHECK(j.elements == 6);
  CHECK(j.outside == 2);
  CHECK(j.worst_index == std::vector<std::int64_t>{1, 2});
  CHECK(j.worst_value == 1.5);
  CHECK(j.worst_enclosure.hi == 1.1);
}

TEST_CASE("an element that must keep its bits is outside as soon as one of them changed", "[oracle][mqa]") {
  const testing::memory m("logits", dtype::f32, {2, 2});
  const named_tensor output{"logits", m.view};
  enclosure bounds{{{"logits", dtype::f32, {2, 2}, {{0, 2}, everything, everything, {0, 2}}, {0, 1, 1, 0}}}};
  m.set(0, 1);
  m.set(3, 1);
  judgement j = judge(bounds, {&output, 1})[0];
  CHECK(j.uncertain == 2);  // what must be left alone makes no enclosure look sharp
  CHECK(j.sharp == 0);
  CHECK(j.outside == 0);
  CHECK(j.overwritten == 0);
  CHECK(j.unbounded == 0);
  for (const std::uint32_t bits : {0x7FC00000U, 0xFFFFFFFEU, 0x7FFFFFFFU, 0xFF800000U, 0U, 0x80000000U}) {
    m.set_bits(2, bits);
    j = judge(bounds, {&output, 1})[0];
    CHECK(j.outside == 1);
    CHECK(j.overwritten == 1);
    CHECK(j.worst_factor == infinity);
    CHECK(j.worst_had_to_stay);
    CHECK(j.worst_bits == bits);
    CHECK(j.worst_index == std::vector<std::int64_t>{1, 0});
  }
  m.set_bits(2, 0xFFFFFFFFU);
  m.set_bits(3, 0xFFFFFFFFU);  // was to be written, and was not
  j = judge(bounds, {&output, 1})[0];
  CHECK(j.outside == 1);
  CHECK(j.overwritten == 0);
  CHECK(!j.worst_had_to_stay);
  bounds.tensors[0].kept.pop_back();
  CHECK_THROWS_AS(judge(bounds, {&output, 1}), std::invalid_argument);
}

TEST_CASE("of rows that all keep their bits, each element of each type is compared", "[oracle][append]") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16, dtype::e4m3fn, dtype::i8}) {
    const testing::memory m("k", type, {3, 5});
    const named_tensor output{"k", m.view};
    const std::vector<interval> values(15, interval{1, 1});
    enclosed_tensor kept{"k", type, {3, 5}, values, std::vector<std::uint8_t>(15, 1)};
    for (std::int64_t i = 0; i < 15; ++i) {
      kept.held.push_back(static_cast<std::uint32_t>(i + 1));
      m.set_bits(i, kept.held.back());
    }
    const enclosure bounds{{kept}};
    judgement j = judge(bounds, {&output, 1})[0];
    CHECK(j.elements == 15);
    CHECK(j.outside == 0);
    for (std::int64_t i = 0; i < 15; ++i)
      for (const std::uint32_t bit : {0x20U, 0x40U}) {
        m.set_bits(i, kept.held[static_cast<std::size_t>(i)] ^ bit);
        j = judge(bounds, {&output, 1})[0];
        CHECK(j.elements == 15);
        CHECK(j.outside == 1);
        CHECK(j.overwritten == 1);
        CHECK(j.worst_index == std::vector<std::int64_t>{i / 5, i % 5});
        m.set_bits(i, kept.held[static_cast<std::size_t>(i)]);
      }
  }
}

TEST_CASE("of a tensor covered in part, only that part is read, counted and named", "[oracle][append]") {
  testing::memory m("k", dtype::f32, {2, 2, 3});
  for (std::int64_t i = 0; i < 12; ++i) m.set(i, static_cast<double>(i));
  constexpr std::int64_t far = std::int64_t{1} << 40;
  m.view.shape[0] = far + 2;  // no memory is behind the rest
  m.view.data = m.bytes->data() - far * m.view.stride[0] * size_bytes(m.view.type);
  const named_tensor output{"k", m.view};
  enclosed_tensor t{"k", dtype::f32, {far + 2, 2, 3}, std::vector<interval>(6)};
  for (std::size_t i = 0; i < 6; ++i) t.elements[i] = point(6 + static_cast<double>(i));
  t.indices = {far + 1};
  judgement j = judge({{t}}, {&output, 1})[0];
  CHECK(j.elements == 6);
  CHECK(j.outside == 0);
  t.elements[4] = point(3);
  j = judge({{t}}, {&output, 1})[0];
  CHECK(j.outside == 1);
  CHECK(j.worst_index == std::vector<std::int64_t>{far + 1, 1, 1});
  CHECK(j.worst_value == 10);

  t.elements.clear();
  t.indices.emplace();  // covers nothing, which is not the same as everything
  CHECK(judge({{t}}, {&output, 1})[0].elements == 0);
  t.indices.reset();
  CHECK_THROWS_AS(judge({{t}}, {&output, 1}), std::invalid_argument);
}

TEST_CASE("covered indices of a vector and of strided memory", "[oracle][append]") {
  testing::memory m("k_descale", dtype::f32, {6});
  for (std::int64_t i = 0; i < 6; ++i) m.set(i, static_cast<double>(i));
  m.view.shape[0] = 3;
  m.view.stride[0] = 2;
  const named_tensor output{"k_descale", m.view};
  enclosed_tensor t{"k_descale", dtype::f32, {3}, {point(0), point(5)}};
  t.indices = {0, 2};
  const judgement j = judge({{t}}, {&output, 1})[0];
  CHECK(j.elements == 2);
  CHECK(j.outside == 1);
  CHECK(j.worst_index == std::vector<std::int64_t>{2});
  for (const std::vector<std::int64_t>& wrong : {std::vector<std::int64_t>{2, 0}, {1, 1}, {-1, 0}, {0, 3}, {0}, {}}) {
    t.indices = wrong;
    CHECK_THROWS_AS(judge({{t}}, {&output, 1}), std::invalid_argument);
  }
}

TEST_CASE("elements of in-out tensors keep the bits they held, NaN codes and -0 included", "[oracle][append]") {
  const testing::memory m("k", dtype::e4m3fn, {4});
  const std::uint32_t held[] = {0x7F, 0xFF, 0x80, 0x38};
  const named_tensor output{"k", m.view};
  for (const element_rule rule : {element_rule::kept, element_rule::copied}) {
    enclosed_tensor t{"k", dtype::e4m3fn, {4}, std::vector<interval>(4, everything)};
    t.kept.assign(4, static_cast<std::uint8_t>(rule));
    t.held.assign(held, held + 4);
    for (std::int64_t i = 0; i < 4; ++i) m.set_bits(i, held[i]);
    CHECK(judge({{t}}, {&output, 1})[0].outside == 0);
    for (std::int64_t i = 0; i < 4; ++i) {
      m.set_bits(i, held[i] ^ 0x80U);  // another NaN, 0 for -0
      const judgement j = judge({{t}}, {&output, 1})[0];
      CHECK(j.outside == 1);
      CHECK(j.overwritten == (rule == element_rule::kept ? 1 : 0));
      CHECK(j.worst_had_to_stay == (rule == element_rule::kept));
      CHECK(j.worst_factor == infinity);
      CHECK(j.worst_index == std::vector<std::int64_t>{i});
      m.set_bits(i, held[i]);
    }
    t.held.pop_back();
    CHECK_THROWS_AS(judge({{t}}, {&output, 1}), std::invalid_argument);
  }
}

TEST_CASE("an 8-bit type saturates, so values beyond it have its largest code and no NaN", "[oracle][append]") {
  for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz}) {
    for (const interval e : {interval{500, 501}, point(1e30), interval{460, infinity}}) {
      CHECK(judge_one(type, e, largest(type)).outside == 0);
      CHECK(judge_one(type, e, std::nan("")).outside == 1);
      CHECK(judge_one(type, e, next_down(type, largest(type))).outside == 1);
    }
    CHECK(judge_one(type, {-infinity, -500}, -largest(type)).outside == 0);
  }
}

TEST_CASE("missing outputs, wrong shapes and enclosures that are no interval are errors, not verdicts", "[oracle]") {
  const testing::memory m("o", dtype::f32, {2});
  const named_tensor output{"o", m.view};
  CHECK_THROWS_AS(judge({{{"lse", dtype::f32, {2}, {{0, 1}, {0, 1}}}}}, {&output, 1}), std::invalid_argument);
  CHECK_THROWS_AS(judge({{{"o", dtype::f16, {2}, {{0, 1}, {0, 1}}}}}, {&output, 1}), std::invalid_argument);
  CHECK_THROWS_AS(judge({{{"o", dtype::f32, {1}, {{0, 1}}}}}, {&output, 1}), std::invalid_argument);
  CHECK_THROWS_AS(judge({{{"o", dtype::f32, {2}, {{0, 1}, {1, 0}}}}}, {&output, 1}), std::logic_error);
}

TEST_CASE("widths are counted in ulps of the output type", "[oracle]") {
  CHECK(radius_ulp({1, 1 + 0x1p-10}, dtype::f16) == 0.5);
  CHECK(radius_ulp(point(3), dtype::f16) == 0);
  CHECK(radius_ulp(everything, dtype::f16) == infinity);
  enclosed_tensor t{"o", dtype::f16, {4}, {point(1), {1, 1 + 0x1p-10}, {1, 1 + 0x1p-9}, everything}};
  const width_statistics s = measure_width(t);
  CHECK(s.elements == 4);
  CHECK(s.sharp_share == 0.5);
  CHECK(s.median_radius_ulp == 1);
}

}  // namespace assay::oracle
