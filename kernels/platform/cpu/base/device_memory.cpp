#include "kernels/platform/cpu/base/device_memory.hpp"

#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/platform/cpu/base/sanitizers.hpp"

namespace assay::cpu {
namespace {

constexpr std::size_t alignment_bytes = 256;
#if ASSAY_ASAN
constexpr std::size_t gap_bytes = 0;  // the sanitizer's own red zones lie there
#else
/// On either side, untouched: an overrun by a row or tile lands outside of all memory, where the checker sees it.
constexpr std::size_t gap_bytes = 65536;
#endif

std::mutex allocations_mutex;
std::map<void*, allocation> live_allocations;

}  // namespace

void* allocate(std::size_t size_bytes, std::string place) {
  if (size_bytes > std::numeric_limits<std::size_t>::max() - 2 * gap_bytes - alignment_bytes) return nullptr;
  const std::size_t whole = (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  auto* const block = static_cast<std::byte*>(std::aligned_alloc(alignment_bytes, whole + 2 * gap_bytes));
  if (block == nullptr) return nullptr;
  void* const memory = block + gap_bytes;
  const std::lock_guard lock(allocations_mutex);
  live_allocations[memory] = {memory, size_bytes, std::move(place)};
  return memory;
}

bool release(void* memory) {
  {
    const std::lock_guard lock(allocations_mutex);
    if (live_allocations.erase(memory) == 0) return false;
  }
  std::free(static_cast<std::byte*>(memory) - gap_bytes);
  return true;
}

std::vector<allocation> allocations() {
  const std::lock_guard lock(allocations_mutex);
  std::vector<allocation> all;
  all.reserve(live_allocations.size());
  for (const auto& [start, live] : live_allocations) all.push_back(live);
  return all;
}

}  // namespace assay::cpu
