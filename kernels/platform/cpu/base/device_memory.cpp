#include "kernels/platform/cpu/base/device_memory.hpp"

#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

namespace assay::cpu {
namespace {

std::mutex allocations_mutex;
std::map<void*, allocation> live_allocations;

}  // namespace

void* allocate(std::size_t size_bytes, std::string place) {
  constexpr std::size_t alignment_bytes = 256;
  if (size_bytes > std::numeric_limits<std::size_t>::max() - alignment_bytes) return nullptr;
  void* memory =
      std::aligned_alloc(alignment_bytes, (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(allocations_mutex);
  live_allocations[memory] = {memory, size_bytes, std::move(place)};
  return memory;
}

void release(void* memory) {
  {
    const std::lock_guard lock(allocations_mutex);
    live_allocations.erase(memory);
  }
  std::free(memory);
}

std::vector<allocation> allocations() {
  const std::lock_guard lock(allocations_mutex);
  std::vector<allocation> all;
  all.reserve(live_allocations.size());
  for (const auto& [start, live] : live_allocations) all.push_back(live);
  return all;
}

}  // namespace assay::cpu
