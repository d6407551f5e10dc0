/// Every kind of defect, with its place. Each kernel here is wrong in one way; a hang would be a failure of the
/// executor.
#include <hip/hip_runtime.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

namespace {

int line_a = 0, line_b = 0;  // of the places that the kernels below name
constexpr const char* file = "diagnose_test.cpp:";

std::string at(int line) {
  return "(" + (file + std::to_string(line)) + ")";
}

/// On all schedules and any number of workers there is one report, and it is this one. `expected.lane` is the thread's
/// linear index; `expected.wave` is not used.
template <class F>
void require_defect(const seen_defect& expected, F launch) {
  for (assay_launch l : all_launches())
    for (const int workers : {1, 3}) {
      l.workers = workers;
      seen_defect adjusted = expected;
      adjusted.wave = expected.lane / l.wave_size;
      adjusted.lane = expected.lane % l.wave_size;
      INFO(name(l));
      const std::vector<seen_defect> seen = defects_of(l, launch);
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].kind == adjusted.kind);
      CHECK(seen[0].kernel == adjusted.kernel);
      CHECK(seen[0].message == adjusted.message);
      CHECK(seen[0].block == adjusted.block);
      CHECK(seen[0].wave == adjusted.wave);
      CHECK(seen[0].lane == adjusted.lane);
    }
}

__global__ void two_barriers(unsigned int odd_block, unsigned int first) {
  if (blockIdx.x + gridDim.x * blockIdx.y >= odd_block && threadIdx.x >= first) {
    line_a = __LINE__ + 1;
    __syncthreads();
  } else {
    line_b = __LINE__ + 1;
    __syncthreads();
  }
}

}  // namespace

TEST_CASE("Threads at different barriers are reported with both lines") {
  const auto launch = [] { hipLaunchKernelGGL(two_barriers, dim3(2, 3), 128, 0, nullptr, 3U, 70U); };
  launch();
  require_defect(
      {ASSAY_DIVERGENT_BARRIER,
       "two_barriers",
       "threads 0-69 wait at __syncthreads " + at(line_b) + "; threads 70-127 wait at __syncthreads " + at(line_a),
       {1, 1, 0},
       0,
       70},
      launch);
  // Of two halves the first is taken to be right; the smaller part is to blame wherever it stands.
  require_defect(
      {ASSAY_DIVERGENT_BARRIER,
       "two_barriers",
       "threads 0-63 wait at __syncthreads " + at(line_b) + "; threads 64-127 wait at __syncthreads " + at(line_a),
       {0, 0, 0},
       0,
       64},
      [] { hipLaunchKernelGGL(two_barriers, 1, 128, 0, nullptr, 0U, 64U); });
  require_defect(
      {ASSAY_DIVERGENT_BARRIER,
       "two_barriers",
       "threads 0-4 wait at __syncthreads " + at(line_b) + "; threads 5-127 wait at __syncthreads " + at(line_a),
       {0, 0, 0},
       0,
       0},
      [] { hipLaunchKernelGGL(two_barriers, 1, 128, 0, nullptr, 0U, 5U); });
}

namespace {

__global__ void leave_before_barrier(int leaver) {
  if (static_cast<int>(threadIdx.x) == leaver || (leaver < 0 && threadIdx.x >= 96)) return;
  line_a = __LINE__ + 1;
  __syncthreads();
}

}  // namespace

TEST_CASE("A thread that left before a barrier is reported") {
  const auto launch = [] { hipLaunchKernelGGL(leave_before_barrier, 1, 128, 0, nullptr, 77); };
  launch();
  require_defect({ASSAY_DIVERGENT_BARRIER,
                  "leave_before_barrier",
                  "threads 0-76, 78-127 wait at __syncthreads " + at(line_a) + "; thread 77 has left the kernel",
                  {0, 0, 0},
                  0,
                  77},
                 launch);
  require_defect({ASSAY_DIVERGENT_BARRIER,
                  "leave_before_barrier",
                  "threads 0-95 wait at __syncthreads " + at(line_a) + "; threads 96-127 have left the kernel",
                  {0, 0, 0},
                  0,
                  96},
                 [] { hipLaunchKernelGGL(leave_before_barrier, 1, 128, 0, nullptr, -1); });
}

namespace {

__global__ void barrier_in_loop(int* trips) {
  const int n = threadIdx.x == 40 ? 3 : 4;
  for (int i = 0; i < n; ++i) {
    line_a = __LINE__ + 1;
    __syncthreads();
    if (threadIdx.x == 0) *trips = i + 1;
  }
}

}  // namespace

TEST_CASE("A barrier in a loop of unequal trip counts is reported after the common trips") {
  static int trips;
  const auto launch = [] {
    trips = 0;
    hipLaunchKernelGGL(barrier_in_loop, 1, 64, 0, nullptr, &trips);
  };
  launch();
  require_defect({ASSAY_DIVERGENT_BARRIER,
                  "barrier_in_loop",
                  "threads 0-39, 41-63 wait at __syncthreads " + at(line_a) + "; thread 40 has left the kernel",
                  {0, 0, 0},
                  0,
                  40},
                 launch);
  REQUIRE(trips == 3);
}

namespace {

__global__ void shuffle_in_branch(int* out) {
  int x = static_cast<int>(threadIdx.x);
  if (x % 32 < 8 && x >= 64) {
    line_a = __LINE__ + 1;
    x = __shfl_xor(x, 1);
  }
  line_b = __LINE__ + 1;
  __syncthreads();
  out[threadIdx.x] = x;
}

}  // namespace

TEST_CASE("A shuffle that not all lanes of the wave come to is reported with where the others are") {
  static int out[128];
  for (const int wave_size : {32, 64}) {
    const auto launch = [] { hipLaunchKernelGGL(shuffle_in_branch, 2, 128, 0, nullptr, out); };
    const std::vector<seen_defect> seen = defects_of(parameters(wave_size), launch);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == ASSAY_DIVERGENT_COLLECTIVE);
    CHECK(seen[0].block == std::vector<int>{0, 0, 0});
    CHECK(seen[0].wave == (wave_size == 32 ? 2 : 1));
    CHECK(seen[0].lane == 0);  // most lanes wait at the barrier: the odd ones are at the shuffle
    const std::string lanes = wave_size == 32 ? "lanes 0-7" : "lanes 0-7, 32-39";
    const std::string others = wave_size == 32 ? "lanes 8-31" : "lanes 8-31, 40-63";
    std::string message = lanes + " wait at __shfl_xor " + at(line_a) + "; ";
    message += others + " wait at __syncthreads " + at(line_b);
    CHECK(seen[0].message == message);
  }
}

namespace {

__global__ void two_shuffles(int* out) {
  int x = static_cast<int>(threadIdx.x);
  if (x % 32 == 5) {
    line_a = __LINE__ + 1;
    x = __shfl(x, 0);
  } else {
    line_b = __LINE__ + 1;
    x += static_cast<int>(__ballot(x));
  }
  out[threadIdx.x] = x;
}

__global__ void wrong_mask(int* out) {
  line_a = __LINE__ + 1;
  out[threadIdx.x] = __shfl_sync(0xFFFFFFF7U, out[threadIdx.x], 0);
}

__global__ void crossed_masks(int* out) {
  const std::uint64_t mask = threadIdx.x < 4 ? 0xFF : every_lane;
  line_a = __LINE__ + 1;
  out[threadIdx.x] = __shfl_sync(mask, out[threadIdx.x], 0);
}

}  // namespace

TEST_CASE("Lanes at different collectives, outside of their own mask or under crossed masks are reported") {
  static int out[64];
  const auto two = [] { hipLaunchKernelGGL(two_shuffles, 1, 32, 0, nullptr, out); };
  two();
  require_defect({ASSAY_DIVERGENT_COLLECTIVE,
                  "two_shuffles",
                  "lanes 0-4, 6-31 wait at __ballot " + at(line_b) + "; lane 5 waits at __shfl " + at(line_a),
                  {0, 0, 0},
                  0,
                  5},
                 two);
  const auto outside = [] { hipLaunchKernelGGL(wrong_mask, 1, 16, 0, nullptr, out); };
  outside();
  require_defect({ASSAY_DIVERGENT_COLLECTIVE,
                  "wrong_mask",
                  "lane 3 is not in its own mask at __shfl_sync " + at(line_a),
                  {0, 0, 0},
                  0,
                  3},
                 outside);
  const auto crossed = [] { hipLaunchKernelGGL(crossed_masks, 1, 32, 0, nullptr, out); };
  crossed();
  require_defect(
      {ASSAY_DIVERGENT_COLLECTIVE,
       "crossed_masks",
       "lanes 0-3 wait at __shfl_sync " + at(line_a) + " with mask 0xff; lanes 4-31 wait at __shfl_sync " + at(line_a),
       {0, 0, 0},
       0,
       0},
      crossed);
}

namespace {

__global__ void shuffle_from_exited(int* out) {
  if (threadIdx.x % 32 == 9) return;
  line_a = __LINE__ + 1;
  out[threadIdx.x] = __shfl_down(static_cast<int>(threadIdx.x), 1U, 32);
}

__global__ void masked_neighbours(bool leave, int* out) {
  if (leave && threadIdx.x == 0) return;
  line_a = __LINE__ + 1;
  if (threadIdx.x > 0 && threadIdx.x < 8) out[threadIdx.x] = __shfl_xor_sync(0xFE, 1, 1);
  if (!leave) __syncwarp();
}

}  // namespace

TEST_CASE("A shuffle from a lane that has left, does not exist or is outside of the mask is reported") {
  static int out[128];
  const auto exited = [] { hipLaunchKernelGGL(shuffle_from_exited, 1, 32, 0, nullptr, out); };
  exited();
  require_defect({ASSAY_EXITED_LANE,
                  "shuffle_from_exited",
                  "lane 8 reads from lane 9 at __shfl_down " + at(line_a) + ", which has left the kernel",
                  {0, 0, 0},
                  0,
                  8},
                 exited);
  const auto missing = [] { hipLaunchKernelGGL(shuffle_from_exited, 3, 5, 0, nullptr, out); };
  require_defect({ASSAY_EXITED_LANE,
                  "shuffle_from_exited",
                  "lane 4 reads from lane 5 at __shfl_down " + at(line_a) + ", which does not exist",
                  {0, 0, 0},
                  0,
                  4},
                 missing);
  for (const bool leave : {false, true}) {
    const auto masked = [=] { hipLaunchKernelGGL(masked_neighbours, 1, 32, 0, nullptr, leave, out); };
    masked();
    require_defect({ASSAY_EXITED_LANE,
                    "masked_neighbours",
                    "lane 1 reads from lane 0 at __shfl_xor_sync " + at(line_a) + ", which is outside of the mask",
                    {0, 0, 0},
                    0,
                    1},
                   masked);
  }
}

namespace {

__global__ void wait_for_nobody(int* flag) {
  if (threadIdx.x >= 64) {
    while (atomicAdd(flag, 0) == 0) line_a = __LINE__;
  }
  line_b = __LINE__ + 1;
  __syncthreads();
}

__global__ void wait_busily(int* counter) {
  while (atomicAdd(counter, 1) != -1) line_a = __LINE__;
}

__global__ void lock_lanes_out(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) line_a = __LINE__;
  line_b = __LINE__ + 1;
  __syncthreads();
  atomicExch(lock, 0);
}

}  // namespace

TEST_CASE("Polling in vain is reported as a deadlock") {
  static int flag;
  const auto polling = [] { hipLaunchKernelGGL(wait_for_nobody, 2, 96, 0, nullptr, &flag); };
  polling();
  require_defect({ASSAY_DEADLOCK,
                  "wait_for_nobody",
                  "no progress: threads 0-63 wait at __syncthreads " + at(line_b) +
                      "; threads 64-95 poll at atomicAdd " + at(line_a),
                  {0, 0, 0},
                  0,
                  64},
                 polling);
  for (const int wave_size : {32, 64}) {
    static int lock;
    lock = 0;
    const auto locking = [] { hipLaunchKernelGGL(lock_lanes_out, 1, 64, 0, nullptr, &lock); };
    const std::vector<seen_defect> seen = defects_of(parameters(wave_size), locking);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == ASSAY_DEADLOCK);
    CHECK(seen[0].message == "no progress: thread 0 waits at __syncthreads " + at(line_b) +
                                 "; threads 1-63 poll at atomicCAS " + at(line_a));
  }
}

TEST_CASE("A loop that changes memory and never ends is reported too", "[.slow]") {
  static int counter;
  const std::vector<seen_defect> seen =
      defects_of(parameters(64), [] { hipLaunchKernelGGL(wait_busily, 1, 64, 0, nullptr, &counter); });
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].kind == ASSAY_DEADLOCK);
}

namespace {

__global__ void write_lds(int index) {
  HIP_DYNAMIC_SHARED(unsigned char, lds);
  __syncthreads();
  if (blockIdx.x == 1 && threadIdx.x == 3) lds[index] = 0;
}

}  // namespace

TEST_CASE("A store past either end of dynamic LDS is reported, one inside is not") {
  const auto storing = [](int index) {
    return defects_of(parameters(32), [=] { hipLaunchKernelGGL(write_lds, 3, 64, 100, nullptr, index); });
  };
  CHECK(storing(0).empty());
  CHECK(storing(99).empty());
  for (const int index : {100, 101, 611, 1123}) {
    const std::vector<seen_defect> seen = storing(index);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0] == seen_defect{ASSAY_LDS_OVERRUN,
                                 "write_lds",
                                 "the block changed dynamic LDS byte " + std::to_string(index) +
                                     " of 100, past the size of the launch",
                                 {1, 0, 0},
                                 -1,
                                 -1});
  }
  const std::vector<seen_defect> seen = storing(-1);
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].message == "the block changed dynamic LDS byte -1 of 100, before its start");
}

TEST_CASE("A defect ends the launch, is counted by the scope and leaves the executor sound") {
  static int out[128];
  std::vector<seen_defect> seen;
  assay_launch l = parameters(64);
  l.context = &seen;
  l.on_defect = &collect;
  const launch_scope scope(l);
  for (int i = 1; i <= 20; ++i) {
    hipLaunchKernelGGL(leave_before_barrier, 1, 1024, 0, nullptr, 1000);
    REQUIRE(scope.defects() == i);
    REQUIRE(seen.size() == static_cast<std::size_t>(i));
    REQUIRE(hipGetLastError() == hipErrorLaunchFailure);
    hipLaunchKernelGGL(leave_before_barrier, 1, 1024, 0, nullptr, 5000);
    REQUIRE(hipGetLastError() == hipSuccess);
  }
  hipLaunchKernelGGL((two_shuffles), 1, 32, 0, nullptr, out);
  REQUIRE(seen.back().kernel == "two_shuffles");
  static_cast<void>(hipGetLastError());
  {
    const launch_scope inner(parameters(32));  // reports to no other scope
    hipLaunchKernelGGL(two_shuffles, 1, 32, 0, nullptr, out);
    REQUIRE(inner.defects() == 1);
  }
  REQUIRE(scope.defects() == 21);
  static_cast<void>(hipGetLastError());
}
