/// Flags show which edges of a kernel ran, for any number of threads that ran them: 8-bit counters, which fuzzers use
/// elsewhere, are 0 again after 256 threads.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "kernels/platform/cpu/checker/note_conflict.hpp"
#include "properties/run/kernel_library.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay;

namespace {

__global__ void choose_path(int which, int* out) {
  const unsigned int i = threadIdx.x;
  if (which == 1)
    out[i] = 3;
  else if (which == 2)
    for (int turn = 0; turn < 256; ++turn) out[i] += turn;
  __syncthreads();
  if (which == 3 && i == 0) out[0] = 5;
}

__global__ void exchange(int which, int* out) {
  __shared__ int held[64];
  const unsigned int i = threadIdx.x;
  held[i] = static_cast<int>(i);
  __syncthreads();
  if (which == 0) return;
  out[i] = held[63 - i];
  __syncthreads();
  if (which == 2) held[i] = 1;
}

std::vector<std::uint8_t> edges_of(int threads, int which) {
  const auto flags = library::built_in()->edge_flags();  // those of everything linked into this program
  std::ranges::fill(flags, std::uint8_t{0});
  std::vector<int> out(512);
  const cpu::launch_scope scope(cpu::parameters(64));
  hipLaunchKernelGGL(choose_path, 1, static_cast<unsigned>(threads), 0, nullptr, which, out.data());
  return {flags.begin(), flags.end()};
}

std::ptrdiff_t count(const std::vector<std::uint8_t>& flags) {
  return std::ranges::count_if(flags, [](std::uint8_t f) { return f != 0; });
}

}  // namespace

TEST_CASE("blocks of 64, 255, 256 and 512 threads leave the same edges", "[edges]") {
  for (const int which : {0, 1, 2}) {
    const std::vector<std::uint8_t> few = edges_of(64, which);
    CHECK(count(few) > 0);
    for (const int threads : {255, 256, 512}) CHECK(edges_of(threads, which) == few);
  }
}

TEST_CASE("another path of a kernel, be it one thread's of 512, is another edge", "[edges]") {
  const std::vector<std::uint8_t> none = edges_of(512, 0);
  for (const int which : {1, 2, 3}) {
    const std::vector<std::uint8_t> some = edges_of(512, which);
    CHECK(count(some) > 0);
    CHECK(some != none);
  }
  CHECK(edges_of(512, 1) != edges_of(512, 2));
}

TEST_CASE("places that barriers order at one address of LDS are shown like edges, and by pairs", "[edges]") {
  const auto conflicts_of = [](int which) {
    const auto flags = library::built_in()->edge_flags();
    std::ranges::fill(flags, std::uint8_t{0});
    std::vector<int> out(64);
    cpu::toy_tensor written("out", out.data(), {64}, {1}, ASSAY_OUTPUT);
    const assay_tensor tensors[] = {written.get()};
    CHECK(cpu::checked_defects(cpu::parameters(64), tensors, [&] {
            hipLaunchKernelGGL(exchange, 1, 64U, 0, nullptr, which, out.data());
          }).empty());
    return count({reinterpret_cast<const std::uint8_t*>(std::begin(cpu::conflict_flags)),
                  reinterpret_cast<const std::uint8_t*>(std::end(cpu::conflict_flags))});
  };
  CHECK(conflicts_of(0) == 0);  // written only
  CHECK(conflicts_of(1) == 1);  // and read by another after a barrier
  CHECK(conflicts_of(2) == 3);  // and written once more after another: after the write, and after the read
  const auto flags = library::built_in()->edge_flags();
  const auto* first = reinterpret_cast<const std::uint8_t*>(std::begin(cpu::conflict_flags));
  CHECK((first >= flags.data() && first + std::size(cpu::conflict_flags) <= flags.data() + flags.size()));
}
