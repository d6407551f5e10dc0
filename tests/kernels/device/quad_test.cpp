// Four lanes side by side, on the executor with both wave sizes.
#include "kernels/device/quad.hpp"

#include <hip/hip_runtime.h>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

namespace device = assay::device;

namespace {

constexpr int threads = 128;

__global__ void transpose_all(const std::uint32_t* in, std::uint32_t* out, int* sums) {
  std::uint32_t word[4];
  for (int i = 0; i < 4; ++i) word[i] = in[4 * threadIdx.x + static_cast<unsigned int>(i)];
  device::transpose_quad(word);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + static_cast<unsigned int>(i)] = word[i];
  sums[threadIdx.x] = device::join_quad(static_cast<int>(threadIdx.x), [](int x, int y) { return x + y; });
}

}  // namespace

TEST_CASE("a quad transposes its words and joins its values", "[quad]") {
  std::vector<std::uint32_t> in(4 * threads), out(4 * threads);
  std::vector<int> sums(threads);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint32_t>(1000 + i);
  for (const assay_launch& l : assay::cpu::all_launches()) {
    INFO(assay::cpu::name(l));
    const assay::cpu::launch_scope scope(l);
    hipLaunchKernelGGL(transpose_all, 1, threads, 0, nullptr, in.data(), out.data(), sums.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const std::size_t first = thread / 4 * 4;
      for (std::size_t i = 0; i < 4; ++i) CHECK(out[4 * thread + i] == in[4 * (first + i) + thread % 4]);
      CHECK(sums[thread] == static_cast<int>(4 * first + 6));
    }
  }
}
