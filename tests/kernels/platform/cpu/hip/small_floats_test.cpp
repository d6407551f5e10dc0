/// hip_fp16.h, hip_bf16.h and hip_fp8.h: against the compiler's f16, and against the oracle's decoding, for all codes.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

#include "oracle/decode.hpp"

namespace {

using assay::dtype;

double of_oracle(dtype type, std::uint32_t code) {
  alignas(4) unsigned char bytes[4];
  std::memcpy(bytes, &code, sizeof code);  // little endian: the code's own bytes come first
  return assay::oracle::load({bytes, type, 1, {1}, {1}}, 0);
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Half way between each two neighbours, and next to that, a number must round to the nearer one or the even one.
template <class Encode>
void check_roundings(dtype type, std::uint32_t largest, Encode encode) {
  for (std::uint32_t code = 0; code < largest; ++code) {
    const double low = of_oracle(type, code), high = of_oracle(type, code + 1), middle = (low + high) / 2;
    INFO("between codes " << code << " and " << code + 1);
    CHECK(encode(low) == code);
    CHECK(encode(std::nextafter(middle, 0.0)) == code);
    CHECK(encode(middle) == (code % 2 == 0 ? code : code + 1));
    CHECK(encode(std::nextafter(middle, HUGE_VAL)) == code + 1);
  }
}

}  // namespace

TEST_CASE("All codes of 16 and 8 bits mean what the oracle says", "[hip]") {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    if (!same(__half2float(__ushort_as_half(static_cast<unsigned short>(code))), of_oracle(dtype::f16, code)) ||
        !same(__bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(code))), of_oracle(dtype::bf16, code)))
      FAIL("code " << code);
  }
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    INFO("code " << code);
    const auto half = [&](__hip_fp8_interpretation_t type) {
      return __half2float(__ushort_as_half(__hip_cvt_fp8_to_halfraw(static_cast<unsigned char>(code), type).x));
    };
    CHECK(same(half(__HIP_E4M3), of_oracle(dtype::e4m3fn, code)));
    CHECK(same(half(__HIP_E4M3_FNUZ), of_oracle(dtype::e4m3fnuz, code)));
    // e5m2 is f16 cut after its second digit.
    CHECK(same(half(__HIP_E5M2), of_oracle(dtype::f16, code << 8)));
  }
  CHECK(std::isnan(__half2float(__ushort_as_half(__hip_cvt_fp8_to_halfraw(0x80, __HIP_E5M2_FNUZ).x))));
  CHECK(__half2float(__ushort_as_half(__hip_cvt_fp8_to_halfraw(0x7F, __HIP_E5M2_FNUZ).x)) == 57344.0F);
}

TEST_CASE("Numbers round to the nearest code, ties to even", "[hip]") {
  check_roundings(dtype::f16, 0x7BFF, [](double x) { return std::uint32_t{__double2half(x).bits}; });
  check_roundings(dtype::bf16, 0x7F7F, [](double x) { return std::uint32_t{__double2bfloat16(x).bits}; });
  check_roundings(dtype::e4m3fn, 0x7E, [](double x) { return std::uint32_t{__hip_fp8_e4m3(x).__x}; });
  check_roundings(dtype::e4m3fnuz, 0x7F, [](double x) { return std::uint32_t{__hip_fp8_e4m3_fnuz(x).__x}; });
  CHECK(__float2half(65519.0F).bits == 0x7BFF);
  CHECK(__float2half(65520.0F).bits == 0x7C00);
  CHECK(__float2half(-INFINITY).bits == 0xFC00);
  CHECK(__hisnan(__float2half(NAN)));
  CHECK(__hip_fp8_e4m3(465.0F).__x == 0x7E);  // saturates
  CHECK(__hip_fp8_e4m3(-INFINITY).__x == 0xFE);
  CHECK(__hip_cvt_float_to_fp8(465.0F, __HIP_NOSAT, __HIP_E4M3) == 0x7F);
  CHECK(__hip_cvt_float_to_fp8(1e9F, __HIP_NOSAT, __HIP_E5M2) == 0x7C);
  CHECK(__hip_cvt_float_to_fp8(NAN, __HIP_SATFINITE, __HIP_E4M3_FNUZ) == 0x80);
  CHECK(__hip_cvt_float_to_fp8(-0.0F, __HIP_SATFINITE, __HIP_E4M3_FNUZ) == 0);
  CHECK(__hip_cvt_float2_to_fp8x2(make_float2(1.0F, -2.0F), __HIP_SATFINITE, __HIP_E4M3) == 0xC038);
}

TEST_CASE("An f32 rounds to 16 bits as an f64 does", "[hip]") {
  std::mt19937 random(20261125);
  for (int i = 0; i < 2000000; ++i) {
    auto bits = static_cast<std::uint32_t>(random());
    if (i % 4 == 0) bits &= 0xFFFFF000U;                        // ties of f16, or near them
    if (i % 4 == 1) bits &= 0xFFFF8000U;                        // of bf16
    if (i % 2 == 0) bits = (bits & 0x8FFFFFFFU) | 0x30000000U;  // within f16's range
    const auto x = std::bit_cast<float>(bits);
    if (__float2half(x).bits != __double2half(x).bits || __float2bfloat16(x).bits != __double2bfloat16(x).bits)
      FAIL("bits " << bits);
  }
}

TEST_CASE("Arithmetic of halves is the exact result, rounded once", "[hip]") {
  std::mt19937 random(20261124);
  const auto rounded = [](double x) { return std::uint32_t{__double2half(x).bits}; };
  for (int i = 0; i < 200000; ++i) {
    const auto draw = [&] { return __ushort_as_half(static_cast<unsigned short>(random())); };
    const __half a = draw(), b = draw(), c = draw();
    const double x = a, y = b, z = c;
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) continue;
    INFO("codes " << a.bits << ", " << b.bits << ", " << c.bits);
    // f64 holds sums and products of halves exactly; a fused one needs 53 bits, or the compiler's 128.
    const bool are_right = (a + b).bits == rounded(x + y) && (a - b).bits == rounded(x - y) &&
                           (a * b).bits == rounded(x * y) && (y == 0 || (a / b).bits == rounded(x / y));
    if (!are_right) FAIL("a sum, product or quotient");
    const __float128 exact = static_cast<__float128>(x) * y + z;
    const auto near = static_cast<double>(exact);
    // To odd: the sticky bit of what the double lost.
    double odd = near;
    if (near != exact && (std::bit_cast<std::uint64_t>(near) & 1) == 0)
      odd = std::nextafter(near, exact > near ? HUGE_VAL : -HUGE_VAL);
    if (__hfma(a, b, c).bits != rounded(odd)) FAIL("a fused multiply-add");
  }
}

TEST_CASE("Pairs are two numbers", "[hip]") {
  const __half2 a = __floats2half2_rn(1.5F, -2.0F), b = __half2half2(__float2half(0.5F));
  const float2 sum = __half22float2(__hadd2(a, b));
  CHECK(sum.x == 2.0F);
  CHECK(sum.y == -1.5F);
  CHECK(__high2float(__hfma2(a, b, a)) == -3.0F);
  CHECK(__low2float(__lowhigh2highlow(a)) == -2.0F);
  CHECK(float(__hmax(__low2half(a), __float2half(NAN))) == 1.5F);
  CHECK(__hlt(__high2half(a), __low2half(a)));
  CHECK(!__heq(__float2half(NAN), __float2half(NAN)));
  CHECK(__habs(__high2half(a)) == __half(2.0F));
  static_assert(sizeof(__half2) == 4 && alignof(__half2) == 4);
  const __hip_bfloat162 c = __floats2bfloat162_rn(1.00390625F, 3.0F);  // half way: to even
  CHECK(__low2float(c) == 1.0F);
  CHECK(__high2float(c * c) == 9.0F);
  CHECK(__low2float(h2exp2(__float2bfloat162_rn(3.0F))) == 8.0F);
}

TEST_CASE("Small floats lie in unions, as their HIP types do", "[hip]") {
  static_assert(std::is_trivially_default_constructible_v<__half> &&
                std::is_trivially_default_constructible_v<__half2>);
  static_assert(std::is_trivially_default_constructible_v<__hip_bfloat162>);
  static_assert(std::is_trivially_default_constructible_v<__hip_fp8_e4m3>);
  static_assert(std::is_trivially_default_constructible_v<__hip_fp8x2_e4m3>);
  union {
    __half number;
    std::uint16_t bits;
  } scale;
  scale.bits = 0x3E00;
  CHECK(float(scale.number) == 1.5F);
}
