/// The workspace of a launch, as the checker sees it: bytes that a kernel may read where it wrote them.
#include <hip/hip_runtime.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int words = 64;

__global__ void store_words(unsigned int* to, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) to[i] = 7;
}
__global__ void add_to_word(unsigned int* to, int word) {
  atomicAdd(to + word, 1U);
}
__global__ void load_word(const volatile unsigned int* from, int word, unsigned int* to) {
  if (threadIdx.x == 0) *to = from[word];
}

/// Of kernels that get the workspace and an output.
template <class F>
std::vector<seen_defect> defects_with_workspace(F run) {
  std::vector<unsigned int> memory(words);
  unsigned int* const workspace = memory.data();
  unsigned int out = 0;
  toy_tensor output("out", &out, {1}, {1}, ASSAY_OUTPUT);
  const assay_tensor tensors[] = {output.get()};
  assay_launch launch = parameters(32);
  launch.workspace = workspace, launch.workspace_bytes = 4 * 32;
  return checked_defects(launch, tensors, [&] { run(workspace, &out); });
}

}  // namespace

TEST_CASE("a workspace may be read where an earlier kernel of the call wrote it") {
  const auto seen = defects_with_workspace([](unsigned int* workspace, unsigned int* out) {
    hipLaunchKernelGGL(store_words, dim3(1), dim3(32), 0, nullptr, workspace, 32);
    hipLaunchKernelGGL(add_to_word, dim3(2), dim3(32), 0, nullptr, workspace, 5);
    hipLaunchKernelGGL(load_word, dim3(1), dim3(32), 0, nullptr, workspace, 31, out);
    CHECK(*out == 7);
    CHECK(workspace[5] == 7 + 64);
  });
  CHECK(seen.empty());
}

TEST_CASE("a load or an atomic of the workspace before a store to it is an unwritten read") {
  const auto loaded = defects_with_workspace([](unsigned int* workspace, unsigned int* out) {
    hipLaunchKernelGGL(load_word, dim3(1), dim3(32), 0, nullptr, workspace, 3, out);
  });
  REQUIRE(loaded.size() == 1);
  CHECK(loaded[0].kind == ASSAY_UNWRITTEN_READ);
  CHECK(mentions(loaded[0], "workspace[12]"));
  const auto added = defects_with_workspace([](unsigned int* workspace, unsigned int*) {
    hipLaunchKernelGGL(add_to_word, dim3(1), dim3(32), 0, nullptr, workspace, 3);
  });
  REQUIRE(added.size() == 1);
  CHECK(added[0].kind == ASSAY_UNWRITTEN_READ);
}

TEST_CASE("an access past the workspace is out of bounds, though memory is there") {
  const auto seen = defects_with_workspace([](unsigned int* workspace, unsigned int*) {
    hipLaunchKernelGGL(store_words, dim3(1), dim3(32), 0, nullptr, workspace, 33);
  });
  REQUIRE(seen.size() == 1);
  CHECK((seen[0].kind == ASSAY_OUT_OF_BOUNDS || seen[0].kind == ASSAY_WILD_ACCESS));
  CHECK(mentions(seen[0], "workspace"));
}
