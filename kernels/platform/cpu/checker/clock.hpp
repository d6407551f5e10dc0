/// The checker's time. A stamp names one interval of one wave between two synchronisations: it ends at a
/// collective of the whole wave and at a barrier of the block. Stamps ascend within a block and are never used twice,
/// so nothing has to be cleared when a barrier, a block or a launch ends: what it left is older than the next one's
/// first stamp.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/platform/cpu/checker/access_record.hpp"
#include "kernels/platform/cpu/checker/mapped_array.hpp"

namespace assay::cpu {

/// Gives out stamps, in chunks that belong to one block each, to all OS threads of the launches of one thread.
class launch_clock {
 public:
  static constexpr int chunk_bits = 4;  // small: a block that stores takes one at least, and a launch has 2^23
  static constexpr std::uint32_t stamps_per_chunk = std::uint32_t{1} << chunk_bits;
  static constexpr std::uint32_t num_chunks = std::uint32_t{1} << (record::stamp_bits - chunk_bits);

  launch_clock() : block_of_chunk_(num_chunks) { start_over(); }

  /// First stamp of a fresh chunk of that block. Throws std::length_error when a single launch used all of them.
  std::uint32_t take_chunk(std::int64_t block);
  std::int64_t block_of(std::uint32_t stamp) const { return block_of_chunk_[stamp >> chunk_bits]; }
  /// Higher than all stamps given out so far.
  std::uint32_t next_stamp() const { return next_chunk_.load() << chunk_bits; }

  /// Whether half of the stamps are used. Then start_over(), between launches: all shadows must be cleared after it.
  bool is_late() const { return next_chunk_.load() > num_chunks / 2; }
  void start_over();
  /// Unique: changes with start_over(), and differs between clocks.
  std::uint64_t era() const { return era_; }

 private:
  std::atomic<std::uint32_t> next_chunk_{1};  // stamp 0 is "never"
  mapped_array<std::int32_t> block_of_chunk_;
  std::uint64_t era_ = 0;
};

}  // namespace assay::cpu
