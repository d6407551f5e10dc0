#include "kernels/platform/cpu/checker/clock.hpp"

#include <stdexcept>

namespace assay::cpu {
namespace {

std::atomic<std::uint64_t> eras{0};

}  // namespace

std::uint32_t launch_clock::take_chunk(std::int64_t block) {
  const std::uint32_t chunk = next_chunk_.fetch_add(1);
  if (chunk >= num_chunks - 1) {   // the last stamp means a copy in flight
    next_chunk_ = num_chunks - 1;  // so that it cannot wrap
    throw std::length_error("the launch synchronises too often to be checked; run it unchecked");
  }
  block_of_chunk_[chunk] = static_cast<std::int32_t>(block);
  return chunk << chunk_bits;
}

void launch_clock::start_over() {
  next_chunk_ = 1;
  era_ = ++eras;
}

}  // namespace assay::cpu
