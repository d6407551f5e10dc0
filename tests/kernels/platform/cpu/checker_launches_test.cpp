/// Kernels that may start before the ones before them are done (ASSAY_LAUNCH_BEHIND): until they wait, what those store
/// may not be there, and what they read may not be overwritten, though on the cpu platform they run in turn.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <source_location>
#include <vector>

#include "hip/assembly.h"
#include "kernels/platform/current.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128, blocks = 2, items = blocks * threads;

enum class way : std::uint8_t {
  waits,         ///< every thread, before it touches anything
  waits_behind,  ///< after it
  one_thread,    ///< one of the block, before a barrier
  one_lane,      ///< one of each wave, before a collective
  by_assembly,   ///< every thread, by PTX
  by_flag,       ///< one thread, which then says so by an atomic
  one_block,     ///< the other one ends without
  never
};

struct arguments {
  const float* from;
  float* to;
  way how;
};

__device__ void await(way how) {
  __shared__ int flag;
  if (how == way::by_flag) {
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      assay::platform::await_kernel_before();
      __threadfence_block();
      atomicExch(&flag, 1);
    }
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence_block();
  }
  const bool is_first = threadIdx.x == 0, leads = static_cast<int>(threadIdx.x) % assay::cpu::wave_size() == 0;
  const bool all = how == way::waits || how == way::waits_behind || (how == way::one_block && blockIdx.x == 1);
  if (all || (how == way::one_thread && is_first) || (how == way::one_lane && leads))
    assay::platform::await_kernel_before();
  if (how == way::by_assembly) run_assembly("griddepcontrol.wait;", std::source_location::current(), {});
  if (how == way::one_thread) __syncthreads();
  if (how == way::one_lane) assay::platform::wave_fence();
}

/// Each thread copies a number of its own.
__global__ void copy(arguments a) {
  if (a.how != way::waits_behind) await(a.how);
  const int item = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (a.from != nullptr) a.to[item] = a.from[item];
  if (a.how == way::waits_behind) await(a.how);
}

/// A first kernel copies given numbers to x, and others, which may start early, go on from there.
struct copies {
  std::vector<float> given = std::vector<float>(items, 3), x = std::vector<float>(items), y = x, z = x;
  std::vector<seen_defect> seen;

  template <class Launch>
  copies(const assay_launch& l, Launch launch) {
    toy_tensor in("given", given.data(), {items}, {1}, ASSAY_INPUT), first("x", x.data(), {items}, {1}, ASSAY_OUTPUT);
    toy_tensor second("y", y.data(), {items}, {1}, ASSAY_OUTPUT), third("z", z.data(), {items}, {1}, ASSAY_OUTPUT);
    const std::array tensors{in.get(), first.get(), second.get(), third.get()};
    seen = checked_defects(l, tensors, [&] {
      hipLaunchKernelGGL(copy, dim3(blocks), dim3(threads), 0, nullptr, arguments{given.data(), x.data(), way::waits});
      launch(*this);
    });
  }
};

void launch_behind(const float* from, float* to, way how) {
  ASSAY_LAUNCH_BEHIND(copy, dim3(blocks), dim3(threads), arguments{from, to, how});
}

template <class Launch>
void require(const char* message, Launch launch) {
  for (const assay_launch& l : all_checked_launches()) {
    INFO(name(l));
    const copies of(l, launch);
    REQUIRE_FALSE(of.seen.empty());
    for (const seen_defect& d : of.seen) {
      INFO(d.message);
      CHECK(d.kind == ASSAY_DATA_RACE);
      CHECK(mentions(d, message));
    }
  }
}

}  // namespace

TEST_CASE("A kernel that may start early may touch what is behind its wait", "[checker][launches]") {
  for (const assay_launch& l : all_checked_launches())
    for (const way how : {way::waits, way::one_thread, way::one_lane, way::by_assembly, way::by_flag}) {
      INFO(name(l) << ", way " << static_cast<int>(how));
      const copies of(l, [&](copies& c) {
        launch_behind(c.x.data(), c.y.data(), how);
        launch_behind(c.y.data(), c.z.data(), how);
        launch_behind(c.x.data(), c.y.data(), how);
      });
      INFO((of.seen.empty() ? "" : of.seen.front().message));
      CHECK(of.seen.empty());
      CHECK(of.z == of.given);
    }
}

TEST_CASE("A kernel that may start early may read at once what no kernel before it stores", "[checker][launches]") {
  for (const assay_launch& l : all_checked_launches()) {
    INFO(name(l));
    const copies of(l, [](copies& c) { launch_behind(c.given.data(), c.y.data(), way::waits_behind); });
    CHECK(of.seen.empty());
  }
}

TEST_CASE("A kernel that may start early races with the one before it until it waits", "[checker][launches]") {
  require("load of 4 bytes (checker_launches_test.cpp:",
          [](copies& c) { launch_behind(c.x.data(), c.y.data(), way::waits_behind); });
  require("of a kernel before it, for the end of which it has not waited",
          [](copies& c) { launch_behind(c.x.data(), c.y.data(), way::waits_behind); });
  // What it stores was stored or read before.
  require("and store (checker_launches_test.cpp:",
          [](copies& c) { launch_behind(c.given.data(), c.x.data(), way::waits_behind); });
  require("and load (checker_launches_test.cpp:", [](copies& c) {
    hipLaunchKernelGGL(copy, dim3(blocks), dim3(threads), 0, nullptr, arguments{c.x.data(), c.y.data(), way::waits});
    launch_behind(c.given.data(), c.x.data(), way::waits_behind);
  });
}

TEST_CASE("A read that comes too early does not hide what the kernel before read", "[checker][launches]") {
  require("store of 4 bytes (checker_launches_test.cpp:", [](copies& c) {
    hipLaunchKernelGGL(copy, dim3(blocks), dim3(threads), 0, nullptr, arguments{c.x.data(), c.y.data(), way::waits});
    launch_behind(c.x.data(), c.x.data(), way::waits_behind);
  });
}

TEST_CASE("Memory that was another allocation's, and launches that the host waited for, are no race",
          "[checker][launches]") {
  for (const assay_launch& l : all_checked_launches()) {
    INFO(name(l));
    const copies of(l, [](copies& c) {
      void* memory[2] = {};
      for (void*& one : memory) {
        REQUIRE(hipMalloc(&one, items * sizeof(float)) == hipSuccess);
        hipLaunchKernelGGL(copy, dim3(blocks), dim3(threads), 0, nullptr,
                           arguments{c.given.data(), static_cast<float*>(one), way::waits});
        REQUIRE(hipFree(one) == hipSuccess);
        REQUIRE(hipMalloc(&one, items * sizeof(float)) == hipSuccess);
        launch_behind(c.given.data(), static_cast<float*>(one), way::waits_behind);
      }
      for (void* one : memory) REQUIRE(hipFree(one) == hipSuccess);
      REQUIRE(hipDeviceSynchronize() == hipSuccess);
      launch_behind(c.x.data(), c.y.data(), way::waits_behind);
      REQUIRE(hipMemsetAsync(c.z.data(), 0, items * sizeof(float), nullptr) == hipSuccess);
      launch_behind(c.y.data(), c.z.data(), way::waits_behind);
    });
    INFO((of.seen.empty() ? "" : of.seen.front().message));
    CHECK(of.seen.empty());
    CHECK(of.z == of.given);
  }
}

TEST_CASE("A kernel that may start early races with those before an early one, too", "[checker][launches]") {
  require("of a kernel before it", [](copies& c) {
    launch_behind(c.given.data(), c.y.data(), way::waits);
    launch_behind(c.x.data(), c.z.data(), way::waits_behind);
  });
  for (const assay_launch& l : all_checked_launches()) {  // one in turn is behind all
    const copies of(l, [](copies& c) {
      hipLaunchKernelGGL(copy, dim3(1), dim3(threads), 0, nullptr, arguments{nullptr, nullptr, way::never});
      launch_behind(c.x.data(), c.y.data(), way::waits_behind);
    });
    CHECK(of.seen.empty());
  }
}

TEST_CASE("A kernel in which no thread waits lets later kernels overtake", "[checker][launches]") {
  require("no thread waited for the kernels before it",
          [](copies& c) { launch_behind(c.given.data(), c.y.data(), way::never); });
  for (const assay_launch& l : all_checked_launches()) {  // a kernel ends when all of its blocks have
    INFO(name(l));
    const copies of(l, [](copies& c) { launch_behind(c.given.data(), c.y.data(), way::one_block); });
    CHECK(of.seen.empty());
  }
}
