/// FP8 atoms and row reductions on the executor, with both wave sizes, bit for bit against plain loops.
#include <hip/hip_runtime.h>

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/device/mma.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

namespace device = assay::device;

namespace {

constexpr int max_steps = 4, max_rows = 8;

/// One wave: C[16 * rows][16] += A B with A[row][k] and B[column][k], rows of `stride` bytes.
struct operands {
  const std::uint8_t* a;
  const std::uint8_t* b;
  float* c;
  int stride, steps, rows;
};

template <class T>
__global__ void multiply(operands x) {
  device::accumulator<float> c[max_rows];
  const auto place = [&](int n, int i) { return (16 * n + device::c_row(i)) * 16 + device::c_column(i); };
  for (int n = 0; n < x.rows; ++n)
    for (int i = 0; i < c[n].count(); ++i) c[n].value[i] = x.c[place(n, i)];
  device::mma_rows<T, max_steps>(
      c, [&](int n) { return n < x.rows; }, x.steps,
      [&](int n, int i, device::fp8_fragment& f) {
        device::load_words(f, x.a + 16 * n * x.stride + i * device::byte_atom_depth, x.stride);
      },
      [&](int i, device::fp8_fragment& f) { device::load_words(f, x.b + i * device::byte_atom_depth, x.stride); });
  for (int n = 0; n < x.rows; ++n)
    for (int i = 0; i < c[n].count(); ++i) x.c[place(n, i)] = c[n].value[i];
}

template <class T>
std::vector<std::uint8_t> draw_codes(std::mt19937& random, std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  for (std::uint8_t& code : codes) {
    do code = static_cast<std::uint8_t>(random());
    while (std::isnan(device::to_float(T{code})));
  }
  return codes;
}

/// What the head of device/mma/cpu_fp8.hpp says of an atom, in plain loops.
template <class T>
std::vector<float> expected(const operands& x) {
  std::vector<float> c(x.c, x.c + 256 * x.rows);
  for (int row = 0; row < 16 * x.rows; ++row)
    for (int column = 0; column < 16; ++column) {
      float& sum = c.data()[row * 16 + column];
      for (int step = 0; step < x.steps; ++step) {
        double products = 0;
        for (int k = step * 32; k < step * 32 + 32; ++k)
          products += static_cast<double>(device::to_float(T{x.a[row * x.stride + k]})) *
                      static_cast<double>(device::to_float(T{x.b[column * x.stride + k]}));
        sum = static_cast<float>(static_cast<double>(sum) + products);
      }
    }
  return c;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  return a.size() == b.size();
}

template <class T>
void check_atoms(int wave_size, int steps, int rows) {
  std::mt19937 random(static_cast<std::uint32_t>(100 * steps + rows));
  const int stride = steps * 32 + 8;
  auto a = draw_codes<T>(random, 16 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride));
  const auto b = draw_codes<T>(random, 16 * static_cast<std::size_t>(stride));
  std::fill_n(a.begin() + 5 * stride, stride, std::uint8_t{0});  // a row of zeros, as padding has
  std::vector<float> c(256 * static_cast<std::size_t>(rows));
  for (float& x : c)
    x = std::ldexp(static_cast<float>(random() % 4001U) - 2000.0F, static_cast<int>(random() % 24U) - 12);
  const operands x{a.data(), b.data(), c.data(), stride, steps, rows};
  const std::vector<float> wanted = expected<T>(x);

  const assay::cpu::launch_scope scope(assay::cpu::parameters(wave_size));
  auto* const kernel = multiply<T>;
  hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(wave_size)), 0, nullptr, x);
  REQUIRE(hipGetLastError() == hipSuccess);
  INFO("wave " << wave_size << ", " << steps << " steps, " << rows << " rows");
  CHECK(same_bits(c, wanted));
}

std::uint32_t multiply_f16_pair(std::uint32_t a, std::uint32_t b) {
  const auto product = [](std::uint32_t x, std::uint32_t y) {
    const float exact = device::to_float(device::f16{static_cast<std::uint16_t>(x)}) *
                        device::to_float(device::f16{static_cast<std::uint16_t>(y)});
    return static_cast<std::uint32_t>(device::from_float<device::f16>(exact).bits);
  };
  return product(a & 0xFFFFU, b & 0xFFFFU) | product(a >> 16, b >> 16) << 16;
}

template <class T>
int wrongly_widened() {
  int wrong = 0;
  for (std::uint32_t code = 0; code < 256; ++code)
    for (const std::uint32_t other : {0x00U, 0x80U, 0x7FU, 0xFFU, 0x39U})
      for (const int first : {0, 2}) {
        const std::uint32_t pair = device::widen_pair<T>((code | other << 8) << (8 * first), first, multiply_f16_pair);
        const std::array<std::uint32_t, 2> codes = {code, other};
        for (std::size_t i = 0; i < 2; ++i) {
          const float wide = device::to_float(device::f16{static_cast<std::uint16_t>(pair >> (16 * i))});
          const float exact = device::to_float(T{static_cast<std::uint8_t>(codes[i])});
          if (std::isnan(exact) ? !std::isnan(wide)
                                : std::bit_cast<std::uint32_t>(wide) != std::bit_cast<std::uint32_t>(exact))
            ++wrong;
        }
      }
  return wrong;
}

}  // namespace

TEST_CASE("FP8 atoms add 32 exact products and round as stated, bit for bit, in every layout", "[device]") {
  for (const int wave_size : {32, 64})
    for (const int steps : {1, 2, 3, 4})
      for (const int rows : {1, 4, 5, 8}) {
        check_atoms<device::e4m3fn>(wave_size, steps, rows);
        check_atoms<device::e4m3fnuz>(wave_size, steps, rows);
      }
}

TEST_CASE("an FP8 NaN reaches its column through rows of zeros", "[device]") {
  for (const int wave_size : {32, 64}) {
    const std::vector<std::uint8_t> a(16 * 32);
    std::vector<std::uint8_t> b(16 * 32);
    b[7 * 32 + 3] = 0x7F;
    std::vector<float> c(256);
    const operands x{a.data(), b.data(), c.data(), 32, 1, 1};
    const assay::cpu::launch_scope scope(assay::cpu::parameters(wave_size));
    auto* const kernel = multiply<device::e4m3fn>;
    hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(wave_size)), 0, nullptr, x);
    REQUIRE(hipGetLastError() == hipSuccess);
    CHECK(std::isnan(c[7]));
    CHECK(std::isnan(c[15 * 16 + 7]));
    CHECK(c[6] == 0.0F);
  }
}

TEST_CASE("FP8 codes are widened to f16 in pairs, exactly, NaN to NaN", "[device]") {
  CHECK(wrongly_widened<device::e4m3fn>() == 0);
  CHECK(wrongly_widened<device::e4m3fnuz>() == 0);
}
