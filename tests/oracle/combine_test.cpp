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
};

combined combine_one(const std::vector<interval>& lse, const std::vector<interval>& o) {
  combined c;
  c.lse = combine_splits(lse, o.data(), 1, contract{}, {&c.o, 1});
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

}  // namespace assay::oracle
