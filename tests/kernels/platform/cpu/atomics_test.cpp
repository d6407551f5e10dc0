#include <hip/hip_runtime.h>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

TEMPLATE_TEST_CASE("Each atomic stores what its name says and returns the old value", "", int, unsigned int,
                   unsigned long long) {
  using T = TestType;
  const auto check = [](T start, T expected, auto operation) {
    T cell = start;
    CHECK(operation(&cell) == start);
    CHECK(cell == expected);
  };
  check(5, 12, [](T* p) { return atomicAdd(p, 7); });
  check(std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), [](T* p) { return atomicAdd(p, 1); });
  check(9, 2, [](T* p) { return atomicSub(p, 7); });
  check(5, 7, [](T* p) { return atomicMax(p, 7); });
  check(9, 9, [](T* p) { return atomicMax(p, 7); });
  check(9, 7, [](T* p) { return atomicMin(p, 7); });
  check(5, 5, [](T* p) { return atomicMin(p, 7); });
  check(0b1100, 0b1110, [](T* p) { return atomicOr(p, 0b1010); });
  check(0b1100, 0b1000, [](T* p) { return atomicAnd(p, 0b1010); });
  check(0b1100, 0b0110, [](T* p) { return atomicXor(p, 0b1010); });
  check(5, 7, [](T* p) { return atomicExch(p, 7); });
  check(5, 7, [](T* p) { return atomicCAS(p, 5, 7); });
  check(6, 6, [](T* p) { return atomicCAS(p, 5, 7); });
}

TEST_CASE("Atomics of floats, and the counter that wraps at its limit") {
  float f = 1.5F;
  CHECK(atomicAdd(&f, 2.0F) == 1.5F);
  CHECK(f == 3.5F);
  CHECK(atomicMax(&f, 4.0F) == 3.5F);
  CHECK(f == 4.0F);
  unsigned int u = 2;
  CHECK(atomicInc(&u, 3) == 2);
  CHECK(atomicInc(&u, 3) == 3);
  CHECK(u == 0);
}

namespace {

__global__ void contend(int* sum, unsigned long long* count, float* floats, int* most, int* lock, int* guarded) {
  for (int i = 0; i < 5; ++i) {
    atomicAdd(sum, static_cast<int>(threadIdx.x));
    atomicAdd(count, 1ULL);
    atomicAdd(floats, 0.5F);
    atomicMax(most, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
  }
  bool done = false;
  while (!done) {  // a spin lock, one lane at a time
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *guarded = *guarded + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

}  // namespace

TEST_CASE("Contending threads and workers lose no update, and a spin lock ends on every schedule") {
  for (assay_launch l : all_launches())
    for (const int workers : {1, 3}) {
      l.workers = workers;
      INFO(name(l));
      const launch_scope scope(l);
      int sum = 0, most = 0, lock = 0, guarded = 0;
      unsigned long long count = 0;
      float floats = 0;
      hipLaunchKernelGGL(contend, 5, 96, 0, nullptr, &sum, &count, &floats, &most, &lock, &guarded);
      REQUIRE(hipGetLastError() == hipSuccess);
      REQUIRE(sum == 5 * 5 * (95 * 96 / 2));
      REQUIRE(count == 5 * 5 * 96);
      REQUIRE(floats == 0.5F * 5 * 5 * 96);
      REQUIRE(most == 5 * 96 - 1);
      REQUIRE(guarded == 5 * 96);
    }
}

namespace {

/// Waves hand a token round: each waits for its number, on whatever the schedule prefers.
__global__ void pass_token(int* token) {
  const int wave = static_cast<int>(threadIdx.x) / warpSize;
  const int waves = static_cast<int>(blockDim.x) / warpSize;
  for (int round = 0; round < 3; ++round) {
    const int mine = round * waves + (waves - 1 - wave);
    if (__lane_id() == 0) {
      while (atomicAdd(token, 0) != mine) {
      }
      atomicAdd(token, 1);
    }
    __syncwarp();
  }
}

/// The same where all lanes wait. `polls` counts how often in vain.
__global__ void pass_token_of_lanes(int* token, int* polls) {
  const int wave = static_cast<int>(threadIdx.x) / warpSize;
  const int waves = static_cast<int>(blockDim.x) / warpSize;
  for (int round = 0; round < 3; ++round) {
    const int mine = round * waves + (waves - 1 - wave);
    while (atomicAdd(token, 0) != mine) ++*polls;
    __syncwarp();
    if (__lane_id() == 0) atomicAdd(token, 1);
    __syncwarp();
  }
}

}  // namespace

TEST_CASE("A wave that polls for another wave's store does not starve it") {
  for (const assay_launch& l : all_launches()) {
    INFO(name(l));
    const launch_scope scope(l);
    int token = 0;
    hipLaunchKernelGGL(pass_token, 1, 256, 0, nullptr, &token);
    REQUIRE(hipGetLastError() == hipSuccess);
    REQUIRE(token == 3 * 256 / l.wave_size);
  }
}

TEST_CASE("Waves that poll in vain give way soon") {
  constexpr int threads = 256, turns = 32;
  for (const assay_launch& l : all_launches()) {
    INFO(name(l));
    const launch_scope scope(l);
    int token = 0, polls = 0;
    hipLaunchKernelGGL(pass_token_of_lanes, 1, threads, 0, nullptr, &token, &polls);
    const int hand_overs = 3 * threads / l.wave_size;
    CHECK(token == hand_overs);
    // In the schedule of priorities each wave polls for so many turns of its lanes.
    if (l.schedule == ASSAY_PCT) CHECK(polls <= hand_overs * turns * threads);
  }
}
