#include "kernels/platform/cpu/base/own_stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <new>
#include <set>

// The pass's name for the start of the table (own_stack_table.cpp): linked only where checked kernels refer to it.
extern "C" [[gnu::weak]] std::uintptr_t __asan_shadow_memory_dynamic_address;  // NOLINT(bugprone-reserved-identifier)

namespace assay::cpu {
namespace {

/// Start of the table, or 0 if there is none.
std::uintptr_t table() {
#if !ASSAY_ASAN && !ASSAY_TSAN  // of the build: there the name is the sanitizer's, and kernels call back each time
  return &__asan_shadow_memory_dynamic_address == nullptr ? 0 : __asan_shadow_memory_dynamic_address;
#else
  return 0;
#endif
}

/// Gives a page of the table memory of its own, in which all flags are as before. Kernels of other OS threads may look
/// into it meanwhile, so that it is replaced at once. Throws std::bad_alloc.
void make_private(std::uintptr_t page, std::size_t page_bytes) {
  void* const own = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) throw std::bad_alloc();
  auto* const place = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr)
  std::memcpy(own, place, page_bytes);
  if (mremap(own, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return;
  munmap(own, page_bytes);
  throw std::bad_alloc();
}

}  // namespace

void prepare_own_stack_flags(std::uintptr_t low, std::size_t bytes) {
  if (table() == 0) return;
  static std::mutex mutex;
  static std::set<std::uintptr_t> private_pages;
  const std::lock_guard lock(mutex);
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = table() + (low >> slot_shift), last = table() + ((low + bytes - 1) >> slot_shift);
  for (std::uintptr_t page = first - first % page_bytes; page <= last; page += page_bytes) {
    if (private_pages.contains(page)) continue;
    make_private(page, page_bytes);
    private_pages.insert(page);
  }
}

std::uint8_t own_stack_flag::no_flag_ = 0;

own_stack_flag::own_stack_flag(std::uintptr_t stack_low) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the table begins at a number
  if (table() != 0) flag_ = reinterpret_cast<std::uint8_t*>(table()) + (stack_low >> slot_shift);
}

bool own_stack_flag::is_past_table(std::uintptr_t address) {
  return table() != 0 && address >= table() + table_bytes;
}

}  // namespace assay::cpu
