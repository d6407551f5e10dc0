#include "fuzz/enclosures.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>

using namespace assay;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

oracle::enclosure one(oracle::interval e, const char* name = "o") {
  return {{{name, dtype::f32, {1}, {e}}}};
}

}  // namespace

TEST_CASE("enclosures that meet agree, in a point too", "[fuzz]") {
  CHECK(!fuzz::disagreement(one({1, 2}), one({2, 3})));
  CHECK(!fuzz::disagreement(one({1, 4}), one({2, 3})));
  CHECK(!fuzz::disagreement(one({-inf, -inf}), one({-inf, -inf})));
  CHECK(!fuzz::disagreement(one({-inf, inf}), one({2, 2})));
}

TEST_CASE("enclosures that do not meet or are not intervals disagree", "[fuzz]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(fuzz::disagreement(one({1, 2}), one({3, 4}))->find("do not meet") != std::string::npos);
  CHECK(fuzz::disagreement(one({5, 6}), one({3, 4})));
  for (const oracle::interval none : {oracle::interval{2, 1}, {nan, 1}, {1, nan}, {nan, nan}}) {
    CHECK(fuzz::disagreement(one(none), one({1, 2}))->find("is not an interval") != std::string::npos);
    CHECK(fuzz::disagreement(one({1, 2}), one(none)));
  }
  CHECK(fuzz::disagreement(one({1, 2}), one({1, 2}, "lse"))->find("lse") != std::string::npos);
  CHECK(!fuzz::disagreement({{one({1, 2}).tensors[0], one({1, 2}, "o_partial").tensors[0]}}, one({1, 2})));
}

TEST_CASE("beyond f32 infinity meets the definition's number, and NaN or a sign of zero is the contract's alone",
          "[fuzz]") {
  CHECK(!fuzz::disagreement(one({inf, inf}), one({1e50, 1e50})));
  CHECK(!fuzz::disagreement(one({-inf, -inf}), one({-1e50, -1e49})));
  CHECK(fuzz::disagreement(one({inf, inf}), one({1e30, 1e30})));
  oracle::enclosure nan = one({-inf, inf}), zero = one({0, 0});
  nan.tensors[0].kept = {static_cast<std::uint8_t>(oracle::element_rule::nan)};
  zero.tensors[0].kept = {static_cast<std::uint8_t>(oracle::element_rule::positive)};
  CHECK(!fuzz::disagreement(nan, one({-inf, inf})));
  CHECK(!fuzz::disagreement(zero, one({0, 0})));
  CHECK(fuzz::disagreement(zero, one({1, 1})));
}

TEST_CASE("the definition's infinity meets a rule that admits it, of its own sign alone", "[fuzz]") {
  using oracle::element_rule;
  oracle::enclosure plus = one({1, 2}), minus = one({1, 2}), any = one({1, 2});
  plus.tensors[0].kept = {static_cast<std::uint8_t>(element_rule::or_plus)};
  minus.tensors[0].kept = {static_cast<std::uint8_t>(element_rule::or_minus)};
  any.tensors[0].kept = {static_cast<std::uint8_t>(element_rule::or_special)};
  CHECK(!fuzz::disagreement(plus, one({inf, inf})));
  CHECK(fuzz::disagreement(plus, one({-inf, -inf})));
  CHECK(fuzz::disagreement(minus, one({inf, inf})));
  CHECK(!fuzz::disagreement(any, one({-inf, -inf})));
  CHECK(fuzz::disagreement(any, one({3, 4})));
  CHECK(fuzz::disagreement(one({1, 2}), one({inf, inf})));
}

TEST_CASE("an element that only one enclosure leaves unwritten is a disagreement", "[fuzz]") {
  oracle::enclosure kept = one({1, 2});
  kept.tensors[0].kept = {1};
  CHECK(fuzz::disagreement(kept, one({1, 2}))->find("leaves it unwritten") != std::string::npos);
  CHECK(!fuzz::disagreement(kept, kept));
}

TEST_CASE("the contract may leave open what the definition keeps of an in-out tensor, if it holds the value",
          "[fuzz]") {
  oracle::enclosure kept = one({1.5, 1.5}), partly = one({1, 2});
  kept.tensors[0].kept = {1};
  kept.tensors[0].held = {0x3FC00000};
  CHECK(!fuzz::disagreement(one({1, 2}), kept));
  CHECK(fuzz::disagreement(one({2, 3}), kept)->find("do not meet") != std::string::npos);
  CHECK(fuzz::disagreement(kept, one({1, 2}))->find("leaves it unwritten") != std::string::npos);
  partly.tensors[0].indices = {0};
  CHECK(fuzz::disagreement(partly, one({1, 2}))->find("differ in size") != std::string::npos);
}
