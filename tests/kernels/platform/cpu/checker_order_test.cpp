/// What orders accesses besides barriers: atomics, launches, and collectives; and what the checker must not report.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 96;
constexpr int blocks = 4;

template <class F>
void require_kinds(std::span<const assay_tensor> tensors, bool races, F launch) {
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch);
    INFO(name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
    REQUIRE(seen.empty() == !races);
    for (const seen_defect& d : seen) CHECK((d.kind == ASSAY_DATA_RACE || d.kind == ASSAY_UNWRITTEN_READ));
  }
}

/// The last block to finish adds up what all wrote.
__global__ void sum_in_last_block(bool take_tickets, float* partial, int* tickets, float* out) {
  __shared__ int is_last;
  const unsigned int i = threadIdx.x;
  partial[blockIdx.x * threads + i] = 1.0F;
  __threadfence();
  __syncthreads();
  if (i == 0)
    is_last = take_tickets ? atomicAdd(tickets, 1) == static_cast<int>(gridDim.x) - 1 : blockIdx.x == gridDim.x - 1;
  __syncthreads();
  if (is_last == 0) return;
  float sum = 0.0F;
  for (unsigned int b = 0; b < gridDim.x; ++b) sum += partial[b * threads + i];
  out[i] = sum;
}

__global__ void count_under_lock(bool locks, int* lock, int* guarded) {
  bool done = false;
  while (!done) {
    if (locks && atomicCAS(lock, 0, 1) != 0) continue;
    __threadfence();
    *guarded = *guarded + 1;
    __threadfence();
    if (locks) atomicExch(lock, 0);
    done = true;
  }
}

__global__ void clear(int* a, int* b) {
  *a = 0;
  *b = 0;
}

/// Atomics on one location order nothing for who uses another.
__global__ void two_counters(int* a, int* b, float* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = 1.0F;
    atomicAdd(a, 1);
  } else if (blockIdx.x == 1) {
    atomicAdd(b, 1);
    out[0] = 2.0F;
  }
}

__global__ void write_all(float* values) {
  values[blockIdx.x * threads + threadIdx.x] = 1.0F;
}
__global__ void reverse_all(const float* values, float* out) {
  const unsigned int i = blockIdx.x * threads + threadIdx.x;
  out[i] = values[gridDim.x * threads - 1 - i];
}

}  // namespace

TEST_CASE("A ticket by atomics orders blocks, and without it the same accesses race", "[checker]") {
  std::vector<float> parts(blocks * threads), sums(threads);
  std::vector<int> counters(2);
  toy_tensor partial("partial", parts.data(), {blocks, threads}, {threads, 1}, ASSAY_OUTPUT);
  toy_tensor out("out", sums.data(), {threads}, {1}, ASSAY_OUTPUT);
  toy_tensor tickets("tickets", counters.data(), {2}, {1}, ASSAY_OUTPUT);
  const std::array tensors{partial.get(), out.get(), tickets.get()};
  const auto launch = [&](bool take_tickets) {
    return [&, take_tickets] {
      hipLaunchKernelGGL(clear, 1, 1, 0, nullptr, &counters[0], &counters[1]);
      hipLaunchKernelGGL(sum_in_last_block, blocks, threads, 0, nullptr, take_tickets, parts.data(), counters.data(),
                         sums.data());
    };
  };
  require_kinds(tensors, false, launch(true));
  CHECK(sums[5] == blocks);
  require_kinds(tensors, true, launch(false));
  require_kinds(tensors, true, [&] {
    hipLaunchKernelGGL(clear, 1, 1, 0, nullptr, &counters[0], &counters[1]);
    hipLaunchKernelGGL(two_counters, 2, 32, 0, nullptr, &counters[0], &counters[1], sums.data());
  });
}

TEST_CASE("A spin lock orders what it guards, for lanes, waves and blocks", "[checker]") {
  std::vector<int> counters(2);
  toy_tensor all("counters", counters.data(), {2}, {1}, ASSAY_OUTPUT);
  const std::array tensors{all.get()};
  const auto launch = [&](bool locks) {
    return [&, locks] {
      hipLaunchKernelGGL(clear, 1, 1, 0, nullptr, &counters[0], &counters[1]);
      hipLaunchKernelGGL(count_under_lock, 2, 70, 0, nullptr, locks, &counters[0], &counters[1]);
    };
  };
  require_kinds(tensors, false, launch(true));
  CHECK(counters[1] == 2 * 70);
  require_kinds(tensors, true, launch(false));
}

TEST_CASE("Launches order their accesses, and a run knows nothing of the one before", "[checker]") {
  std::vector<float> values(blocks * threads), results(blocks * threads);
  toy_tensor in("values", values.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{in.get(), out.get()};
  const auto write = [&] { hipLaunchKernelGGL(write_all, blocks, threads, 0, nullptr, values.data()); };
  const auto read = [&] {
    hipLaunchKernelGGL(reverse_all, blocks, threads, 0, nullptr, values.data(), results.data());
  };
  require_kinds(tensors, false, [&] { write(), read(); });
  for (const assay_launch& l : all_checked_launches()) {
    REQUIRE(checked_defects(l, tensors, write).empty());
    const std::vector<seen_defect> seen = checked_defects(l, tensors, read);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == ASSAY_UNWRITTEN_READ);
  }
}

namespace {

struct asked {
  std::int32_t answer;
  std::string first_message;
};
std::int32_t answer(void* context, const assay_defect* defect) {
  auto& of_test = *static_cast<asked*>(context);
  if (of_test.first_message.empty()) of_test.first_message = defect->message;
  return of_test.answer;
}

}  // namespace

TEST_CASE("A defect that the caller accepts is not reported, and the launch does not fail for it", "[checker]") {
  std::vector<int> counters(2);
  toy_tensor all("counters", counters.data(), {2}, {1}, ASSAY_OUTPUT);
  const std::array tensors{all.get()};
  for (const std::int32_t accepts : {1, 0}) {
    asked caller{accepts, {}};
    assay_launch l = parameters(64);
    l.checked = 1;
    l.context = &caller;
    l.accepts = answer;
    {
      const launch_scope scope(l, default_lds_limit_bytes, tensors);
      hipLaunchKernelGGL(clear, 1, 1, 0, nullptr, &counters[0], &counters[1]);
      CHECK(caller.first_message.empty());
      hipLaunchKernelGGL(count_under_lock, 2, 70, 0, nullptr, false, &counters[0], &counters[1]);
    }
    CHECK(caller.first_message.starts_with("race on counters[1]"));
    CHECK((hipGetLastError() == hipSuccess) == (accepts != 0));
  }
}

TEST_CASE("An unchecked launch reports nothing and counts nothing", "[checker]") {
  std::vector<float> values(blocks * threads);
  assay_launch l = parameters(64);
  std::int64_t accesses = 0;
  std::vector<seen_defect> seen;
  l.context = &seen;
  l.on_defect = &collect;
  l.accesses_checked = &accesses;
  {
    const launch_scope scope(l);
    hipLaunchKernelGGL(write_all, blocks, threads, 0, nullptr, values.data());
  }
  CHECK(hipGetLastError() == hipSuccess);
  CHECK(seen.empty());
  CHECK(accesses == 0);
}

namespace {

/// Blocks before `first` only read.
__global__ void crowd(const int* in, int* out, unsigned int first) {
  if (in[blockIdx.x % 4] == 0 && blockIdx.x >= first) out[0] = static_cast<int>(blockIdx.x);
}

}  // namespace

TEST_CASE("A launch of more blocks than there are chunks of stamps is checked where few blocks store",
          "[checker][long]") {
  constexpr unsigned int many = (1U << 23) + 5000;
  std::vector<int> given(4), stored(1);
  toy_tensor in("in", given.data(), {4}, {1}, ASSAY_INPUT);
  toy_tensor out("out", stored.data(), {1}, {1}, ASSAY_OUTPUT);
  const std::array tensors{in.get(), out.get()};
  const auto launch = [&](unsigned int first) {
    return [&, first] { hipLaunchKernelGGL(crowd, many, 1, 0, nullptr, given.data(), stored.data(), first); };
  };
  const assay_launch one = all_checked_launches().front();
  CHECK(checked_defects(one, tensors, launch(many - 1)).empty());
  const std::vector<seen_defect> seen = checked_defects(one, tensors, launch(many - 2));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].kind == ASSAY_DATA_RACE);
}
