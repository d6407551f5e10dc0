/// WMMA of RDNA3 and RDNA4 against a scalar product, by the layouts of AMD's matrix instruction calculator.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

namespace {

constexpr int n = 16;

/// Small integers, so that sums are exact in each type.
struct matrices {
  int a[n][n], b[n][n], c[n][n], product[n][n];
  explicit matrices(std::uint64_t seed, int least = -8) {
    std::mt19937_64 random(seed);
    const auto draw = [&] { return least + static_cast<int>(random() % 16); };
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) a[i][j] = draw(), b[i][j] = draw(), c[i][j] = draw();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        product[i][j] = c[i][j];
        for (int k = 0; k < n; ++k) product[i][j] += a[i][k] * b[k][j];
      }
  }
};

short bits_of_bf16(int x) {
  return static_cast<short>(narrowed_bf16(static_cast<float>(x)));
}

/// Where element i of a lane's share of A or B is in k, and of C in rows, by generation and wave.
int k_of(bool is_gfx12, int lanes, int lane, int i) {
  return is_gfx12 ? lane / 16 * (256 / lanes) + i : i;
}
int row_of(bool is_gfx12, int lanes, int lane, int i) {
  return is_gfx12 ? lane / 16 * (256 / lanes) + i : lanes / 16 * i + lane / 16;
}

template <bool IsGfx12, int Lanes, class Operand, class Sums, class Convert, class Multiply>
void check_product(Convert convert, Multiply multiply) {
  static matrices m(7);
  static int got[n][n];
  constexpr int share = IsGfx12 ? 256 / Lanes : 16;
  const auto body = [=] {
    const int lane = static_cast<int>(threadIdx.x);
    Operand a, b;
    Sums c;
    for (int i = 0; i < share; ++i) {
      a[i] = convert(m.a[lane % 16][k_of(IsGfx12, Lanes, lane, i)]);
      b[i] = convert(m.b[k_of(IsGfx12, Lanes, lane, i)][lane % 16]);
    }
    for (int i = 0; i < 256 / Lanes; ++i) c[i] = static_cast<float>(m.c[row_of(IsGfx12, Lanes, lane, i)][lane % 16]);
    const Sums d = multiply(a, b, c);
    for (int i = 0; i < 256 / Lanes; ++i) got[row_of(IsGfx12, Lanes, lane, i)][lane % 16] = static_cast<int>(d[i]);
  };
  static decltype(body)* current;
  current = &body;
  void (*kernel)() = [] { (*current)(); };
  REQUIRE(defects_of(parameters(Lanes), [&] { hipLaunchKernelGGL(kernel, 1, Lanes, 0, nullptr); }).empty());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) CHECK(got[i][j] == m.product[i][j]);
}

_Float16 to_f16(int x) {
  return static_cast<_Float16>(x);
}

}  // namespace

TEST_CASE("WMMA gives the product in the layouts of RDNA3 and RDNA4", "[hip][amdgcn][wmma]") {
  check_product<false, 32, wmma_f16x16, wmma_f32x8>(
      to_f16, [](auto& a, auto& b, auto c) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c); });
  check_product<false, 64, wmma_f16x16, wmma_f32x4>(
      to_f16, [](auto& a, auto& b, auto c) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w64(a, b, c); });
  check_product<false, 32, wmma_b16x16, wmma_f32x8>(
      bits_of_bf16, [](auto& a, auto& b, auto c) { return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c); });
  check_product<true, 32, wmma_f16x8, wmma_f32x8>(
      to_f16, [](auto& a, auto& b, auto c) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c); });
  check_product<true, 64, wmma_f16x4, wmma_f32x4>(
      to_f16, [](auto& a, auto& b, auto c) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w64_gfx12(a, b, c); });
  check_product<true, 32, wmma_b16x8, wmma_f32x8>(bits_of_bf16, [](auto& a, auto& b, auto c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c);
  });
}

TEST_CASE("WMMA of bytes is signed or unsigned, as each operand says", "[hip][amdgcn][wmma]") {
  for (const bool a_is_signed : {false, true}) {
    static matrices m(9, 250);  // bytes of 250 to 265: above 255 they wrap
    static int got[n][n];
    static bool is_signed;
    is_signed = a_is_signed;
    void (*kernel)() = [] {
      const int lane = static_cast<int>(threadIdx.x);
      std::uint8_t a[16], b[16];
      for (int k = 0; k < n; ++k)
        a[k] = static_cast<std::uint8_t>(m.a[lane % 16][k]), b[k] = static_cast<std::uint8_t>(m.b[k][lane % 16]);
      wmma_i32x4 a_words, b_words;
      __builtin_memcpy(&a_words, a, 16);
      __builtin_memcpy(&b_words, b, 16);
      const wmma_i32x8 d =
          __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(is_signed, a_words, false, b_words, wmma_i32x8{}, false);
      for (int i = 0; i < 8; ++i) got[2 * i + lane / 16][lane % 16] = d[i];
    };
    REQUIRE(defects_of(parameters(32), [&] { hipLaunchKernelGGL(kernel, 1, 32, 0, nullptr); }).empty());
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        int wanted = 0;
        for (int k = 0; k < n; ++k) {
          const int a = m.a[i][k] & 0xFF;
          wanted += (a_is_signed && a > 127 ? a - 256 : a) * (m.b[k][j] & 0xFF);
        }
        CHECK(got[i][j] == wanted);
      }
  }
}

TEST_CASE("WMMA of RDNA3 refuses lanes that do not repeat each other, and waves of another size",
          "[hip][amdgcn][wmma]") {
  void (*differing)() = [] {
    wmma_f16x16 a = {}, b = {};
    a[3] = static_cast<_Float16>(static_cast<int>(threadIdx.x));
    static_cast<void>(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, wmma_f32x8{}));
  };
  const launch_scope scope(parameters(32));
  CHECK_THROWS_AS(([&] { hipLaunchKernelGGL(differing, 1, 32, 0, nullptr); })(), std::invalid_argument);
  const launch_scope wide(parameters(64));
  CHECK_THROWS_AS(([&] { hipLaunchKernelGGL(differing, 1, 64, 0, nullptr); })(), std::invalid_argument);
}
