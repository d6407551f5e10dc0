/// Static __shared__ variables: what they hold when a block starts.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

namespace {

template <class T>
__device__ T& shared_number() {
  __shared__ T number;
  return number;
}

/// What static LDS held at first: two arrays of one declaration, a number that no thread stores, one of a function.
template <class T>
__global__ void note_static_lds(T* out) {
  __shared__ T words[2], more[2];
  __shared__ T never_stored;
  T* const own = out + static_cast<std::ptrdiff_t>(blockIdx.x) * 6;
  for (int i = 0; i < 2; ++i) own[i] = words[i], own[2 + i] = more[i];
  own[4] = never_stored;
  own[5] = shared_number<T>();
  for (int i = 0; i < 2; ++i) words[i] = more[i] = 5;
  shared_number<T>() = 7;
}

template <class T>
void require_poison() {
  const int blocks = 3;
  std::vector<T> seen(6 * blocks);
  for (int launch = 0; launch < 2; ++launch) {
    std::ranges::fill(seen, T{0});
    hipLaunchKernelGGL(HIP_KERNEL_NAME(note_static_lds<T>), blocks, 1, 0, nullptr, seen.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    for (const T word : seen) REQUIRE(word == std::numeric_limits<T>::max());
  }
}

thread_local std::uint32_t of_the_host;  // no part of it

}  // namespace

TEST_CASE("Static LDS starts as NaN poison in every block, whatever the block before left") {
  of_the_host = 4;
  for (const assay_launch& l : all_launches()) {
    INFO(name(l));
    const launch_scope scope(l);
    require_poison<std::uint16_t>();
    require_poison<std::uint32_t>();
  }
  REQUIRE(of_the_host == 4);
}
