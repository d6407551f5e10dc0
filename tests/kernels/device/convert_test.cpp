/// Conversions against a second writing: values from the formats' definitions, nearest-even by search among neighbours.
#include "kernels/device/convert.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace device = assay::device;

namespace {

/// Value of a code by its fields; NaN codes give NaN.
double value_of(unsigned int code, int exponent_bits, int fraction_bits, int bias) {
  const unsigned int fraction = code & ((1U << fraction_bits) - 1U);
  const unsigned int exponent = (code >> fraction_bits) & ((1U << exponent_bits) - 1U);
  const double sign = (code >> (fraction_bits + exponent_bits)) & 1U ? -1.0 : 1.0;
  const double significand = std::ldexp(fraction, -fraction_bits) + (exponent > 0 ? 1.0 : 0.0);
  return sign * std::ldexp(significand, (exponent > 0 ? static_cast<int>(exponent) : 1) - bias);
}

/// Nearest of the non-negative `codes` (ascending values from 0) to x >= 0, ties to the even code.
unsigned int nearest(const std::vector<double>& values, double x) {
  unsigned int best = 0;
  for (unsigned int c = 1; c < values.size(); ++c) {
    const double gap = std::fabs(values[c] - x), best_gap = std::fabs(values[best] - x);
    if (gap < best_gap || (!(gap > best_gap) && c % 2 == 0)) best = c;
  }
  return best;
}

template <class T>
void check_fp8(int bias, unsigned int nan_code, unsigned int largest_code) {
  std::vector<double> values;
  for (unsigned int c = 0; c <= largest_code; ++c) values.push_back(value_of(c, 4, 3, bias));
  for (unsigned int c = 0; c < 256; ++c) {
    INFO("code " << c);
    const float decoded = device::to_float(T{static_cast<std::uint8_t>(c)});
    const bool is_nan = bias == 8 ? c == nan_code : (c & 0x7FU) == nan_code;
    CHECK(std::isnan(decoded) == is_nan);
    if (is_nan) continue;
    CHECK(static_cast<double>(decoded) == value_of(c, 4, 3, bias));
    CHECK(device::from_float<T>(decoded).bits == c);
  }
  // Every midpoint of neighbours, and the f32 on both sides of it.
  for (unsigned int c = 0; c + 1 < values.size(); ++c) {
    const float middle = static_cast<float>((values[c] + values[c + 1]) / 2);
    for (const float x : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, 1e9F)}) {
      INFO("between codes " << c << " and " << c + 1 << ": " << x);
      CHECK(device::from_float<T>(x).bits == nearest(values, static_cast<double>(x)));
    }
  }
}

/// As the matrix unit takes them. Zeros keep their signs.
template <class T>
void check_operands() {
  for (unsigned int code = 0; code < 256; ++code) {
    INFO("code " << code);
    const T x{static_cast<std::uint8_t>(code)};
    const float value = device::to_float(x);
    for (const float operand : {device::to_float(device::to_compute<device::f16>(x)),
                                device::to_float(device::to_compute<device::bf16>(x))}) {
      CHECK((operand == value || (std::isnan(operand) && std::isnan(value))));
      CHECK((std::isnan(value) || std::signbit(operand) == std::signbit(value)));
    }
  }
}

}  // namespace

TEST_CASE("all 256 codes of both FP8 formats decode to their definition and round to nearest even", "[device]") {
  check_fp8<device::e4m3fn>(7, 0x7FU, 0x7EU);
  check_fp8<device::e4m3fnuz>(8, 0x80U, 0x7FU);
}

TEST_CASE("FP8 saturates, keeps NaN, and only e4m3fn has a negative zero", "[device]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(device::from_float<device::e4m3fn>(infinity).bits == 0x7EU);
  CHECK(device::from_float<device::e4m3fn>(-1e30F).bits == 0xFEU);
  CHECK(device::from_float<device::e4m3fnuz>(241.0F).bits == 0x7FU);
  CHECK(device::from_float<device::e4m3fnuz>(std::nanf("")).bits == 0x80U);
  CHECK((device::from_float<device::e4m3fn>(std::nanf("")).bits & 0x7FU) == 0x7FU);
  CHECK(device::from_float<device::e4m3fn>(-0.0F).bits == 0x80U);
  CHECK(device::from_float<device::e4m3fnuz>(-0.0F).bits == 0U);
  CHECK(device::from_float<device::e4m3fnuz>(-1e-6F).bits == 0U);
}

TEST_CASE("every f16 code decodes to its definition and survives the way back", "[device]") {
  bool right = true;
  for (unsigned int c = 0; c < 0x10000U; ++c) {
    const device::f16 x{static_cast<std::uint16_t>(c)};
    const auto decoded = static_cast<double>(device::to_float(x));
    if ((c & 0x7FFFU) > 0x7C00U) {
      right &= std::isnan(decoded) && (device::from_float<device::f16>(device::to_float(x)).bits & 0x7E00U) == 0x7E00U;
    } else {
      const bool infinite = (c & 0x7FFFU) == 0x7C00U;
      right &= infinite ? std::isinf(decoded) : decoded == value_of(c, 5, 10, 15);
      right &=
          std::signbit(decoded) == (c >= 0x8000U) && device::from_float<device::f16>(device::to_float(x)).bits == c;
    }
    if (!right) FAIL("code " << c);
  }
}

TEST_CASE("f16 rounds every midpoint of neighbouring codes to the even one, and its f32 neighbours to the nearer",
          "[device]") {
  for (std::uint32_t c = 0; c < 0x7BFFU; ++c) {
    const double low = value_of(c, 5, 10, 15), high = value_of(c + 1, 5, 10, 15);
    const auto middle = static_cast<float>((low + high) / 2);  // 12 significant bits: exact
    const bool right = device::from_float<device::f16>(middle).bits == (c % 2 == 0 ? c : c + 1) &&
                       device::from_float<device::f16>(std::nextafter(middle, 0.0F)).bits == c &&
                       device::from_float<device::f16>(std::nextafter(middle, 1e9F)).bits == c + 1;
    if (!right) FAIL("above code " << c);
  }
  CHECK(device::from_float<device::f16>(65519.0F).bits == 0x7BFFU);
  CHECK(device::from_float<device::f16>(65520.0F).bits == 0x7C00U);
  CHECK(device::from_float<device::f16>(-65520.0F).bits == 0xFC00U);
}

TEST_CASE("every bf16 code survives, and midpoints go to the even code", "[device]") {
  for (std::uint32_t c = 0; c < 0x10000U; ++c) {
    const float x = device::to_float(device::bf16{static_cast<std::uint16_t>(c)});
    const bool is_nan = (c & 0x7FFFU) > 0x7F80U;
    if (std::isnan(x) != is_nan) FAIL("code " << c);
    const std::uint16_t back = device::from_float<device::bf16>(x).bits;
    if (is_nan ? !std::isnan(device::to_float(device::bf16{back})) : back != c) FAIL("code " << c);
    if (is_nan || (c & 0x7FFFU) == 0x7F80U) continue;
    const std::uint32_t bits = c << 16;
    const auto rounded = [](std::uint32_t u) { return device::from_float<device::bf16>(std::bit_cast<float>(u)).bits; };
    const bool right = rounded(bits | 0x7FFFU) == c && rounded(bits | 0x8000U) == (c % 2 == 0 ? c : c + 1) &&
                       rounded(bits | 0x8001U) == c + 1;
    if (!right) FAIL("above code " << c);
  }
}

TEST_CASE("FP8 becomes f16 and bf16 exactly", "[device]") {
  check_operands<device::e4m3fn>();
  check_operands<device::e4m3fnuz>();
}
