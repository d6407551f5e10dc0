#include <hip/hip_cooperative_groups.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tests/kernels/platform/cpu/launching.hpp"

namespace cg = cooperative_groups;
using namespace assay::cpu;

namespace {

struct seen_tile {
  unsigned int rank, tile, tiles, sum;
  unsigned long long odd;
  int any, all;
};

__global__ void use_tiles(seen_tile* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  unsigned int sum = block.thread_rank();
  for (int lanes = 8; lanes > 0; lanes /= 2) sum += tile.shfl_xor(sum, lanes);
  tile.sync();
  const int rank = static_cast<int>(tile.thread_rank());
  const unsigned int from_above = tile.shfl_down(block.thread_rank(), 1),
                     from_below = tile.shfl_up(block.thread_rank(), 1);
  const bool is_moved =
      from_above == block.thread_rank() + (rank < 15 ? 1 : 0) && from_below == block.thread_rank() - (rank > 0 ? 1 : 0);
  out[block.thread_rank()] = {tile.thread_rank(),        tile.meta_group_rank(), tile.meta_group_size(),
                              tile.shfl(sum, 3),         tile.ballot(rank % 2),  tile.any(rank == 5),
                              tile.all(is_moved ? 1 : 0)};
  cg::sync(block);
}

/// Reads from a lane that does not come.
__global__ void leave_tile(int* out) {
  const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
  if (tile.thread_rank() < 8) out[0] = tile.shfl(1, 12);
}

}  // namespace

TEST_CASE("Tiles of a wave exchange values among themselves", "[hip]") {
  for (const assay_launch& l : all_launches()) {
    std::array<seen_tile, 64> out{};
    CHECK(defects_of(l, [&] { hipLaunchKernelGGL(use_tiles, 1, dim3(32, 2), 0, nullptr, out.data()); }).empty());
    for (unsigned int i = 0; i < 64; ++i) {
      const seen_tile& t = out[i];
      INFO(name(l) << ", thread " << i);
      CHECK(t.rank == i % 16);
      CHECK(t.tile == i / 16);
      CHECK(t.tiles == 4);
      CHECK(t.sum == i / 16 * 256 + 120);  // 16 * 16 * tile + 0 + 1 + ... + 15
      CHECK(t.odd == 0xAAAA);
      CHECK(t.any == 1);
      CHECK(t.all == 1);
    }
  }
}

TEST_CASE("A tile's lane that reads from one that left is a defect", "[hip]") {
  for (const assay_launch& l : all_launches()) {
    int out = 0;
    const auto seen = defects_of(l, [&] { hipLaunchKernelGGL(leave_tile, 1, 64, 0, nullptr, &out); });
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == ASSAY_EXITED_LANE);
    CHECK(seen[0].message.find("thread_block_tile::shfl") != std::string::npos);
  }
}
