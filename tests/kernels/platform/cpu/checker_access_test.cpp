/// Accesses of every kind are checked: wide vectors, memcpy, globals, static __shared__ variables, the compiler's own
/// atomics and fences. Each with a defect that is reported with its lines and names, and without it.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128;
constexpr int blocks = 3;

/// AddressSanitizer and UBSan, where they are built in, take the calls by which wide accesses, memcpy, atomics and
/// indices are seen.
#if ASSAY_ASAN
constexpr bool has_own_calls = false;
#else
constexpr bool has_own_calls = true;
#endif
constexpr const char* no_calls = "sanitizers of the build take the calls";

using float8 = float __attribute__((ext_vector_type(8)));
using float16 = float __attribute__((ext_vector_type(16)));

/// `texts` is what the reports of each schedule mention, all of them; none means no report.
template <class F>
void require_reports(std::span<const assay_tensor> tensors, int kind, const std::vector<std::string>& texts, F launch) {
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch);
    INFO(name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
    REQUIRE(seen.empty() == texts.empty());
    for (const seen_defect& d : seen) {
      CHECK(d.kind == kind);
      CHECK(mentions(d, "checker_access_test.cpp:"));
      for (const std::string& text : texts) CHECK(mentions(d, text));
    }
  }
}

/// Wave 0 writes a vector to LDS, wave 1 reads it.
template <class Vector>
__global__ void pass_vector(Vector* out, bool is_ordered) {
  HIP_DYNAMIC_SHARED(Vector, lds);
  const unsigned int i = threadIdx.x % 64;
  if (threadIdx.x < 64) lds[i] = Vector(1.0F);
  if (is_ordered) __syncthreads();
  if (threadIdx.x >= 64) out[i] = lds[i];
}

struct chunk {
  float value[13];
};
__global__ void pass_chunk(chunk* out, bool is_ordered, std::size_t bytes) {
  HIP_DYNAMIC_SHARED(chunk, lds);
  if (threadIdx.x == 0) std::memset(lds, 0, bytes);
  if (is_ordered) __syncthreads();
  if (threadIdx.x == 64) std::memcpy(out, lds, bytes);
}

__device__ float alpha_of_block[16];

__global__ void pass_through_global(float* out, bool is_own) {
  const unsigned int slot = is_own ? blockIdx.x : 0;
  if (threadIdx.x == 0) alpha_of_block[slot] = 2.0F;
  __syncthreads();
  out[blockIdx.x * threads + threadIdx.x] = alpha_of_block[slot];
}
/// Not inlined: the compiler does not see which array it is.
[[gnu::noinline]] void store_at(float* array, int index) {
  array[index] = 3.0F;
}
__global__ void fill_static(float* out, int past) {
  __shared__ float left[threads];
  __shared__ float right[threads];
  const int i = static_cast<int>(threadIdx.x);
  store_at(left, i + past);
  store_at(right, i);
  __syncthreads();
  out[static_cast<int>(blockIdx.x) * threads + i] = past > 0 ? right[i] : left[i] + right[i];
}
__global__ void index_past_type(float* out, int row) {
  __shared__ float tile[4][threads];
  const int i = static_cast<int>(threadIdx.x);
  for (int r = 0; r < 4; ++r) tile[r][i] = 1.0F;
  __syncthreads();
  out[static_cast<int>(blockIdx.x) * threads + i] = tile[3][(row + i) % (threads + row)];
}
__global__ void race_in_static(float* out, bool is_ordered) {
  __shared__ float shared_maximum;
  if (threadIdx.x == 0) shared_maximum = 5.0F;
  if (is_ordered) __syncthreads();
  if (is_ordered || threadIdx.x == 64) out[blockIdx.x * threads + threadIdx.x] = shared_maximum;
}

/// How blocks hand over what they wrote, through a counter.
enum class hand_over_by {
  release,             ///< an atomic of release order
  relaxed,             ///< one that orders nothing
  fence,               ///< the compiler's fence, then a relaxed atomic
  threadfence,         ///< HIP's, then its atomic
  threadfence_block,   ///< HIP's, of which other blocks see nothing
  nothing,             ///< HIP's atomic without a fence
  barrier_then_fence,  ///< one thread fences for all
  fence_then_barrier,  ///< each fences for itself, and one counts
  hip_builtin,
};

/// The last block adds up what all wrote.
__global__ void sum_in_last(hand_over_by way, float* partial, int* count, float* out) {
  HIP_DYNAMIC_SHARED(int, is_last);
  const unsigned int i = threadIdx.x, all = gridDim.x * threads;
  partial[blockIdx.x * threads + i] = 1.0F;
  int before = 0;
  const bool each_counts = way != hand_over_by::barrier_then_fence && way != hand_over_by::fence_then_barrier;
  switch (way) {
    case hand_over_by::release: before = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL); break;
    case hand_over_by::relaxed: before = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); break;
    case hand_over_by::fence:
      __atomic_thread_fence(__ATOMIC_SEQ_CST);
      before = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
      break;
    case hand_over_by::threadfence:
      __threadfence();
      before = atomicAdd(count, 1);
      break;
    case hand_over_by::threadfence_block:
      __threadfence_block();
      before = atomicAdd(count, 1);
      break;
    case hand_over_by::nothing: before = atomicAdd(count, 1); break;
    case hand_over_by::hip_builtin:
      before = __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, 4);  // 4: the agent's scope
      break;
    case hand_over_by::barrier_then_fence:
      __syncthreads();
      if (i == 0) __threadfence();
      break;
    case hand_over_by::fence_then_barrier:
      __threadfence();
      __syncthreads();
      break;
  }
  if (each_counts) {
    // The thread that comes last of all reads what all others wrote.
    if (before != static_cast<int>(all) - 1) return;
    float sum = 0.0F;
    for (unsigned int j = 0; j < all; ++j) sum += partial[j];
    out[0] = sum;
    return;
  }
  if (i == 0) *is_last = atomicAdd(count, 1) == static_cast<int>(gridDim.x) - 1 ? 1 : 0;
  __syncthreads();
  if (*is_last == 0) return;
  for (unsigned int b = 0; b < gridDim.x; ++b) out[i] = partial[b * threads + i];
}

/// Block 0 writes, block 1 polls.
__global__ void wait_for_flag(int* flag, int* value, int* out, bool releases) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *value = 7;
    __atomic_store_n(flag, 1, releases ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
  } else {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
    }
    *out = *value;
  }
}
/// Atomic loads of many threads, and a plain access beside them.
__global__ void load_atomically(int* counter, int* out, bool stores) {
  const unsigned int i = blockIdx.x * threads + threadIdx.x;
  out[i] = __atomic_load_n(counter, __ATOMIC_RELAXED);
  if (i == 70) __atomic_store_n(counter, 4, __ATOMIC_RELAXED);
  if (stores && i == 5) *counter = 3;
}
/// Reads the same word plainly right after an atomic load, as clang's own remainder of that load does.
__global__ void load_twice(int* counter, int* out, bool plainly) {
  const unsigned int i = blockIdx.x * threads + threadIdx.x;
  const int first = __atomic_load_n(counter, __ATOMIC_RELAXED);
  out[i] = first + (plainly ? *static_cast<volatile int*>(counter) : 0);
  if (i == 70) __atomic_store_n(counter, 4, __ATOMIC_RELAXED);
}
__global__ void clear_counters(int* counters) {
  counters[threadIdx.x] = 0;
}

}  // namespace

TEST_CASE("A race through a vector of 32 or 64 bytes is found", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<float16> results(64);
  toy_tensor out("out", reinterpret_cast<float*>(results.data()), {64 * 16}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto wide = [&](bool is_ordered) {
    return [&, is_ordered] {
      hipLaunchKernelGGL(pass_vector<float16>, 1, threads, 64 * sizeof(float16), nullptr, results.data(), is_ordered);
    };
  };
  const auto narrower = [&](bool is_ordered) {
    return [&, is_ordered] {
      hipLaunchKernelGGL(pass_vector<float8>, 1, threads, 64 * sizeof(float8), nullptr,
                         reinterpret_cast<float8*>(results.data()), is_ordered);
    };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, wide(true));
  require_reports(tensors, ASSAY_DATA_RACE, {}, narrower(true));
  // A reader that comes first reads what no thread wrote: the schedule decides which of the two is reported.
  for (const assay_launch& l : all_checked_launches()) {
    for (const std::vector<seen_defect>& seen :
         {checked_defects(l, tensors, wide(false)), checked_defects(l, tensors, narrower(false))}) {
      REQUIRE_FALSE(seen.empty());
      CHECK((mentions(seen[0], "of 64 bytes") || mentions(seen[0], "of 32 bytes")));
      CHECK((seen[0].kind == ASSAY_DATA_RACE || seen[0].kind == ASSAY_UNWRITTEN_READ));
    }
  }
}

TEST_CASE("The compiler's own atomics order by their order and by fences, and HIP's by fences", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<float> parts(blocks * threads), sums(threads);
  std::vector<int> counters(1);
  toy_tensor partial("partial", parts.data(), {blocks, threads}, {threads, 1}, ASSAY_OUTPUT);
  toy_tensor out("out", sums.data(), {threads}, {1}, ASSAY_OUTPUT);
  toy_tensor count("count", counters.data(), {1}, {1}, ASSAY_OUTPUT);
  const std::array tensors{partial.get(), out.get(), count.get()};
  const auto launch = [&](hand_over_by way) {
    return [&, way] {
      hipLaunchKernelGGL(clear_counters, 1, 1, 0, nullptr, counters.data());
      hipLaunchKernelGGL(sum_in_last, blocks, threads, sizeof(int), nullptr, way, parts.data(), counters.data(),
                         sums.data());
    };
  };
  using enum hand_over_by;
  for (const hand_over_by way :
       {release, hand_over_by::fence, threadfence, hip_builtin, barrier_then_fence, fence_then_barrier}) {
    CAPTURE(static_cast<int>(way));
    require_reports(tensors, ASSAY_DATA_RACE, {}, launch(way));
  }
  for (const hand_over_by way : {relaxed, threadfence_block, nothing}) {
    CAPTURE(static_cast<int>(way));
    require_reports(tensors, ASSAY_DATA_RACE, {"race on partial[", "fence and atomic"}, launch(way));
  }
}

TEST_CASE("A flag orders those who poll it if it is stored with release", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<int> memory(3);
  toy_tensor all("words", memory.data(), {3}, {1}, ASSAY_OUTPUT);
  const std::array tensors{all.get()};
  const auto launch = [&](bool releases) {
    return [&, releases] {
      hipLaunchKernelGGL(clear_counters, 1, 3, 0, nullptr, memory.data());
      hipLaunchKernelGGL(wait_for_flag, 2, 1, 0, nullptr, &memory[0], &memory[1], &memory[2], releases);
    };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, launch(true));
  CHECK(memory[2] == 7);
  require_reports(tensors, ASSAY_DATA_RACE, {"race on words[1]"}, launch(false));
}

TEST_CASE("Atomic loads and stores race with plain accesses only", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<int> counters(1), results(blocks * threads);
  toy_tensor counter("counter", counters.data(), {1}, {1}, ASSAY_OUTPUT);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{counter.get(), out.get()};
  const auto launch = [&](bool stores) {
    return [&, stores] {
      hipLaunchKernelGGL(clear_counters, 1, 1, 0, nullptr, counters.data());
      hipLaunchKernelGGL(load_atomically, blocks, threads, 0, nullptr, counters.data(), results.data(), stores);
    };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, launch(false));
  require_reports(tensors, ASSAY_DATA_RACE, {"race on counter[0]", "atomic"}, launch(true));
}

TEST_CASE("A plain load right after an atomic load of the same place is checked", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<int> counters(1), results(blocks * threads);
  toy_tensor counter("counter", counters.data(), {1}, {1}, ASSAY_OUTPUT);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{counter.get(), out.get()};
  const auto launch = [&](bool plainly) {
    return [&, plainly] {
      hipLaunchKernelGGL(clear_counters, 1, 1, 0, nullptr, counters.data());
      hipLaunchKernelGGL(load_twice, blocks, threads, 0, nullptr, counters.data(), results.data(), plainly);
    };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, launch(false));
  require_reports(tensors, ASSAY_DATA_RACE, {"race on counter[0]", "atomic"}, launch(true));
}

TEST_CASE("memset and memcpy of any size are checked", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<chunk> results(3);
  toy_tensor out("out", reinterpret_cast<float*>(results.data()), {3 * 13}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  for (const std::size_t bytes : {sizeof(chunk), 3 * sizeof(chunk) - 1}) {
    const auto launch = [&](bool is_ordered) {
      return [&, is_ordered, bytes] {
        hipLaunchKernelGGL(pass_chunk, 1, threads, 3 * sizeof(chunk), nullptr, results.data(), is_ordered, bytes);
      };
    };
    require_reports(tensors, ASSAY_DATA_RACE, {}, launch(true));
    for (const assay_launch& l : all_checked_launches()) {
      const std::vector<seen_defect> seen = checked_defects(l, tensors, launch(false));
      REQUIRE_FALSE(seen.empty());
      CHECK(mentions(seen[0], "of " + std::to_string(bytes) + " bytes"));
    }
  }
}

TEST_CASE("Blocks that exchange through a global race", "[checker]") {
  std::vector<float> results(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto exchange = [&](bool is_own) {
    return
        [&, is_own] { hipLaunchKernelGGL(pass_through_global, blocks, threads, 0, nullptr, results.data(), is_own); };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, exchange(true));
  require_reports(tensors, ASSAY_DATA_RACE, {"race on global alpha_of_block byte ", " block"}, exchange(false));
  CHECK(results[0] == 2.0F);
}

TEST_CASE("An overrun of a static __shared__ array does not count as its neighbour's", "[checker]") {
  std::vector<float> results(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto fill = [&](int past) {
    return [&, past] { hipLaunchKernelGGL(fill_static, blocks, threads, 0, nullptr, results.data(), past); };
  };
  require_reports(tensors, ASSAY_OUT_OF_BOUNDS, {}, fill(0));
  require_reports(tensors, ASSAY_OUT_OF_BOUNDS,
                  {"store of 4 bytes", "outside of all static __shared__ variables", "left of 512 bytes"}, fill(1));
}

TEST_CASE("An index past an array's type is out of bounds, though another row follows", "[checker]") {
  if (!has_own_calls) SKIP(no_calls);
  std::vector<float> results(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto read = [&](int row) {
    return [&, row] { hipLaunchKernelGGL(index_past_type, blocks, threads, 0, nullptr, results.data(), row); };
  };
  require_reports(tensors, ASSAY_OUT_OF_BOUNDS, {}, read(0));
  require_reports(tensors, ASSAY_OUT_OF_BOUNDS, {"index 128", "'float[128]'"}, read(1));
}

TEST_CASE("A race in a static __shared__ variable names it", "[checker]") {
  std::vector<float> results(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto launch = [&](bool is_ordered) {
    return [&, is_ordered] {
      hipLaunchKernelGGL(race_in_static, blocks, threads, 0, nullptr, results.data(), is_ordered);
    };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, launch(true));
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch(false));
    REQUIRE_FALSE(seen.empty());
    CHECK(mentions(seen[0], "static __shared__ shared_maximum byte 0"));
  }
}

TEST_CASE("Memory of hipMalloc has the name of the line that asked for it", "[checker]") {
  float* memory = nullptr;
  const int line = __LINE__ + 1;
  REQUIRE(hipMalloc(&memory, blocks * threads * sizeof(float)) == hipSuccess);
  std::vector<float> results(threads);
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto launch = [&](bool is_own) {
    return [&, is_own] { hipLaunchKernelGGL(pass_through_global, blocks, threads, 0, nullptr, memory, is_own); };
  };
  require_reports(tensors, ASSAY_DATA_RACE, {}, launch(true));
  const auto past = [&] { hipLaunchKernelGGL(pass_through_global, blocks + 1, threads, 0, nullptr, memory, true); };
  require_reports(tensors, ASSAY_OUT_OF_BOUNDS,
                  {"memory of hipMalloc (checker_access_test.cpp:" + std::to_string(line) + ")"}, past);
  CHECK(hipFree(memory) == hipSuccess);
}
