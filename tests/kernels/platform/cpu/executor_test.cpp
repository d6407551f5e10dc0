#include "kernels/platform/cpu/executor/executor.hpp"

#include <hip/hip_runtime.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

namespace {

__global__ void write_coordinates(int* out) {
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned int size = blockDim.x * blockDim.y * blockDim.z;
  const bool lane_ok = __lane_id() == thread % static_cast<unsigned int>(warpSize);
  out[block * size + thread] = lane_ok ? static_cast<int>(block * size + thread) : -2;
}

/// A tree reduction as everyone writes it: static LDS, a barrier in a loop.
template <int N>
__global__ void __launch_bounds__(N) sum_block(const int* in, int* out) {
  __shared__ int partial[N];
  const unsigned int i = threadIdx.x;
  partial[i] = in[blockIdx.x * N + i];
  __syncthreads();
  for (unsigned int stride = N / 2; stride > 0; stride /= 2) {
    if (i < stride) partial[i] += partial[i + stride];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = partial[0];
}

/// Rotates values through dynamic LDS, a slot a round; the first read is of LDS as it comes.
__global__ void rotate(int rounds, const int* in, int* out, unsigned int* first_seen) {
  HIP_DYNAMIC_SHARED(int, ring);
  const unsigned int i = threadIdx.x, n = blockDim.x;
  first_seen[blockIdx.x * n + i] = static_cast<unsigned int>(ring[i]);
  int value = in[i];
  for (int r = 0; r < rounds; ++r) {
    ring[i] = value;
    __syncthreads();
    value = ring[(i + 1) % n];
    __syncthreads();
  }
  out[blockIdx.x * n + i] = value;
}

std::vector<int> squares(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = i * i % 1009;
  return values;
}

}  // namespace

TEST_CASE("Every thread of a three-dimensional grid runs once and knows where it is") {
  for (const assay_launch& l : all_launches()) {
    const launch_scope scope(l);
    std::vector<int> out(2 * 3 * 2 * 5 * 4 * 3, -1);
    hipLaunchKernelGGL(write_coordinates, dim3(2, 3, 2), dim3(5, 4, 3), 0, nullptr, out.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    std::vector<int> expected(out.size());
    std::iota(expected.begin(), expected.end(), 0);
    INFO(name(l));
    REQUIRE(out == expected);
  }
}

TEST_CASE("A block reduction through static LDS is right at up to 1024 threads") {
  const std::vector<int> in = squares(3 * 1024);
  for (const assay_launch& l : all_launches()) {
    INFO(name(l));
    const launch_scope scope(l);
    std::vector<int> out(3);
    hipLaunchKernelGGL((sum_block<1024>), 3, 1024, 0, nullptr, in.data(), out.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    for (int b = 0; b < 3; ++b)
      REQUIRE(out[static_cast<std::size_t>(b)] ==
              std::accumulate(in.begin() + b * 1024, in.begin() + (b + 1) * 1024, 0));
    hipLaunchKernelGGL(HIP_KERNEL_NAME(sum_block<64>), 2, 64, 0, nullptr, in.data(), out.data());
    REQUIRE(out[1] == std::accumulate(in.begin() + 64, in.begin() + 128, 0));
  }
}

TEST_CASE("Dynamic LDS is aligned, starts as NaN poison in every block, and barriers order it") {
  const int n = 100, rounds = 7, blocks = 3;
  const std::vector<int> in = squares(n);
  for (const assay_launch& l : all_launches()) {
    INFO(name(l));
    const launch_scope scope(l);
    std::vector<int> out(static_cast<std::size_t>(n * blocks));
    std::vector<unsigned int> seen(static_cast<std::size_t>(n * blocks));
    hipLaunchKernelGGL(rotate, blocks, n, static_cast<std::size_t>(n) * sizeof(int), nullptr, rounds, in.data(),
                       out.data(), seen.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    for (int i = 0; i < n * blocks; ++i)
      if (out[static_cast<std::size_t>(i)] != in[static_cast<std::size_t>((i % n + rounds) % n)]) FAIL("thread " << i);
    // Wave 0 may have stored before another wave reads, but only into its own slots.
    for (const unsigned int word : seen) REQUIRE(word == 0xFFFFFFFFU);
  }
}

namespace {

__global__ void note_address(std::uintptr_t* out) {
  HIP_DYNAMIC_SHARED(char, lds);
  *out = reinterpret_cast<std::uintptr_t>(lds);
}

}  // namespace

TEST_CASE("Dynamic LDS is 128-byte aligned for any size") {
  for (const std::size_t size : {0U, 1U, 4U, 100U, 4096U, 65536U}) {
    std::uintptr_t address = 1;
    hipLaunchKernelGGL(note_address, 1, 1, size, nullptr, &address);
    REQUIRE(hipGetLastError() == hipSuccess);
    REQUIRE(address % 128 == 0);
  }
}

TEST_CASE("Sizes that no GPU takes are refused and nothing runs") {
  const int n = 4;
  std::vector<int> out(n, 7);
  const auto refused = [&](dim3 grid, dim3 block, std::size_t shared_bytes) {
    hipLaunchKernelGGL(write_coordinates, grid, block, shared_bytes, nullptr, out.data());
    return hipPeekAtLastError() == hipErrorInvalidConfiguration && hipGetLastError() == hipErrorInvalidConfiguration &&
           hipGetLastError() == hipSuccess;
  };
  CHECK(refused(1, 0, 0));
  CHECK(refused(1, 1025, 0));
  CHECK(refused(1, dim3(32, 32, 2), 0));
  CHECK(refused(1, dim3(1U << 31, 2, 1), 0));
  CHECK(refused(0, 1, 0));
  CHECK(refused(dim3(1, 65536), 1, 0));
  CHECK(refused(dim3(1, 1, 65536), 1, 0));
  CHECK(refused(dim3(1U << 31), 1, 0));
  CHECK(refused(1, 1, 65537));
  {
    const launch_scope scope(parameters(48));
    CHECK(refused(1, 1, 0));
  }
  {
    const launch_scope scope(parameters(32, 4));
    CHECK(refused(1, 1, 0));
  }
  {
    const launch_scope scope(parameters(32), 1024);
    CHECK(refused(1, 1, 1025));
  }
  CHECK(out == std::vector<int>(n, 7));
  CHECK(std::string(hipGetErrorString(hipErrorInvalidConfiguration)).find("configuration") != std::string::npos);
}

namespace {

__global__ void throw_at(int block, int thread, int value) {
  __syncthreads();
  if (static_cast<int>(blockIdx.x) >= block && static_cast<int>(threadIdx.x) == thread)
    throw std::runtime_error(std::to_string(value));
  __syncthreads();
}

__global__ void catch_inside(int* out) {
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      if ((threadIdx.x + static_cast<unsigned int>(i)) % 2 == 0) throw static_cast<int>(threadIdx.x);
    } catch (int who) {
      caught += who == static_cast<int>(threadIdx.x) ? 1 : 100;
    }
    __syncthreads();
  }
  out[threadIdx.x] = caught;
}

__global__ void launch_inside(int* out) {
  hipLaunchKernelGGL(write_coordinates, 1, 1, 0, nullptr, out);
  *out = hipGetLastError() == hipErrorNotSupported ? 1 : 0;
}

}  // namespace

TEST_CASE("An exception that leaves a kernel comes out of the launch, and the next launch is sound") {
  const std::vector<int> in = squares(1024);
  for (const int workers : {1, 4}) {
    const launch_scope scope(parameters(64, ASSAY_ROUND_ROBIN, 1, workers));
    for (int repetition = 0; repetition < 3; ++repetition) {
      REQUIRE_THROWS_AS([&] { hipLaunchKernelGGL(throw_at, 9, 200, 0, nullptr, 5, 77, 3); }(), std::runtime_error);
      REQUIRE(hipGetLastError() == hipErrorLaunchFailure);
      int sum = 0;
      hipLaunchKernelGGL((sum_block<1024>), 1, 1024, 0, nullptr, in.data(), &sum);
      REQUIRE(sum == std::accumulate(in.begin(), in.end(), 0));
    }
  }
}

TEST_CASE("The error that an exception leaves behind is not the next call's") {
  {
    const launch_scope scope(parameters(64));
    REQUIRE_THROWS([] { hipLaunchKernelGGL(throw_at, 9, 200, 0, nullptr, 5, 77, 3); }());
  }
  CHECK(hipPeekAtLastError() == hipErrorLaunchFailure);
  const launch_scope next(parameters(64));
  CHECK(hipGetLastError() == hipSuccess);
}

TEST_CASE("Kernels may throw and catch on their own stacks") {
  std::vector<int> out(300);
  hipLaunchKernelGGL(catch_inside, 1, 300, 0, nullptr, out.data());
  REQUIRE(hipGetLastError() == hipSuccess);
  for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i] == (i % 2 == 0 ? 2 : 1));
}

TEST_CASE("A launch from within a kernel is refused") {
  int out = 0;
  hipLaunchKernelGGL(launch_inside, 1, 1, 0, nullptr, &out);
  REQUIRE(out == 1);
}

namespace {

/// Bits that depend on the interleaving: the order in which threads come to an atomic.
__global__ void draw_tickets(int* counter, int* ticket) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 4; ++round) ticket[i] = ticket[i] * 31 + atomicAdd(&counter[blockIdx.x], 1);
  ticket[i] += __shfl_xor(ticket[i], 5);
  __syncthreads();
  ticket[i] += atomicAdd(&counter[blockIdx.x], 1);
}

std::vector<int> tickets(const assay_launch& l) {
  const launch_scope scope(l);
  constexpr int blocks = 7, threads = 128;
  std::vector<int> counter(blocks), ticket(blocks * threads);
  hipLaunchKernelGGL(draw_tickets, blocks, threads, 0, nullptr, counter.data(), ticket.data());
  REQUIRE(hipGetLastError() == hipSuccess);
  for (const int c : counter) REQUIRE(c == 5 * threads);
  return ticket;
}

}  // namespace

TEST_CASE("The same schedule gives the same interleaving, whatever the number of workers") {
  for (assay_launch l : all_launches()) {
    const std::vector<int> one = tickets(l);
    const bool repeats = tickets(l) == one;
    REQUIRE(repeats);
    for (const int workers : {2, 3, 16}) {
      l.workers = workers;
      INFO(name(l));
      const bool same = tickets(l) == one;
      REQUIRE(same);
    }
  }
}

TEST_CASE("Different schedules give different interleavings") {
  const std::vector<assay_launch> all = all_launches();
  std::vector<std::vector<int>> seen;
  seen.reserve(all.size());
  for (const assay_launch& l : all) seen.push_back(tickets(l));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].wave_size != all[j].wave_size)
        continue;  // round robin takes the same threads in the same order in both
      INFO(name(all[i]) << " and " << name(all[j]));
      const bool differ = seen[i] != seen[j];
      CHECK(differ);
    }
}

namespace {

/// The last block to arrive adds up what the others left, as split kernels do.
__global__ void sum_by_last_block(const int* in, int* partial, unsigned int* arrived, int* out) {
  __shared__ int is_last;
  atomicAdd(&partial[blockIdx.x], in[blockIdx.x * blockDim.x + threadIdx.x]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last != 0 && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned int b = 0; b < gridDim.x; ++b) sum += atomicAdd(&partial[b], 0);
    *out = sum;
  }
}

/// Each block waits for the one before it.
__global__ void wait_for_predecessor(int* done) {
  if (threadIdx.x == 0) {
    while (blockIdx.x > 0 && atomicAdd(&done[blockIdx.x - 1], 0) == 0) {
    }
    atomicExch(&done[blockIdx.x], 1);
  }
}

}  // namespace

TEST_CASE("Blocks on several workers share memory through atomics and fences") {
  const std::vector<int> in = squares(64 * 96);
  for (const int workers : {1, 4}) {
    for (const int schedule : {ASSAY_ROUND_ROBIN, ASSAY_RANDOM}) {
      const launch_scope scope(parameters(32, schedule, 5, workers));
      std::vector<int> partial(64);
      unsigned int arrived = 0;
      int sum = 0;
      hipLaunchKernelGGL(sum_by_last_block, 64, 96, 0, nullptr, in.data(), partial.data(), &arrived, &sum);
      REQUIRE(hipGetLastError() == hipSuccess);
      REQUIRE(sum == std::accumulate(in.begin(), in.end(), 0));
      REQUIRE(arrived == 0);
    }
    const launch_scope scope(parameters(64, ASSAY_ROUND_ROBIN, 1, workers));
    std::vector<int> done(100);
    hipLaunchKernelGGL(wait_for_predecessor, 100, 64, 0, nullptr, done.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    REQUIRE(done == std::vector<int>(100, 1));
  }
}

namespace {

__global__ void wait_for_slow_predecessor(int* done) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  while (blockIdx.x > 0 && atomicAdd(&done[blockIdx.x - 1], 0) == 0) {
  }
  atomicExch(&done[blockIdx.x], 1);
}

}  // namespace

TEST_CASE("Waiting long for an earlier block that is still running is no deadlock") {
  const launch_scope scope(parameters(64, ASSAY_ROUND_ROBIN, 1, 3));
  std::vector<int> done(3);
  hipLaunchKernelGGL(wait_for_slow_predecessor, 3, 32, 0, nullptr, done.data());
  REQUIRE(hipGetLastError() == hipSuccess);
  REQUIRE(done == std::vector<int>(3, 1));
}

namespace {

/// Which wave passed a collective, in order. Plain memory: the threads of a block share an OS thread.
__global__ void log_waves(int rounds, std::vector<int>* log) {
  for (int i = 0; i < rounds; ++i)
    if (static_cast<int>(__ballot(1) & 1) == 1 && __lane_id() == 0)
      log->push_back(static_cast<int>(threadIdx.x) / warpSize);
}

}  // namespace

TEST_CASE("Collectives are where random and pct schedules change waves, and round robin and reverse do not") {
  for (const assay_launch& l : all_launches()) {
    INFO(name(l));
    const launch_scope scope(l);
    std::vector<int> log;
    constexpr int rounds = 100;
    hipLaunchKernelGGL(log_waves, 1, 256, 0, nullptr, rounds, &log);
    const int waves = 256 / l.wave_size;
    REQUIRE(log.size() == static_cast<std::size_t>(rounds) * static_cast<std::size_t>(waves));
    int changes = 0;
    for (std::size_t i = 1; i < log.size(); ++i) changes += log[i] != log[i - 1] ? 1 : 0;
    switch (l.schedule) {
      case ASSAY_ROUND_ROBIN:
      case ASSAY_REVERSE: {
        CHECK(changes == waves - 1);
        CHECK(log.front() == (l.schedule == ASSAY_REVERSE ? waves - 1 : 0));
        CHECK(log.back() == (l.schedule == ASSAY_REVERSE ? 0 : waves - 1));
        break;
      }
      case ASSAY_RANDOM: CHECK(changes > rounds); break;
      default:  // a change of priorities costs two changes of waves at most: there and back
        CHECK(changes <= waves - 1 + 2 * l.depth);
    }
  }
  // With change points below 100 x 4 steps in nearly all draws, seeds without any are rare.
  int preempted = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const launch_scope scope(parameters(64, ASSAY_PCT, seed));
    std::vector<int> log;
    hipLaunchKernelGGL(log_waves, 1, 256, 0, nullptr, 100, &log);
    int changes = 0;
    for (std::size_t i = 1; i < log.size(); ++i) changes += log[i] != log[i - 1] ? 1 : 0;
    preempted += changes > 3 ? 1 : 0;
  }
  CHECK(preempted >= 10);
}

namespace {

__global__ void count_intervals(std::uint32_t* barriers, std::uint32_t* collectives) {
  for (unsigned int i = 0; i <= blockIdx.x; ++i) __syncthreads();
  if (threadIdx.x / static_cast<unsigned int>(warpSize) == 1) static_cast<void>(__any(0));
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  barriers[i] = this_thread->block->barrier_interval;
  collectives[i] = *this_thread->wave_interval;
}

}  // namespace

TEST_CASE("A thread knows how many barriers its block and how many collectives its wave has passed") {
  std::vector<std::uint32_t> barriers(4 * 128), collectives(4 * 128);
  const launch_scope scope(parameters(32));
  hipLaunchKernelGGL(count_intervals, 4, 128, 0, nullptr, barriers.data(), collectives.data());
  for (std::size_t i = 0; i < barriers.size(); ++i) {
    REQUIRE(barriers[i] == i / 128 + 1);
    REQUIRE(collectives[i] == (i % 128 / 32 == 1 ? 1 : 0));
  }
  REQUIRE(this_thread == nullptr);
}
