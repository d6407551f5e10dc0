/// What a kernel may take for an address: its own stack, which it knows without a call (base/own_stack.hpp), the stack
/// of another thread, and what no address can be. And accesses of odd sizes, for which the compiler calls twice.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdint>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128;

#if ASSAY_ASAN
constexpr bool is_asan = true;
#else
constexpr bool is_asan = false;
#endif

/// With each schedule, one defect, which mentions the text.
template <class F>
void require_one(std::span<const assay_tensor> tensors, int kind, const char* text, F launch) {
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch);
    INFO(name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == kind);
    CHECK(mentions(seen[0], text));
    CHECK(mentions(seen[0], "checker_address_test.cpp:"));
    CHECK(seen[0].lane >= 0);
  }
}

/// Each thread keeps a local that the compiler cannot keep in a register, and one of them hands out where it is.
// NOLINTBEGIN(clang-analyzer-core.StackAddressEscape, clang-analyzer-core.NullDereference): this is the defect
__global__ void share_local(int* out, bool stores) {
  __shared__ volatile int* published;
  volatile int local[4] = {static_cast<int>(threadIdx.x), 1, 2, 3};
  if (threadIdx.x == 0) published = local;
  __syncthreads();
  volatile int* const theirs = published;
  if (threadIdx.x == 1) {
    if (stores)
      theirs[2] = 7;
    else
      local[1] = theirs[1];
  }
  __syncthreads();
  out[blockIdx.x * threads + threadIdx.x] = local[threadIdx.x % 4];
}
// NOLINTEND(clang-analyzer-core.StackAddressEscape, clang-analyzer-core.NullDereference)

/// Locals at places that only the data knows, before, between and after meetings with the other threads.
__global__ void use_own_local(int* out) {
  volatile int local[64];
  for (unsigned int i = 0; i < 64; ++i) local[(i * 5 + threadIdx.x) % 64] = static_cast<int>(i);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += __shfl_xor(local[i], 1);
  out[blockIdx.x * threads + threadIdx.x] = sum;
}

__global__ void touch_far(int* data, std::int64_t offset_bytes, bool stores) {
  if (threadIdx.x != 5) return;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is none
  auto* const far = reinterpret_cast<volatile int*>(reinterpret_cast<std::uintptr_t>(data) +
                                                    static_cast<std::uintptr_t>(offset_bytes));
  if (stores)
    *far = 1;
  else
    data[0] = *far;
}

struct three_bytes {
  std::uint8_t b[3];
};
struct [[gnu::packed]] unaligned {
  std::uint8_t first;
  std::uint32_t word;
};

/// Loads that are not of 1, 2, 4, 8 or 16 aligned bytes, of element `at`.
__global__ void load_unaligned(const unaligned* in, std::uint32_t* out, int at) {
  if (threadIdx.x == 0) out[0] = static_cast<const volatile unaligned*>(in)[at].word;
}
__global__ void store_unaligned(unaligned* out, int at) {
  if (threadIdx.x == 0) static_cast<volatile unaligned*>(out)[at].word = 1;
}

volatile std::sig_atomic_t former_faults = 0;
void former(int) {
  former_faults = former_faults + 1;
}

}  // namespace

TEST_CASE("A local of another thread is a wild access, and a local of one's own none", "[checker]") {
  std::vector<int> results(threads);
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  for (const bool stores : {false, true})
    require_one(tensors, ASSAY_WILD_ACCESS, stores ? "store of 4 bytes" : "load of 4 bytes",
                [&] { hipLaunchKernelGGL(share_local, 1, threads, 0, nullptr, results.data(), stores); });
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen =
        checked_defects(l, tensors, [&] { hipLaunchKernelGGL(use_own_local, 1, threads, 0, nullptr, results.data()); });
    INFO(name(l) << ": " << (seen.empty() ? "" : seen[0].message));
    CHECK(seen.empty());
    CHECK(results[3] == 63 * 32);
  }
}

TEST_CASE("What is no address at all is a wild access with its line and thread", "[checker]") {
  if (is_asan) SKIP("AddressSanitizer's own runtime meets such an access first");
  std::vector<int> results(threads);
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto start = reinterpret_cast<std::intptr_t>(results.data());
  std::vector<std::int64_t> offsets{-start - 4, -start + 8, -start};  // just below 0, just above it, null
  for (int bit = 40; bit < 63; ++bit)
    for (const std::int64_t sign : {1, -1}) offsets.push_back(sign * (std::int64_t{1} << bit));
  for (const std::int64_t offset : offsets)
    for (const bool stores : {false, true})
      for (const assay_launch& l : all_checked_launches()) {
        const std::vector<seen_defect> seen = checked_defects(
            l, tensors, [&] { hipLaunchKernelGGL(touch_far, 1, threads, 0, nullptr, results.data(), offset, stores); });
        INFO(name(l) << ", offset " << offset << ": " << (seen.empty() ? "nothing" : seen[0].message));
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].kind == ASSAY_WILD_ACCESS);
        CHECK(mentions(seen[0], "checker_address_test.cpp:"));
        CHECK(seen[0].lane == 5);
      }
}

TEST_CASE("A fault outside of checked kernels is the former handler's", "[checker]") {
  std::vector<int> results(threads);
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  struct sigaction ours{}, test{}, now{};
  ours.sa_handler = former;
  sigemptyset(&ours.sa_mask);
  REQUIRE(sigaction(SIGSEGV, &ours, &test) == 0);
  checked_defects(all_checked_launches()[0], tensors,
                  [&] { hipLaunchKernelGGL(use_own_local, 1, threads, 0, nullptr, results.data()); });
  raise(SIGSEGV);
  REQUIRE(sigaction(SIGSEGV, &test, &now) == 0);
  CHECK(former_faults == 1);
  CHECK(now.sa_handler == former);
}

TEST_CASE("An access for which the compiler calls twice is one, with its own extent", "[checker]") {
  std::vector<std::uint8_t> bytes(4 * sizeof(unaligned), 1);
  std::uint32_t result = 0;
  toy_tensor in("in", bytes.data(), {static_cast<std::int64_t>(bytes.size())}, {1}, ASSAY_INPUT);
  toy_tensor written("written", bytes.data(), {static_cast<std::int64_t>(bytes.size())}, {1}, ASSAY_OUTPUT);
  toy_tensor out("out", &result, {1}, {1}, ASSAY_OUTPUT);
  const std::array reading{in.get(), out.get()};
  const std::array writing{written.get()};
  auto* const data = reinterpret_cast<unaligned*>(bytes.data());
  for (const int at : {0, 1, 3}) {
    for (const assay_launch& l : all_checked_launches()) {
      CHECK(checked_defects(l, reading, [&] {
              hipLaunchKernelGGL(load_unaligned, 1, threads, 0, nullptr, data, &result, at);
            }).empty());
      CHECK(checked_defects(l, writing, [&] {
              hipLaunchKernelGGL(store_unaligned, 1, threads, 0, nullptr, data, at);
            }).empty());
    }
  }
  // One element too far, and one that begins before the tensor.
  for (const int at : {4, -1}) {
    require_one(reading, ASSAY_OUT_OF_BOUNDS, "load of 4 bytes",
                [&] { hipLaunchKernelGGL(load_unaligned, 1, threads, 0, nullptr, data, &result, at); });
    require_one(writing, ASSAY_OUT_OF_BOUNDS, "store of 4 bytes",
                [&] { hipLaunchKernelGGL(store_unaligned, 1, threads, 0, nullptr, data, at); });
  }
  // A second launch that fails where the first one did.
  for (int repeat = 0; repeat < 2; ++repeat)
    require_one(writing, ASSAY_OUT_OF_BOUNDS, "store of 4 bytes",
                [&] { hipLaunchKernelGGL(store_unaligned, 1, threads, 0, nullptr, data, 4); });
}
