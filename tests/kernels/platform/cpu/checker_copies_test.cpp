/// Asynchronous copies: from their start to the wait of their thread no thread may touch where they go, whatever
/// barriers stand between.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "kernels/platform/cpu/executor/async_copy.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128, blocks = 2, floats = 4;

enum class flaw : std::uint8_t {
  none,
  own_read,      ///< the thread reads before it waits
  others_read,   ///< another thread reads after a barrier, but before the wait
  read_of_two,   ///< as well, of the newer of two groups, of which only the older one is waited for
  no_barrier,    ///< another thread reads after the wait, with no barrier between them
  store,         ///< the thread stores while the copy is under way
  second_copy,   ///< two copies at once
  over_readers,  ///< the copy begins while others may still read what was there
  misaligned,    ///< the source is no multiple of what is copied
  never_waited   ///< no thread touches it: no defect
};

/// Thread 0 copies 16 bytes to a place of its own, another thread reads them.
__global__ void copy(float* out, const float* in, flaw planted, int reader) {
  HIP_DYNAMIC_SHARED(float4, lds);
  auto* const place = reinterpret_cast<volatile float*>(lds);
  const int thread = static_cast<int>(threadIdx.x);
  const auto begin = [&](int at) { begin_copy(lds + at, in + floats * at, 16, 16); };
  float sum = 0;
  if (planted == flaw::over_readers) {
    if (thread == 0) place[0] = 1;
    __syncthreads();
    if (thread == reader) sum += place[0];
  }
  if (thread == 0) {
    if (planted == flaw::misaligned) begin_copy(lds, in + 1, 16, 16);
    begin(0);
    commit_copies();
    begin(1);
    commit_copies();
    if (planted == flaw::own_read) sum += place[1];
    if (planted == flaw::store) place[1] = 2;
    if (planted == flaw::second_copy) begin(0);
    if (planted == flaw::read_of_two || planted == flaw::no_barrier) wait_for_copies(1);
  }
  if (planted == flaw::others_read || planted == flaw::read_of_two) __syncthreads();
  if (thread == reader && planted == flaw::others_read) sum += place[1];
  if (thread == reader && planted == flaw::read_of_two) sum += place[0] + place[floats];
  if (thread == reader && planted == flaw::no_barrier) sum += place[0];
  if (planted != flaw::never_waited) {
    __syncthreads();
    if (thread == 0) wait_for_copies(0);
    __syncthreads();
    if (thread == reader) sum += place[1] + place[floats];
  }
  out[static_cast<int>(blockIdx.x) * threads + thread] = sum;
}

struct copy_run {
  alignas(16) std::array<float, 2 * floats> in{1, 2, 3, 4, 5, 6, 7, 8};
  std::array<float, std::size_t{blocks} * threads> out{};
  std::vector<seen_defect> seen;
  copy_run(const assay_launch& l, const std::vector<flaw>& launches, int reader) {
    toy_tensor given("in", in.data(), {2 * floats}, {1}, ASSAY_INPUT);
    toy_tensor result("out", out.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
    const std::array tensors{given.get(), result.get()};
    seen = checked_defects(l, tensors, [&] {
      for (const flaw planted : launches)
        hipLaunchKernelGGL(copy, blocks, threads, 2 * floats * sizeof(float), nullptr, out.data(), in.data(), planted,
                           reader);
    });
  }
};

/// On all schedules, also of lanes in lockstep, the reader in the wave of thread 0 and in another one.
template <class Check>
void on_all_launches(Check check) {
  for (assay_launch l : all_checked_launches())
    for (const int reader : {1, 64})
      for (const int lockstep : {0, 1}) {
        l.lockstep_waves = lockstep;
        INFO(name(l) << ", reader " << reader << ", lockstep " << lockstep);
        check(l, reader);
      }
}

}  // namespace

TEST_CASE("A copy that is waited for before a barrier is what its thread stored", "[checker][copies]") {
  on_all_launches([](const assay_launch& l, int reader) {
    const copy_run run(l, {flaw::none, flaw::never_waited, flaw::none}, reader);
    INFO((run.seen.empty() ? "nothing" : run.seen[0].message));
    CHECK(run.seen.empty());
    CHECK(run.out[static_cast<std::size_t>(reader)] == 7);
  });
}

TEST_CASE("An access to a copy under way is a race, also by its own thread and behind a barrier", "[checker][copies]") {
  for (const flaw planted : {flaw::own_read, flaw::others_read, flaw::read_of_two, flaw::store, flaw::second_copy})
    on_all_launches([planted](const assay_launch& l, int reader) {
      INFO("flaw " << static_cast<int>(planted));
      const copy_run run(l, {planted}, reader);
      REQUIRE_FALSE(run.seen.empty());
      for (const seen_defect& d : run.seen) {
        INFO(d.message);
        CHECK(d.kind == ASSAY_DATA_RACE);
        CHECK(mentions(d, "while an asynchronous copy of thread 0 (checker_copies_test.cpp:"));
        CHECK(mentions(d, "is under way to it"));
      }
    });
}

TEST_CASE("A copy is a store at its start, and one of its thread at the wait", "[checker][copies]") {
  on_all_launches([](const assay_launch& l, int reader) {
    if (l.lockstep_waves != 0 && reader == 1) return;  // ordered then
    for (const flaw planted : {flaw::no_barrier, flaw::over_readers}) {
      INFO("flaw " << static_cast<int>(planted));
      const copy_run run(l, {planted}, reader);
      for (const seen_defect& d : run.seen) UNSCOPED_INFO(d.kind << " " << d.message);
      // A reader that comes first has read what no thread wrote, too.
      CHECK(std::ranges::any_of(run.seen, [](const seen_defect& d) { return d.kind == ASSAY_DATA_RACE; }));
    }
  });
}

TEST_CASE("A copy from an address that is no multiple of its size is reported with its line", "[checker][copies]") {
  on_all_launches([](const assay_launch& l, int reader) {
    const copy_run run(l, {flaw::misaligned}, reader);
    REQUIRE_FALSE(run.seen.empty());
    CHECK(run.seen[0].kind == ASSAY_MISALIGNED);
    CHECK(mentions(run.seen[0], "access of 16 bytes (checker_copies_test.cpp:"));
    CHECK(mentions(run.seen[0], "4 bytes past a multiple of 16"));
  });
}
