/// Where the look into the table of stacks, or a remembered tensor, could hide a defect (base/own_stack.hpp).
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/platform/cpu/base/own_stack.hpp"
#include "kernels/platform/cpu/base/unchecked.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

__global__ void read_gap_then_store_input(int* pool, int* sink) {
  volatile int* p = pool;
  if (threadIdx.x == 0) sink[0] = p[40];  // a gap between rows: memory of hipMalloc
  __syncthreads();
  if (threadIdx.x == 1) p[0] = 1;  // a row: the input
}

#if !ASSAY_ASAN  // whose runtime meets such accesses first

constexpr int is_reported = 100;

/// How a child ends that runs this: minus its signal, or what `run` returns.
template <class F>
int status_of(F run) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS}) std::signal(number, SIG_DFL);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// `is_reported` for one wild access of lane 5, else the number of defects.
int outcome_of(const std::vector<seen_defect>& seen) {
  const bool is_right = seen.size() == 1 && seen[0].kind == ASSAY_WILD_ACCESS && seen[0].lane == 5;
  return is_right ? is_reported : static_cast<int>(seen.size());
}

__global__ void store_below(int* out, std::uintptr_t bytes) {
  volatile int local[16];
  local[threadIdx.x % 16] = 1;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is none of the kernel's
  auto* const below = reinterpret_cast<volatile int*>(reinterpret_cast<std::uintptr_t>(&local[0]) - bytes);
  if (threadIdx.x == 5) *below = 3;
  out[threadIdx.x] = local[threadIdx.x % 16];
}

__global__ void store_at(std::intptr_t bytes, void* from) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is none of the kernel's
  auto* const target = reinterpret_cast<volatile int*>(reinterpret_cast<std::intptr_t>(from) + bytes);
  if (threadIdx.x == 5) *target = 3;
}
[[gnu::noinline]] ASSAY_NOT_CHECKED std::intptr_t record_of_this_thread() {
  return reinterpret_cast<std::intptr_t>(this_thread);
}
/// Bytes around the executor's record of each thread, which code inlined into kernels accesses.
__global__ void store_near_executor(std::intptr_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is none of the kernel's
  if (threadIdx.x == 5) *reinterpret_cast<volatile int*>(record_of_this_thread() + bytes) = 3;
}

#if defined(__x86_64__)
__global__ void load_by_frame_pointer(std::uintptr_t address) {
  if (threadIdx.x == 5)
    asm volatile("push %%rbp; mov %0, %%rbp; movl (%%rbp), %%eax; pop %%rbp" ::"r"(address) : "rax", "memory");
}
#endif
#endif

}  // namespace

TEST_CASE("A store to an input in memory of hipMalloc is seen after an access between its rows", "[checker]") {
  int* pool = nullptr;
  REQUIRE(hipMalloc(&pool, 64 * sizeof(int)) == hipSuccess);
  std::memset(pool, 0, 64 * sizeof(int));
  int sink = 0;
  toy_tensor rows("rows", pool, {2, 16}, {48, 1}, ASSAY_INPUT);
  toy_tensor out("out", &sink, {1}, {1}, ASSAY_OUTPUT);
  const std::array tensors{rows.get(), out.get()};
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(
        l, tensors, [&] { hipLaunchKernelGGL(read_gap_then_store_input, 1, 128, 0, nullptr, pool, &sink); });
    INFO(name(l));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == ASSAY_INPUT_STORE);
  }
  static_cast<void>(hipFree(pool));
}

#if !ASSAY_ASAN
TEST_CASE("Memory of hipMalloc has no neighbour that an overrun of it could belong to", "[checker]") {
  std::array<void*, 8> all{};
  for (void*& memory : all) REQUIRE(hipMalloc(&memory, 512) == hipSuccess);
  for (void* const memory : all)
    for (const std::intptr_t bytes : {-32768, -513, -4, 512, 1024, 4096, 32768}) {
      const std::vector<seen_defect> seen = checked_defects(
          all_checked_launches()[0], {}, [&] { hipLaunchKernelGGL(store_at, 1, 128, 0, nullptr, bytes, memory); });
      INFO(bytes << " bytes from the start");
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].kind == ASSAY_OUT_OF_BOUNDS);
      CHECK(seen[0].lane == 5);
    }
  for (void* const memory : all) CHECK(hipFree(memory) == hipSuccess);
  CHECK(hipFree(all[0]) == hipErrorInvalidValue);
}

TEST_CASE("What lies near the executor's own memory is a wild access", "[checker]") {
  for (const std::intptr_t mib : {-12, -3, -1, 1, 3, 12})
    CHECK(status_of([&] {
            return outcome_of(checked_defects(all_checked_launches()[0], {}, [&] {
              hipLaunchKernelGGL(store_near_executor, 1, 128, 0, nullptr, mib * (1 << 20));
            }));
          }) == is_reported);
}

TEST_CASE("What lies below the own stack is a wild access, in its guard, too", "[checker]") {
  std::vector<int> results(128);
  toy_tensor out("out", results.data(), {128}, {1}, ASSAY_IN_OUT);
  const std::array tensors{out.get()};
  int wild = 0;
  for (std::uintptr_t bytes = 4096; bytes < 2 * slot_bytes; bytes += 8192) {
    const int status = status_of([&] {
      return outcome_of(checked_defects(all_checked_launches()[0], tensors, [&] {
        hipLaunchKernelGGL(store_below, 1, 128, 0, nullptr, results.data(), bytes);
      }));
    });
    INFO(bytes << " bytes below");
    CHECK((status == 0 || status == is_reported));  // 0: still of the own stack
    wild += status == is_reported ? 1 : 0;
  }
  CHECK(wild > 0);
}

#if defined(__x86_64__)
TEST_CASE("What is no address is a wild access relative to the frame pointer, too", "[checker]") {
  int result = 0;
  toy_tensor out("out", &result, {1}, {1}, ASSAY_IN_OUT);
  const std::array tensors{out.get()};
  CHECK(status_of([&] {  // a fault by the stack's segment, which comes as SIGBUS
          const std::vector<seen_defect> seen = checked_defects(all_checked_launches()[0], tensors, [&] {
            hipLaunchKernelGGL(load_by_frame_pointer, 1, 128, 0, nullptr, std::uintptr_t{1} << 60);
          });
          return !seen.empty() && seen[0].kind == ASSAY_WILD_ACCESS ? is_reported : static_cast<int>(seen.size());
        }) == is_reported);
}
#endif
#endif
