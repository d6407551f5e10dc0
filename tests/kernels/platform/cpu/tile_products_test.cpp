/// Tiles of the cpu platform's matrix unit. tests/kernels/device/mma_test.cpp has its sums.
#include "kernels/platform/cpu/matrix_unit/tile_products.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>

#include "kernels/device/convert.hpp"

using namespace assay;

namespace {

/// What 0 + code * 1 is, for all codes.
template <class T>
void check_codes(std::uint16_t one) {
  int wrong = 0;
  for (std::uint32_t first = 0; first < 0x10000U; first += 16) {
    cpu::operand_tiles<std::uint16_t> tiles;
    float c[16][16] = {};
    for (std::uint32_t row = 0; row < 16; ++row) tiles.a[row][row] = static_cast<std::uint16_t>(first + row);
    for (auto& of_k : tiles.b)
      for (std::uint16_t& x : of_k) x = one;
    cpu::multiply_tiles(device::dtype_of<T>, tiles, c);
    for (std::uint32_t row = 0; row < 16; ++row) {
      const float value = device::to_float(T{static_cast<std::uint16_t>(first + row)});
      for (const float x : c[row]) wrong += std::isnan(value) ? !std::isnan(x) : !(x == value);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every f16 and every bf16 reaches the accumulator as it is", "[device]") {
  check_codes<device::f16>(0x3C00U);
  check_codes<device::bf16>(0x3F80U);
}

TEST_CASE("FP8 tiles round once, and rows of zeros pass on what is not finite", "[device]") {
  cpu::fp8_tiles tiles{};
  float c[16][16] = {};
  c[0][0] = 0x1p24F;
  for (int k = 0; k < cpu::fp8_depth; ++k) tiles.a[0][k] = tiles.b[k][0] = 0.25;
  cpu::multiply_tiles(tiles, c);
  CHECK(c[0][0] == 0x1p24F + 2);  // 32 times 2^-4, each of them lost by itself
  tiles.b[3][7] = HUGE_VAL;
  cpu::multiply_tiles(tiles, c);
  CHECK(std::isnan(c[15][7]));
  CHECK(c[15][6] == 0.0F);
}
