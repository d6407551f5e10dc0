/// Each kind of defect that the checker reports, planted in a kernel of its own, with its line, on every schedule.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128;
constexpr int blocks = 3;
int line = 0, other_line = 0;  // of the places that the kernels below name

/// Threads may do it at once: it is not the kernel's own access.
[[gnu::noinline]] ASSAY_NOT_INSTRUMENTED void note(int& place, int number) {
  place = number;
}

std::string at(int number) {
  return "(checker_defects_test.cpp:" + std::to_string(number) + ")";
}

std::vector<int> ints(int count) {
  return std::vector<int>(static_cast<std::size_t>(count), 0);
}

/// One report on every schedule, of this kind and with what `line` says.
template <class F>
void require_finding(std::span<const assay_tensor> tensors, int kind, const std::string& text, F launch) {
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch);
    INFO(name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == kind);
    CHECK(mentions(seen[0], at(line)));
    CHECK(mentions(seen[0], text));
    CHECK(seen[0].wave >= 0);
  }
}

template <class F>
void require_silence(std::span<const assay_tensor> tensors, F launch) {
  for (const assay_launch& l : all_checked_launches()) {
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch);
    INFO(name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
    REQUIRE(seen.empty());
  }
}

__global__ void store_rows(float* out, int rows, int columns, int stride) {
  const int row = static_cast<int>(threadIdx.x) / columns, column = static_cast<int>(threadIdx.x) % columns;
  if (row >= rows) return;
  note(line, __LINE__ + 1);
  out[row * stride + column] = 1.0F;
}

}  // namespace

TEST_CASE("A store to the row after the last, or past the end of a row, is out of bounds", "[checker]") {
  std::vector<float> memory(4096);
  toy_tensor out("out", memory.data() + 1024, {4, 8}, {12, 1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  float* const data = memory.data() + 1024;
  require_silence(tensors, [&] { hipLaunchKernelGGL(store_rows, 1, threads, 0, nullptr, data, 4, 8, 12); });
  require_finding(tensors, ASSAY_OUT_OF_BOUNDS, "store of 4 bytes",
                  [&] { hipLaunchKernelGGL(store_rows, 1, threads, 0, nullptr, data, 5, 8, 12); });
  require_finding(tensors, ASSAY_OUT_OF_BOUNDS, "outside of out of shape [4, 8] and strides [12, 1]: out[0, 8]",
                  [&] { hipLaunchKernelGGL(store_rows, 1, 9, 0, nullptr, data, 4, 9, 12); });
}

namespace {

constexpr int wide_row = 64;  // 256 bytes

__global__ void store_columns_and_one(float* out, int rows, int one) {
  for (int row = 0; row < rows; ++row) out[row * wide_row + static_cast<int>(threadIdx.x)] = 1.0F;
  __syncthreads();
  if (threadIdx.x != 0) return;
  note(line, __LINE__ + 1);
  out[one] = 2.0F;
}

}  // namespace

TEST_CASE("A store to the gap behind a row that other stores went to is out of bounds", "[checker]") {
  constexpr int rows = 5, columns = 8;
  struct alignas(256) {
    float row[rows][wide_row] = {};
  } memory;
  float* const data = memory.row[0];
  toy_tensor out("out", data, {rows, columns}, {wide_row, 1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  for (int row = 0; row + 1 < rows; ++row) {
    const int end = row * wide_row + columns;
    require_silence(tensors,
                    [&] { hipLaunchKernelGGL(store_columns_and_one, 1, columns, 0, nullptr, data, rows, end - 1); });
    require_finding(tensors, ASSAY_OUT_OF_BOUNDS, "store of 4 bytes",
                    [&] { hipLaunchKernelGGL(store_columns_and_one, 1, columns, 0, nullptr, data, rows, end); });
  }
}

namespace {

__global__ void read_ahead(const int* table, int* out, int entries) {
  HIP_DYNAMIC_SHARED(int, lds);
  int page = table[0], sum = 0;
  for (int i = 0; i < entries; ++i) {
    note(line, __LINE__ + 1);
    const int next = table[i + 1];
    lds[threadIdx.x] = page;
    __syncthreads();
    sum += lds[threadIdx.x];
    __syncthreads();
    page = next;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

}  // namespace

TEST_CASE("Reading a table past its end is out of bounds, whether or not the value is used", "[checker]") {
  std::vector<int> entries = ints(64), results = ints(blocks * threads);
  toy_tensor table("table", entries.data(), {10}, {1}, ASSAY_INPUT);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{table.get(), out.get()};
  const auto launch = [&](int count) {
    return [&, count] {
      hipLaunchKernelGGL(read_ahead, blocks, threads, threads * sizeof(int), nullptr, entries.data(), results.data(),
                         count);
    };
  };
  require_silence(tensors, launch(9));
  require_finding(tensors, ASSAY_OUT_OF_BOUNDS, "outside of table of shape [10]: table[10]", launch(10));
}

namespace {

__global__ void exchange_through_lds(int* out, int distance, int barrier) {
  HIP_DYNAMIC_SHARED(int, lds);
  const int i = static_cast<int>(threadIdx.x);
  lds[i] = 0;
  __syncthreads();
  note(other_line, __LINE__ + 1);
  lds[i] = i;
  if (barrier == 1) __syncthreads();
  if (barrier == 2) __syncwarp();
  note(line, __LINE__ + 1);
  out[static_cast<int>(blockIdx.x) * threads + i] = lds[i ^ distance];
}

/// Races come out at either of the two lines, or at both: which access is second depends on the schedule.
template <class F>
void require_race(std::span<const assay_tensor> tensors, const std::string& place, F launch, bool lockstep = false) {
  for (assay_launch l : all_checked_launches()) {
    l.lockstep_waves = lockstep ? 1 : 0;
    const std::vector<seen_defect> seen = checked_defects(l, tensors, launch);
    INFO(name(l));
    REQUIRE((seen.size() == 1 || seen.size() == 2));
    for (const seen_defect& d : seen) {
      INFO(d.message);
      CHECK(d.kind == ASSAY_DATA_RACE);
      CHECK(mentions(d, at(line)));
      CHECK(mentions(d, at(other_line)));
      CHECK(mentions(d, place));
      CHECK(mentions(d, "by thread "));
    }
  }
}

}  // namespace

TEST_CASE("Waves that exchange through LDS without a barrier race; a wave barrier does not help them", "[checker]") {
  std::vector<int> results = ints(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto launch = [&](int distance, int barrier) {
    return [&, distance, barrier] {
      hipLaunchKernelGGL(exchange_through_lds, blocks, threads, threads * sizeof(int), nullptr, results.data(),
                         distance, barrier);
    };
  };
  require_silence(tensors, launch(64, 1));
  require_race(tensors, "LDS byte ", launch(64, 0));
  require_race(tensors, "LDS byte ", launch(64, 0), true);
  require_race(tensors, "LDS byte ", launch(64, 2));
}

namespace {

__global__ void store_after_read(int* out, int barrier) {
  HIP_DYNAMIC_SHARED(int, lds);
  const int i = static_cast<int>(threadIdx.x), half = threads / 2;
  lds[i] = i;
  __syncthreads();
  const bool reads = i < half;
  note(other_line, __LINE__ + 1);
  if (reads) out[static_cast<int>(blockIdx.x) * half + i] = lds[i + half];
  if (barrier == 1) __syncthreads();
  note(line, __LINE__ + 1);
  if (!reads) lds[i] = 0;
}

}  // namespace

TEST_CASE("A store races with another wave's read, whichever comes first", "[checker]") {
  std::vector<int> results = ints(blocks * threads / 2);
  toy_tensor out("out", results.data(), {blocks * threads / 2}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto launch = [&](int barrier) {
    return [&, barrier] {
      hipLaunchKernelGGL(store_after_read, blocks, threads, threads * sizeof(int), nullptr, results.data(), barrier);
    };
  };
  require_silence(tensors, launch(1));
  require_race(tensors, "LDS byte ", launch(0));
}

TEST_CASE("Lanes of a wave are ordered by its collectives only, or by every instruction if so assumed", "[checker]") {
  std::vector<int> results = ints(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto launch = [&](int barrier) {
    return [&, barrier] {
      hipLaunchKernelGGL(exchange_through_lds, blocks, threads, threads * sizeof(int), nullptr, results.data(), 1,
                         barrier);
    };
  };
  require_race(tensors, "LDS byte ", launch(0));
  require_silence(tensors, launch(2));
  for (assay_launch l : all_checked_launches()) {
    l.lockstep_waves = 1;
    REQUIRE(checked_defects(l, tensors, launch(0)).empty());
  }
}

namespace {

__global__ void read_unwritten(int* out, int first) {
  HIP_DYNAMIC_SHARED(int, lds);
  const int i = static_cast<int>(threadIdx.x);
  if (i >= first) lds[i] = i;
  __syncthreads();
  note(line, __LINE__ + 1);
  out[static_cast<int>(blockIdx.x) * threads + i] = lds[i];
}

__global__ void read_unwritten_static(int* out) {
  __shared__ int memory[threads];
  const int i = static_cast<int>(threadIdx.x);
  if (blockIdx.x != 1) memory[i] = i;
  __syncthreads();
  note(line, __LINE__ + 1);
  out[static_cast<int>(blockIdx.x) * threads + i] = memory[i];
}

__global__ void sum_partials(const float* partial, float* out, int count) {
  float sum = 0.0F;
  note(line, __LINE__ + 1);
  for (int i = 0; i < count; ++i) sum += partial[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void write_partials(float* partial) {
  partial[threadIdx.x] = 1.0F;
}

}  // namespace

TEST_CASE("Reads of LDS that this block did not write, and of workspaces before any write, are reported", "[checker]") {
  std::vector<int> results = ints(blocks * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto dynamic = [&](int first) {
    return [&, first] {
      hipLaunchKernelGGL(read_unwritten, blocks, threads, threads * sizeof(int), nullptr, results.data(), first);
    };
  };
  require_silence(tensors, dynamic(0));
  require_finding(tensors, ASSAY_UNWRITTEN_READ, "LDS byte ", dynamic(1));
  require_finding(tensors, ASSAY_UNWRITTEN_READ, "static __shared__ memory",
                  [&] { hipLaunchKernelGGL(read_unwritten_static, blocks, threads, 0, nullptr, results.data()); });

  std::vector<float> parts(64), sums(threads);
  toy_tensor partial("partial", parts.data(), {64}, {1}, ASSAY_OUTPUT);
  toy_tensor sum("sum", sums.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array workspaces{partial.get(), sum.get()};
  const auto combine = [&](int count) {
    return [&, count] {
      hipLaunchKernelGGL(write_partials, 1, 63, 0, nullptr, parts.data());
      hipLaunchKernelGGL(sum_partials, 1, threads, 0, nullptr, parts.data(), sums.data(), count);
    };
  };
  require_silence(workspaces, combine(63));
  require_finding(workspaces, ASSAY_UNWRITTEN_READ, "partial[63], which no thread has written", combine(64));
}

namespace {

__global__ void normalise_in_place(float* input, float* out) {
  note(line, __LINE__ + 1);
  input[threadIdx.x] = input[threadIdx.x] * 2.0F;
  out[threadIdx.x] = input[threadIdx.x];
}

__global__ void copy_vectors(const float* in, float4* out) {
  note(line, __LINE__ + 1);
  out[threadIdx.x] = reinterpret_cast<const float4*>(in)[threadIdx.x];
}

}  // namespace

TEST_CASE("Stores to inputs and misaligned vectors are reported", "[checker]") {
  std::vector<float> given(4 * threads + 64), results(4 * threads + 64);
  const auto aligned = [](std::vector<float>& v) {
    return v.data() + (16 - reinterpret_cast<std::uintptr_t>(v.data()) / 4 % 16) % 16;
  };
  float* const from = aligned(given);
  float* const to = aligned(results);
  toy_tensor in("in", from, {4 * threads + 4}, {1}, ASSAY_INPUT);
  toy_tensor out("out", to, {4 * threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{in.get(), out.get()};
  require_finding(tensors, ASSAY_INPUT_STORE, "store of 4 bytes",
                  [&] { hipLaunchKernelGGL(normalise_in_place, 1, threads, 0, nullptr, from, to); });
  const auto copy = [&](int shift) {
    return [&, shift] {
      hipLaunchKernelGGL(copy_vectors, 1, threads, 0, nullptr, from + shift, reinterpret_cast<float4*>(to));
    };
  };
  require_silence(tensors, copy(0));
#if !ASSAY_ASAN  // UBSan's own runtime would end the program there
  require_finding(tensors, ASSAY_MISALIGNED, "4 bytes past a multiple of 16", copy(1));
#endif
  // A vector is seen whole: of the last one, only the last four bytes are outside.
  toy_tensor shorter("in", from, {4 * threads - 1}, {1}, ASSAY_INPUT);
  const std::array short_tensors{shorter.get(), out.get()};
  require_finding(short_tensors, ASSAY_OUT_OF_BOUNDS, "load of 16 bytes", copy(0));
}

TEST_CASE("An in-out tensor holds data from the start, and may be read and written", "[checker]") {
  std::vector<float> held(4 * threads), results(threads);
  toy_tensor pool("pool", held.data(), {threads, 2}, {3, 1}, ASSAY_IN_OUT);
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{pool.get(), out.get()};
  require_silence(tensors,
                  [&] { hipLaunchKernelGGL(sum_partials, 1, threads, 0, nullptr, held.data(), results.data(), 2); });
  require_finding(tensors, ASSAY_OUT_OF_BOUNDS, "outside of pool of shape [128, 2] and strides [3, 1]: pool[0, 2]",
                  [&] { hipLaunchKernelGGL(sum_partials, 1, threads, 0, nullptr, held.data(), results.data(), 3); });
  require_silence(tensors, [&] { hipLaunchKernelGGL(store_rows, 1, threads, 0, nullptr, held.data(), 64, 2, 3); });
  require_finding(tensors, ASSAY_OUT_OF_BOUNDS, "outside of pool of shape [128, 2] and strides [3, 1]: pool[0, 2]",
                  [&] { hipLaunchKernelGGL(store_rows, 1, 3, 0, nullptr, held.data(), 1, 3, 3); });

  toy_tensor both("both", held.data(), {threads}, {1}, ASSAY_IN_OUT);
  const std::array dense{both.get(), out.get()};
  require_silence(dense,
                  [&] { hipLaunchKernelGGL(normalise_in_place, 1, threads, 0, nullptr, held.data(), results.data()); });
  require_finding(dense, ASSAY_OUT_OF_BOUNDS, "outside of both of shape [128]: both[128]", [&] {
    hipLaunchKernelGGL(normalise_in_place, 1, threads + 1, 0, nullptr, held.data(), results.data());
  });
}

namespace {

__global__ void all_blocks_store(int* out) {
  if (threadIdx.x != 5) return;
  note(line, __LINE__ + 1), note(other_line, __LINE__ + 1);
  out[0] = 7;
}

__global__ void count_and_order(int* counter, int* out) {
  __shared__ int seen;
  if (threadIdx.x == 0) seen = 0;
  __syncthreads();
  atomicAdd(&seen, 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(counter, seen);
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<int>(i);
}

__global__ void mix_atomic_and_plain(int* counter) {
  note(other_line, __LINE__ + 1);
  atomicAdd(counter, 1);
  note(line, __LINE__ + 1);
  if (threadIdx.x == 100) *counter = 0;
}

__global__ void initialise(int* counter) {
  *counter = 0;
}

__global__ void touch_foreign(const int* somewhere, int* out) {
  note(line, __LINE__ + 1);
  out[threadIdx.x] = *somewhere;
}

}  // namespace

TEST_CASE("Blocks that store to one place race, even the same value; atomics among themselves do not", "[checker]") {
  std::vector<int> results = ints(blocks * threads), count = ints(1);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  toy_tensor counter("counter", count.data(), {1}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get(), counter.get()};
  require_race(tensors, "out[0]",
               [&] { hipLaunchKernelGGL(all_blocks_store, blocks, threads, 0, nullptr, results.data()); });
  toy_tensor pool("pool", results.data(), {blocks * threads}, {1}, ASSAY_IN_OUT);
  const std::array in_out{pool.get()};
  require_race(in_out, "pool[0]",
               [&] { hipLaunchKernelGGL(all_blocks_store, blocks, threads, 0, nullptr, results.data()); });
  require_silence(tensors, [&] {
    hipLaunchKernelGGL(initialise, 1, 1, 0, nullptr, count.data());
    hipLaunchKernelGGL(count_and_order, blocks, threads, 0, nullptr, count.data(), results.data());
  });
  CHECK(count[0] == blocks * threads);
  require_race(tensors, "counter[0]", [&] {
    hipLaunchKernelGGL(initialise, 1, 1, 0, nullptr, count.data());
    hipLaunchKernelGGL(mix_atomic_and_plain, 1, threads, 0, nullptr, count.data());
  });
}

TEST_CASE("Memory that is no tensor of the launch is a wild access; memory of hipMalloc is not", "[checker]") {
  std::vector<int> results = ints(threads);
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  const std::array tensors{out.get()};
  const auto foreign = std::make_unique<std::array<int, 100000>>();
  int* const middle = &(*foreign)[50000];
  require_finding(tensors, ASSAY_WILD_ACCESS, "load of 4 bytes",
                  [&] { hipLaunchKernelGGL(touch_foreign, 1, threads, 0, nullptr, middle, results.data()); });
  int* device = nullptr;
  REQUIRE(hipMalloc(&device, sizeof(int)) == hipSuccess);
  require_silence(tensors, [&] { hipLaunchKernelGGL(touch_foreign, 1, threads, 0, nullptr, device, results.data()); });
  REQUIRE(hipFree(device) == hipSuccess);
}
