/// Cooperative groups: the block, and tiles of a power of two lanes of a wave. All members of a group must come to its
/// collectives.
#pragma once

#include <stdexcept>

#include "hip/hip_runtime.h"

namespace cooperative_groups {

class thread_block {
 public:
  void sync(ASSAY_HERE) const { assay::cpu::block_barrier("thread_block::sync", where, false); }
  unsigned int thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  unsigned int size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned int num_threads() const { return size(); }
  dim3 group_index() const { return assay::cpu::block_index(); }
  dim3 thread_index() const { return assay::cpu::thread_index(); }
  dim3 group_dim() const { return assay::cpu::block_extent(); }
};

inline thread_block this_thread_block() {
  return {};
}

/// All blocks. They run one after another: they cannot wait for each other.
class grid_group {
 public:
  [[noreturn]] void sync() const { throw std::logic_error("grid_group::sync: blocks run one after another"); }
  static constexpr bool is_valid() { return false; }
  unsigned long long thread_rank() const {
    const uint3 at = assay::cpu::block_index();
    const dim3 grid = assay::cpu::grid_extent();
    const unsigned long long block = (static_cast<unsigned long long>(at.z) * grid.y + at.y) * grid.x + at.x;
    return block * thread_block().size() + thread_block().thread_rank();
  }
  unsigned long long size() const {
    const dim3 grid = assay::cpu::grid_extent();
    return static_cast<unsigned long long>(grid.x) * grid.y * grid.z * thread_block().size();
  }
};

inline grid_group this_grid() {
  return {};
}

/// `Size` lanes that follow each other in a wave.
template <unsigned int Size>
class thread_block_tile {
  static_assert(Size > 0 && Size <= 64 && (Size & (Size - 1)) == 0, "a tile has a power of two lanes, 64 at most");

 public:
  unsigned int thread_rank() const { return thread_block().thread_rank() % Size; }
  static constexpr unsigned int size() { return Size; }
  static constexpr unsigned int num_threads() { return Size; }
  unsigned int meta_group_rank() const { return thread_block().thread_rank() / Size; }
  unsigned int meta_group_size() const { return (thread_block().size() + Size - 1) / Size; }

  void sync(ASSAY_HERE) const { assay::cpu::wave_barrier("thread_block_tile::sync", where, mask()); }
  template <assay::cpu::shufflable T>
  T shfl(T value, int source, ASSAY_HERE) const {
    return assay::cpu::shuffle("thread_block_tile::shfl", where, mask(), value, assay::cpu::indexed_lane(source, Size));
  }
  template <assay::cpu::shufflable T>
  T shfl_xor(T value, int lanes, ASSAY_HERE) const {
    return assay::cpu::shuffle("thread_block_tile::shfl_xor", where, mask(), value,
                               assay::cpu::mirrored_lane(lanes, Size));
  }
  template <assay::cpu::shufflable T>
  T shfl_up(T value, unsigned int delta, ASSAY_HERE) const {
    return assay::cpu::shuffle("thread_block_tile::shfl_up", where, mask(), value, assay::cpu::lane_below(delta, Size));
  }
  template <assay::cpu::shufflable T>
  T shfl_down(T value, unsigned int delta, ASSAY_HERE) const {
    return assay::cpu::shuffle("thread_block_tile::shfl_down", where, mask(), value,
                               assay::cpu::lane_above(delta, Size));
  }
  /// Bit i is of the tile's lane i.
  unsigned long long ballot(int predicate, ASSAY_HERE) const {
    return assay::cpu::ballot("thread_block_tile::ballot", where, mask(), predicate != 0).set >> first_lane();
  }
  int any(int predicate, ASSAY_HERE) const {
    return assay::cpu::ballot("thread_block_tile::any", where, mask(), predicate != 0).set != 0;
  }
  int all(int predicate, ASSAY_HERE) const {
    const assay::cpu::votes v = assay::cpu::ballot("thread_block_tile::all", where, mask(), predicate != 0);
    return v.set == v.present;
  }

 private:
  static int first_lane() { return assay::cpu::lane_id() & ~static_cast<int>(Size - 1); }
  /// A tile of the whole wave orders it as a collective of the whole wave does.
  static std::uint64_t mask() {
    if (static_cast<int>(Size) >= assay::cpu::wave_size()) return assay::cpu::every_lane;
    return ((std::uint64_t{1} << Size) - 1) << first_lane();
  }
};

template <unsigned int Size>
thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned int Size, unsigned int Of>
  requires(Size <= Of)
thread_block_tile<Size> tiled_partition(const thread_block_tile<Of>&) {
  return {};
}

template <class Group>
void sync(const Group& group, ASSAY_HERE) {
  group.sync(where);
}

}  // namespace cooperative_groups
