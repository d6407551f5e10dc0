/// The LSE's enclosure is as wide as the contract's roundings make it, and not wider: in ulps of f32.
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "oracle/width.hpp"
#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;

/// The LSE of a row whose keys all have the logit `size`, radius in ulps.
double radius_of(std::int32_t keys, std::int32_t splits, float size) {
  testing::options o;
  o.sequences = {{1, keys}};
  o.num_splits = splits;
  o.scale = 1;
  o.draw = [size](char which, std::int64_t at, std::mt19937_64&) {
    return at % 16 == 0 || which == 'v' ? (which == 'q' ? static_cast<double>(size) : 1.0) : 0.0;
  };
  const testing::setting s = testing::make_setting(o);
  contract c;
  c.tile_keys = 8;
  c.p_type = dtype::f16;
  c.constant_roundings = 1;
  c.sum_roundings = 7;
  c.normalise_roundings = 1;
  c.exp2_relative_error = 1.01F * 0x1p-24F;
  c.log_absolute_error = 0;
  c.log_relative_error = 1.01F * 0x1p-24F;
  return radius_ulp(enclose(s.stated, s.tensors(), c).tensors[1].elements[0], dtype::f32);
}

}  // namespace

TEST_CASE("the LSE of one key is wide by the roundings that the contract states, and by no more", "[oracle]") {
  for (const float size : {20.0F, 33.0F, 100.0F, 1000.0F}) {
    // y rounds once, m * ln2 once for the constant and once for itself, the sum once; l passes 7 roundings.
    const double wide = 4 * unit * static_cast<double>(size) + 7 * unit;
    const double stated = wide / std::ldexp(1.0, std::ilogb(size) - 23);
    INFO("logit " << size);
    CHECK(radius_of(1, 1, size) >= stated);
    CHECK(radius_of(1, 1, size) < 1.01 * stated);
  }
}

TEST_CASE("the LSE of many keys and of splits is some ulps wide", "[oracle]") {
  CHECK(radius_of(8, 1, 20) < 3.7);
  CHECK(radius_of(40, 1, 20) < 5.6);
  CHECK(radius_of(40, 3, 20) < 10);
}

}  // namespace assay::oracle
