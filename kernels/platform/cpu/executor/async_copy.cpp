#include "kernels/platform/cpu/executor/async_copy.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/platform/cpu/executor/own_in_block.hpp"

namespace assay::cpu {
namespace {

struct copy_under_way {
  void* to;
  std::size_t size;
  std::uintptr_t pc;
  std::byte bytes[16];
};

/// A thread's copies, oldest first, and where its committed groups end.
struct copies {
  std::vector<copy_under_way> pending;
  std::vector<std::size_t> group_ends;
};

}  // namespace

[[gnu::noinline]] void begin_copy(void* shared, const void* source, std::size_t size, std::size_t bytes) {
  begin_copy_at(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), shared, source, size, bytes);
}

void begin_copy_at(std::uintptr_t pc, void* shared, const void* source, std::size_t size, std::size_t bytes) {
  if (size != 4 && size != 8 && size != 16) throw std::invalid_argument("cp.async copies 4, 8 or 16 bytes");
  copy_under_way copy{shared, size, pc, {}};
  bytes = bytes < size ? bytes : size;
  demand_multiple(shared, size, pc);
  if (bytes != 0) {
    demand_multiple(source, size, pc);
    note_load(source, bytes, pc);
    std::memcpy(copy.bytes, source, bytes);
  }
  note_store(shared, size, pc);
  std::memset(shared, 0xFF, size);
  checked_thread& self = running_thread();
  if (self.checker != nullptr) self.checker->begin_copy(self, reinterpret_cast<std::uintptr_t>(shared), size, pc);
  const own_accesses own(self);
  own_in_block<copies>().pending.push_back(copy);
}

void commit_copies() {
  const own_accesses own(running_thread());
  copies& all = own_in_block<copies>();
  all.group_ends.push_back(all.pending.size());
}

void wait_for_copies(int pending) {
  checked_thread& self = running_thread();
  access_checker* const checker = self.checker;
  const own_accesses own(self);
  copies& all = own_in_block<copies>();
  const std::size_t groups = all.group_ends.size();
  const std::size_t past = pending < 0 ? groups : groups - std::min(groups, static_cast<std::size_t>(pending));
  const std::size_t end = pending < 0 ? all.pending.size() : past == 0 ? 0 : all.group_ends[past - 1];
  for (std::size_t i = 0; i < end; ++i) {
    const copy_under_way& copy = all.pending[i];
    std::memcpy(copy.to, copy.bytes, copy.size);
    if (checker != nullptr) checker->land_copy(self, reinterpret_cast<std::uintptr_t>(copy.to), copy.size, copy.pc);
  }
  all.pending.erase(all.pending.begin(), all.pending.begin() + static_cast<std::ptrdiff_t>(end));
  all.group_ends.erase(all.group_ends.begin(), all.group_ends.begin() + static_cast<std::ptrdiff_t>(past));
  for (std::size_t& group_end : all.group_ends) group_end -= end;
}

}  // namespace assay::cpu
