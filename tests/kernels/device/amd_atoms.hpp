/// The atoms of the amd platform, run by the cpu platform's builtins of the same names: do lanes hold what the layouts
/// say? A source defines what AMD's compiler does of one GPU (__GFX12__) and `device`, a namespace of its own for the
/// header's names, and includes this file.
#include <hip/hip_runtime.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/contract.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/mma/fp8_words.hpp"
#include "kernels/device/mma/gpu_loops.hpp"
#include "kernels/platform/current.hpp"

namespace assay::ASSAY_ATOMS {
using namespace assay::device;
}

#define device ASSAY_ATOMS
#include "kernels/device/mma/amd_fp8.hpp"
#undef device

namespace {

namespace atoms = assay::ASSAY_ATOMS;

/// C = A B, with A[row][k] and B[k][column] at a[row * 16 + k] and b[column * 16 + k].
template <class T, class Acc>
__global__ void multiply(const T* a, const T* b, Acc* c) {
  atoms::fragment<T> fa, fb;
  for (int i = 0; i < fa.count(); ++i) {
    const atoms::coordinate at = atoms::a_coordinate(i), bt = atoms::b_coordinate(i);
    fa.value[i] = a[at.outer * 16 + at.k];
    fb.value[i] = b[bt.outer * 16 + bt.k];
  }
  atoms::accumulator<Acc> sum;
  atoms::mma(sum, fa, fb);
  for (int i = 0; i < sum.count(); ++i) c[atoms::c_row(i) * 16 + atoms::c_column(i)] = sum.value[i];
}

/// The same in FP8, of depth 32.
template <class T>
__global__ void multiply_bytes(const std::uint8_t* a, const std::uint8_t* b, float* c) {
  atoms::accumulator<float> sum[1];
  const auto load = [](const std::uint8_t* from, atoms::fp8_fragment& f) {
    for (int i = 0; i < atoms::fragment_words(); ++i) {
      const assay::device::word_place at = atoms::word_coordinate(i);
      f.word[i] = *reinterpret_cast<const std::uint32_t*>(from + at.outer * 32 + at.k);
    }
  };
  atoms::mma_rows<T, 1>(
      sum, [](int) { return true; }, 1, [&](int, int, atoms::fp8_fragment& f) { load(a, f); },
      [&](int, atoms::fp8_fragment& f) { load(b, f); });
  for (int i = 0; i < sum[0].count(); ++i) c[atoms::c_row(i) * 16 + atoms::c_column(i)] = sum[0].value[i];
}

template <class T>
T element(int value) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<std::int8_t>(value);
  else
    return assay::device::from_float<T>(static_cast<float>(value));
}

/// Whole numbers up to 15, whose sums are exact in all types.
std::vector<int> numbers(std::size_t count) {
  std::mt19937 random(11);
  std::vector<int> all(count);
  for (int& x : all) x = static_cast<int>(random() % 31U) - 15;
  return all;
}

std::vector<int> product(const std::vector<int>& a, const std::vector<int>& b, std::size_t depth) {
  std::vector<int> c(256);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 16; ++column)
      for (std::size_t k = 0; k < depth; ++k) c[row * 16 + column] += a[row * depth + k] * b[column * depth + k];
  return c;
}

template <class Kernel, class... Arguments>
void launch(Kernel* kernel, Arguments... arguments) {
  assay_launch one{};
  one.wave_size = atoms::largest_wave;
  const assay::cpu::launch_scope scope(one);
  hipLaunchKernelGGL(kernel, dim3(1), dim3(atoms::largest_wave), 0, nullptr, arguments...);
  REQUIRE(hipGetLastError() == hipSuccess);
}

template <class T, class Acc>
bool multiplies() {
  const std::vector<int> all = numbers(512), left(all.begin(), all.begin() + 256), right(all.begin() + 256, all.end());
  std::vector<T> a, b;
  for (const int x : left) a.push_back(element<T>(x));
  for (const int x : right) b.push_back(element<T>(x));
  std::vector<Acc> c(256);
  launch(multiply<T, Acc>, a.data(), b.data(), c.data());
  const std::vector<int> exact = product(left, right, 16);
  return std::vector<int>(c.begin(), c.end()) == exact;
}

template <class T>
bool multiplies_bytes() {
  const std::vector<int> all = numbers(1024), left(all.begin(), all.begin() + 512), right(all.begin() + 512, all.end());
  std::vector<std::uint8_t> a, b;
  for (const int x : left) a.push_back(element<T>(x).bits);
  for (const int x : right) b.push_back(element<T>(x).bits);
  std::vector<float> c(256);
  launch(multiply_bytes<T>, static_cast<const std::uint8_t*>(a.data()), static_cast<const std::uint8_t*>(b.data()),
         c.data());
  const std::vector<int> exact = product(left, right, 32);
  return std::vector<int>(c.begin(), c.end()) == exact;
}

}  // namespace

TEST_CASE("AMD's atoms multiply: " ASSAY_ATOMS_OF, "[device]") {
  CHECK(multiplies<assay::device::f16, float>());
  CHECK(multiplies<assay::device::bf16, float>());
  CHECK(multiplies<std::int8_t, std::int32_t>());
  CHECK(multiplies_bytes<assay::device::e4m3fn>());
  CHECK(multiplies_bytes<assay::device::e4m3fnuz>());
}
