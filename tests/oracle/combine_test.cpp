/// The combine step: invalid splits weigh nothing, and what remains is enclosed.
#include "oracle/combine.hpp"

#include <cmath>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

struct combined {
  interval lse;
  interval o;
  element_rule rule = element_rule::enclosed;
};

combined combine_one(const std::vector<interval>& lse, const std::vector<interval>& o,
                     const std::vector<std::uint8_t>& rules = {}) {
  std::vector<partial> splits;
  for (std::size_t s = 0; s < lse.size(); ++s) {
    partial& p = splits.emplace_back(lse[s], false, std::span(&o[s], 1));
    if (!rules.empty()) p.rules = std::span(&rules[s], 1);
  }
  combined c;
  std::uint8_t rule = 0;
  c.lse = combine_splits(splits, contract{}, {&c.o, 1}, {&rule, 1}).bounds;
  c.rule = static_cast<element_rule>(rule);
  return c;
}

constexpr interval empty{-infinity, -infinity};

}  // namespace

TEST_CASE("all splits invalid give zero and -inf, never NaN", "[oracle]") {
  const combined c = combine_one({empty, empty, empty}, {point(0), point(0), point(0)});
  CHECK(c.lse.hi == -infinity);
  CHECK(c.o.lo == 0);
  CHECK(c.o.hi == 0);
}

TEST_CASE("invalid splits weigh exactly nothing", "[oracle]") {
  const combined c = combine_one({empty, point(2.5), empty}, {point(0), point(0.75), point(0)});
  CHECK(contains(c.lse, 2.5));
  CHECK(contains(c.o, 0.75));
  CHECK(c.o.hi - c.o.lo < 0x1p-20);
}

TEST_CASE("two splits are weighed by exp of their LSE", "[oracle]") {
  const combined c = combine_one({point(1), point(0)}, {point(2), point(-1)});
  const double w = std::exp(-1.0);
  CHECK(contains(c.o, (2 - w) / (1 + w)));
  CHECK(contains(c.lse, 1 + std::log1p(w)));
  CHECK(c.o.hi - c.o.lo < 0x1p-18);
  CHECK(c.lse.hi - c.lse.lo < 0x1p-20);
}

TEST_CASE("LSEs that overlap leave the weights open, not the sum's bounds", "[oracle]") {
  const combined c = combine_one({{-50, 50}, {-50, 50}}, {point(1), point(1)});
  CHECK(c.o.lo >= -0x1p-20);
  CHECK(c.o.hi <= 2.01);
  CHECK(contains(c.o, 1));
}

TEST_CASE("an undecided split leaves the row undecided", "[oracle]") {
  const combined c = combine_one({everything, point(0)}, {everything, point(1)});
  CHECK(is_everything(c.lse));
  CHECK(is_everything(c.o));
  CHECK(is_everything(combine_one({point(0), point(-1)}, {everything, point(1)}).o));
}

namespace {

std::vector<std::uint8_t> rules(std::initializer_list<element_rule> of) {
  std::vector<std::uint8_t> bytes;
  for (const element_rule r : of) bytes.push_back(static_cast<std::uint8_t>(r));
  return bytes;
}

}  // namespace

TEST_CASE("a split that must be NaN makes the sum so, unless its weight may be 0", "[oracle]") {
  const auto first_nan = rules({element_rule::nan, element_rule::enclosed});
  CHECK(combine_one({point(0), point(0)}, {everything, point(1)}, first_nan).rule == element_rule::nan);
  CHECK(combine_one({point(-300), point(0)}, {everything, point(1)}, first_nan).rule == element_rule::or_nan);
  // Of weight 0 or next to it: NaN, or what the other split makes.
  const combined beside_sink = combine_one({point(-12000), point(0)}, {everything, point(1)}, first_nan);
  CHECK(beside_sink.rule == element_rule::or_nan);
  CHECK(beside_sink.o.lo > 0.999);
  CHECK(beside_sink.o.hi < 1.001);
  CHECK(combine_one({point(0), point(0)}, {point(2), point(1)}, rules({element_rule::or_nan, element_rule::enclosed}))
            .rule == element_rule::or_nan);
  const std::vector<interval> o{point(1), point(1)};
  std::vector<partial> splits{{point(0), true, std::span(o.data(), 1), {}}, {point(0), false, std::span(&o[1], 1), {}}};
  interval out;
  std::uint8_t rule = 0;
  CHECK(combine_splits(splits, contract{}, {&out, 1}, {&rule, 1}).rule == element_rule::nan);
  CHECK(static_cast<element_rule>(rule) == element_rule::nan);
}

TEST_CASE("a sum of zeros is positive where every split's is", "[oracle]") {
  const auto both = rules({element_rule::positive, element_rule::positive});
  const auto one = rules({element_rule::positive, element_rule::enclosed});
  CHECK(combine_one({point(0), empty}, {point(0), point(0)}, both).rule == element_rule::positive);
  CHECK(combine_one({point(0), empty}, {point(0), point(0)}, one).rule == element_rule::enclosed);
  CHECK(combine_one({empty, empty}, {point(0), point(0)}, one).rule == element_rule::positive);
}

TEST_CASE("weights far below the maximum are nothing, also where the difference overflows", "[oracle]") {
  const combined c = combine_one({point(-3.3e38), point(3.3e38)}, {point(1), point(2)});
  CHECK(c.o.hi - c.o.lo < 2e-6);
  CHECK(contains(c.o, 2));
}

}  // namespace assay::oracle
