/// Each wave operation against a plain model, on every schedule and both wave sizes.
#include <hip/hip_runtime.h>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cstring>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 192;  // a multiple of both wave sizes, more than one wave of each

enum class op { indexed, mirrored, up, down };

template <class T>
__global__ void shuffle_all(op which, bool sync, int argument, int width, const T* in, T* out) {
  const unsigned int i = threadIdx.x;
  const auto delta = static_cast<unsigned int>(argument);
  constexpr std::uint64_t all = every_lane;
  T got{};
  switch (which) {
    case op::indexed: got = sync ? __shfl_sync(all, in[i], argument, width) : __shfl(in[i], argument, width); break;
    case op::mirrored:
      got = sync ? __shfl_xor_sync(all, in[i], argument, width) : __shfl_xor(in[i], argument, width);
      break;
    case op::up: got = sync ? __shfl_up_sync(all, in[i], delta, width) : __shfl_up(in[i], delta, width); break;
    case op::down: got = sync ? __shfl_down_sync(all, in[i], delta, width) : __shfl_down(in[i], delta, width); break;
  }
  out[i] = got;
}

/// Source lane by HIP's definition: within segments of `width` lanes; out of the segment means the own value, but
/// __shfl wraps and __shfl_xor may read from lower segments.
int model_source(op which, int argument, int width, int lane) {
  const int segment = lane / width * width, inside = lane - segment;
  switch (which) {
    case op::indexed: return segment + ((argument % width) + width) % width;
    case op::mirrored: return (lane ^ argument) < segment + width ? lane ^ argument : lane;
    case op::up: return inside - argument >= 0 ? lane - argument : lane;
    case op::down: return inside + argument < width ? lane + argument : lane;
  }
  return lane;
}

}  // namespace

TEMPLATE_TEST_CASE("Shuffles move every type's bits as the definition says", "", int, unsigned int, long long,
                   unsigned long long, float, double, _Float16) {
  using T = TestType;
  std::vector<T> in(threads), out(threads);
  for (int i = 0; i < threads; ++i) {
    const std::uint64_t bits = 0x9E3779B97F4A7C15U * static_cast<std::uint64_t>(i + 1);  // NaNs among them
    std::memcpy(&in[static_cast<std::size_t>(i)], &bits, sizeof(T));
  }
  int checked = 0;
  for (const assay_launch& l : all_launches()) {
    const launch_scope scope(l);
    for (const op which : {op::indexed, op::mirrored, op::up, op::down})
      for (const int width : {2, 16, l.wave_size})
        for (const int argument : {0, 1, 3, 15, 31, l.wave_size - 1})
          for (const bool sync : {false, true}) {
            if (sync && argument % 2 == 0) continue;  // the same code but for the mask: a part will do
            hipLaunchKernelGGL(shuffle_all<T>, 1, threads, 0, nullptr, which, sync, argument, width, in.data(),
                               out.data());
            REQUIRE(hipGetLastError() == hipSuccess);
            for (int i = 0; i < threads; ++i) {
              const int lane = i % l.wave_size;
              const int from = i - lane + model_source(which, argument, width, lane);
              const auto to = static_cast<std::size_t>(i);
              if (!same_bits(out[to], in[static_cast<std::size_t>(from)]))
                FAIL(name(l) << ": op " << int(which) << " argument " << argument << " width " << width << " lane "
                             << lane);
              ++checked;
            }
          }
  }
  REQUIRE(checked > 0);
}

namespace {

struct vote_results {
  unsigned long long ballot, active;
  int any, all, count, barrier_and, barrier_or;
};

__global__ void vote_all(const int* predicate, vote_results* out) {
  const unsigned int i = threadIdx.x;
  const int p = predicate[i];
  vote_results r{};
  r.ballot = __ballot(p);
  r.active = __activemask();
  r.any = __any(p);
  r.all = __all(p);
  r.count = __syncthreads_count(p);
  r.barrier_and = __syncthreads_and(p);
  r.barrier_or = __syncthreads_or(p);
  out[i] = r;
}

}  // namespace

TEST_CASE("Votes and counting barriers agree with a loop over the predicates") {
  for (const assay_launch& l : all_launches()) {
    const launch_scope scope(l);
    for (int pattern = 0; pattern < 5; ++pattern) {
      std::vector<int> predicate(threads);
      int set = 0;
      for (int i = 0; i < threads; ++i) {
        const bool p =
            pattern == 1 || (pattern == 2 && i % 3 == 0) || (pattern == 3 && i != 70) || (pattern == 4 && i == 190);
        predicate[static_cast<std::size_t>(i)] = p ? 4 + i : 0;
        set += p ? 1 : 0;
      }
      std::vector<vote_results> out(threads);
      hipLaunchKernelGGL(vote_all, 1, threads, 0, nullptr, predicate.data(), out.data());
      REQUIRE(hipGetLastError() == hipSuccess);
      for (int i = 0; i < threads; ++i) {
        INFO(name(l) << ", pattern " << pattern << ", thread " << i);
        const int first = i / l.wave_size * l.wave_size;
        unsigned long long ballot = 0, active = 0;
        for (int lane = 0; lane < l.wave_size; ++lane) {
          active |= 1ULL << lane;
          if (predicate[static_cast<std::size_t>(first) + static_cast<std::size_t>(lane)] != 0) ballot |= 1ULL << lane;
        }
        const vote_results& r = out[static_cast<std::size_t>(i)];
        if (r.ballot != ballot || r.active != active) FAIL("ballot " << r.ballot << " for " << ballot);
        if (r.any != (ballot != 0) || r.all != (ballot == active)) FAIL("any " << r.any << ", all " << r.all);
        if (r.count != set || r.barrier_and != (set == threads) || r.barrier_or != (set != 0))
          FAIL("count " << r.count);
      }
    }
  }
}

namespace {

__global__ void shuffle_in_halves(const int* in, int* out) {
  const unsigned int i = threadIdx.x;
  const std::uint64_t lower = 0xFFFF, upper = ~lower;
  // Two branches, each with the lanes that its mask names: legal, and none waits for the other.
  if (__lane_id() < 16) {
    int x = in[i];
    for (int step = 0; step < 3; ++step) x = __shfl_xor_sync(lower, x, 1 << step);
    out[i] = x;
  } else {
    out[i] = static_cast<int>(__ballot_sync(upper, in[i] % 2) >> 16 & 0xFFFF);
    __syncwarp(upper);
  }
  out[i] += __all_sync(every_lane, 1) != 0 ? 1000000 : 0;
}

}  // namespace

TEST_CASE("Lanes of disjoint masks meet among themselves, at different places at the same time") {
  std::vector<int> in(threads), out(threads);
  for (int i = 0; i < threads; ++i) in[static_cast<std::size_t>(i)] = i * i + i / 7;
  for (const assay_launch& l : all_launches()) {
    const launch_scope scope(l);
    hipLaunchKernelGGL(shuffle_in_halves, 1, threads, 0, nullptr, in.data(), out.data());
    REQUIRE(hipGetLastError() == hipSuccess);
    for (int i = 0; i < threads; ++i) {
      const int first = i / l.wave_size * l.wave_size, lane = i - first;
      int expected = lane < 16 ? in[static_cast<std::size_t>(i ^ 7)] : 0;
      if (lane >= 16)
        for (int other = 16; other < 32; ++other)
          expected |= (in.at(static_cast<std::size_t>(first) + static_cast<std::size_t>(other)) % 2) << (other - 16);
      if (out[static_cast<std::size_t>(i)] != expected + 1000000) FAIL(name(l) << ", thread " << i);
    }
  }
}

namespace {

__global__ void vote_without_the_early(int leaving, unsigned long long* out) {
  if (static_cast<int>(__lane_id()) % 3 == leaving) return;
  out[threadIdx.x] = __ballot(1) * 2 + static_cast<unsigned long long>(__all(1));
}

__global__ void reduce_records(int* out) {
  struct record {
    int value;
    int sum;
  } own{static_cast<int>(threadIdx.x), 0};
  wave_rendezvous("sum", std::source_location::current(), &own, [](wave_records& records) {
    int sum = 0;
    for (int lane = 0; lane < records.size; ++lane)
      if (records.lane[lane] != nullptr) sum += static_cast<record*>(records.lane[lane])->value;
    for (int lane = 0; lane < records.size; ++lane)
      if (records.lane[lane] != nullptr) static_cast<record*>(records.lane[lane])->sum = sum;
  });
  out[threadIdx.x] = own.sum;
}

}  // namespace

TEST_CASE("Lanes that have left take no part in a vote and are not waited for") {
  for (const assay_launch& l : all_launches())
    for (const int leaving : {0, 1, 2}) {
      const launch_scope scope(l);
      std::vector<unsigned long long> out(threads, 0);
      hipLaunchKernelGGL(vote_without_the_early, 1, threads, 0, nullptr, leaving, out.data());
      REQUIRE(hipGetLastError() == hipSuccess);
      unsigned long long present = 0;
      for (int lane = 0; lane < l.wave_size; ++lane)
        if (lane % 3 != leaving) present |= 1ULL << lane;
      for (int i = 0; i < threads; ++i) {
        const bool left = i % l.wave_size % 3 == leaving;
        if (out[static_cast<std::size_t>(i)] != (left ? 0 : present * 2 + 1)) FAIL(name(l) << ", thread " << i);
      }
    }
}

TEST_CASE("A rendezvous hands the records of all lanes to one operation, in a partial wave too") {
  for (const assay_launch& l : all_launches())
    for (const unsigned int block : {1U, 40U, 64U, 100U}) {
      const launch_scope scope(l);
      std::vector<int> out(block, -1);
      hipLaunchKernelGGL(reduce_records, 1, block, 0, nullptr, out.data());
      REQUIRE(hipGetLastError() == hipSuccess);
      const int size = static_cast<int>(block);
      for (int i = 0; i < size; ++i) {
        int sum = 0;
        for (int j = i / l.wave_size * l.wave_size; j < std::min(size, (i / l.wave_size + 1) * l.wave_size); ++j)
          sum += j;
        if (out[static_cast<std::size_t>(i)] != sum) FAIL(name(l) << ", thread " << i << " of " << block);
      }
    }
}

TEST_CASE("Wave operations outside of a kernel are an error, not a crash") {
  REQUIRE_THROWS_AS(wave_barrier("wave_barrier", std::source_location::current(), every_lane), std::logic_error);
  REQUIRE_THROWS_AS(block_barrier("__syncthreads", std::source_location::current(), false), std::logic_error);
}

namespace {

/// Value i of a wave is that of its lane i.
__global__ void take_common(const int* of_lane, bool leaves_early, int* out) {
  const auto lane = __lane_id();
  if (leaves_early && lane == 1) return;
  out[threadIdx.x] = demand_uniform(of_lane[lane], std::source_location::current());
}

}  // namespace

TEST_CASE("What is not the same in all living lanes of a wave is refused where it must be") {
  for (const assay_launch& l : all_launches()) {
    const launch_scope scope(l);
    for (const int other : {0, 1, l.wave_size - 1}) {
      INFO(name(l) << ", lane " << other);
      std::vector<int> of_lane(max_wave_size, 7), out(threads);
      const auto launch = [&](bool leaves_early) {
        hipLaunchKernelGGL(take_common, 1, threads, 0, nullptr, of_lane.data(), leaves_early, out.data());
      };
      REQUIRE_NOTHROW(launch(false));
      REQUIRE(out == std::vector<int>(threads, 7));
      of_lane[static_cast<std::size_t>(other)] = 9;
      REQUIRE_THROWS_WITH(launch(false), "uniform: lanes of a wave have 7 and 9");
      if (other == 1)
        REQUIRE_NOTHROW(launch(true));
      else
        REQUIRE_THROWS_WITH(launch(true), "uniform: lanes of a wave have 7 and 9");
    }
  }
}
