/// Matrix atoms on the executor, with both wave sizes, against sums in long double.
#include "kernels/device/mma.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace device = assay::device;

namespace {

constexpr int steps = 20;  // more than one rendezvous holds
constexpr int depth = steps * device::atom_depth;

/// How B lies in memory.
enum class b_order : std::uint8_t { rows, columns };

constexpr std::size_t place_in_b(b_order order, std::size_t k, std::size_t column) {
  return order == b_order::rows ? k * 16 + column : column * depth + k;
}

template <class T, class Acc, b_order Order>
__global__ void multiply(const T* a, const T* b, Acc* c) {
  device::accumulator<Acc> sum;
  for (int i = 0; i < sum.count(); ++i) sum.value[i] = c[device::c_row(i) * 16 + device::c_column(i)];
  device::mma_chain<T>(
      sum, steps, [&](int i, auto& f) { device::load_a(f, a + i * device::atom_depth, depth); },
      [&](int i, auto& f) {
        if constexpr (Order == b_order::rows)
          device::load_b_by_rows(f, b + i * device::atom_depth * 16, 16);
        else
          device::load_b_by_columns(f, b + i * device::atom_depth, depth);
      });
  for (int i = 0; i < sum.count(); ++i) c[device::c_row(i) * 16 + device::c_column(i)] = sum.value[i];
}

template <class T>
T draw(std::mt19937& random) {
  std::normal_distribution<float> normal;
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<std::int8_t>(static_cast<int>(random() % 256U) - 128);
  else
    return device::from_float<T>(normal(random) * std::ldexp(1.0F, static_cast<int>(random() % 13U) - 6));
}

template <class T>
double value_of(T x) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return x;
  else
    return static_cast<double>(device::to_float(x));
}

/// The contract's model of one atom after the other; returns the largest error relative to its bound.
template <class T, class Acc, b_order Order = b_order::rows>
double worst_error(int wave_size) {
  std::mt19937 random(7);
  std::vector<T> a(16 * depth), b(depth * 16);
  std::vector<Acc> c(256);
  for (T& x : a) x = draw<T>(random);
  for (T& x : b) x = draw<T>(random);
  std::fill_n(a.begin() + 3 * depth, depth, T{});  // a row of zeros, as padding has
  for (Acc& x : c) x = static_cast<Acc>(static_cast<int>(random() % 100U));
  std::vector<Acc> before = c;

  assay_launch launch{};
  launch.wave_size = wave_size;
  const assay::cpu::launch_scope scope(launch);
  auto* const kernel = multiply<T, Acc, Order>;
  hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(wave_size)), 0, nullptr, a.data(), b.data(),
                     c.data());
  REQUIRE(hipGetLastError() == hipSuccess);

  const assay::accumulation model = device::accumulation_model(device::dtype_of<T>);
  double worst = 0;
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 16; ++column) {
      long double exact = before[row * 16 + column];
      double bound = 0;
      for (std::size_t step = 0; step < steps; ++step) {
        double largest = static_cast<double>(std::fabs(exact));
        for (std::size_t i = step * 16; i < step * 16 + 16; ++i) {
          const double product = value_of(a[row * depth + i]) * value_of(b[place_in_b(Order, i, column)]);
          exact += product;
          largest = std::max(largest, std::fabs(product));
        }
        bound += static_cast<double>(model.alignment_terms) * std::ldexp(largest, -model.alignment_bits) +
                 static_cast<double>(model.result_roundoff) * static_cast<double>(std::fabs(exact)) * 1.0001;
      }
      if (std::is_same_v<Acc, std::int32_t>) bound = 0;
      const double error = static_cast<double>(std::fabs(exact - static_cast<long double>(c[row * 16 + column])));
      if (!(error <= bound)) return HUGE_VAL;
      if (bound > 0) worst = std::max(worst, error / bound);
    }
  return worst;
}

}  // namespace

TEST_CASE("matrix atoms keep the declared accumulation, with waves of 32 and of 64", "[device]") {
  for (const int wave_size : {32, 64}) {
    CAPTURE(wave_size);
    const double halves = worst_error<device::f16, float>(wave_size),
                 brains = worst_error<device::bf16, float>(wave_size);
    CHECK(halves <= 1);
    CHECK(halves > 0.1);  // rounded, and bounded by not much more than it rounds
    CHECK(brains <= 1);
    CHECK(worst_error<std::int8_t, std::int32_t>(wave_size) <= 0);
    CHECK(worst_error<device::f16, float, b_order::columns>(wave_size) <= 1);
    CHECK(worst_error<std::int8_t, std::int32_t, b_order::columns>(wave_size) <= 0);
  }
}

TEST_CASE("an infinite or NaN element reaches its row and column through padding rows", "[device]") {
  for (const int wave_size : {32, 64}) {
    std::vector<device::f16> a(16 * depth), b(depth * 16);
    std::vector<float> c(256);
    b[5] = device::f16{0x7C00U};  // infinity at k = 0, column 5
    assay_launch launch{};
    launch.wave_size = wave_size;
    const assay::cpu::launch_scope scope(launch);
    auto* const kernel = multiply<device::f16, float, b_order::rows>;
    hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(wave_size)), 0, nullptr, a.data(), b.data(),
                       c.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    CHECK(std::isnan(c[5]));  // 0 * infinity, as on the GPUs
    CHECK(c[4] == 0.0F);
  }
}
