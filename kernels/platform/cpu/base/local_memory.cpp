#include "kernels/platform/cpu/base/local_memory.hpp"

#include <array>
#include <cstring>

namespace assay::cpu {
namespace {

// Neighbouring bytes differ, and none is 0x00 or 0xFF, so that zeros, poison or a repeated value that a kernel stores
// past the end differ from the canary. 83 is odd, so i * 83 takes all values of a byte.
constexpr auto make_canary() {
  std::array<std::byte, 1024> canary{};
  for (std::size_t i = 0; i < canary.size(); ++i) {
    const auto value = static_cast<unsigned char>(i * 83 + 29);
    canary[i] = static_cast<std::byte>(value == 0 || value == 255 ? 0x5A : value);
  }
  return canary;
}
constexpr auto canary = make_canary();

}  // namespace

void local_memory::prepare(std::size_t size_bytes) {
  static_assert(canary.size() == canary_bytes);
  const std::size_t needed = size_bytes + 2 * canary_bytes + alignment_bytes;
  if (needed > memory_.size_bytes()) memory_ = remote_memory(needed);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + canary_bytes;
  start_ = memory_.data() + canary_bytes + (alignment_bytes - address % alignment_bytes) % alignment_bytes;
  size_bytes_ = size_bytes;
  std::memcpy(start_ - canary_bytes, canary.data(), canary_bytes);
  std::memset(start_, 0xFF, size_bytes);
  std::memcpy(start_ + size_bytes, canary.data(), canary_bytes);
}

std::optional<std::int64_t> local_memory::overrun() const {
  // Report the byte nearest to the block's own memory.
  if (std::memcmp(start_ + size_bytes_, canary.data(), canary_bytes) != 0)
    for (std::size_t i = 0; i < canary_bytes; ++i)
      if (start_[size_bytes_ + i] != canary[i]) return static_cast<std::int64_t>(size_bytes_ + i);
  if (std::memcmp(start_ - canary_bytes, canary.data(), canary_bytes) != 0)
    for (std::size_t i = 1; i <= canary_bytes; ++i)
      if (*(start_ - i) != canary[canary_bytes - i]) return -static_cast<std::int64_t>(i);
  return std::nullopt;
}

}  // namespace assay::cpu
