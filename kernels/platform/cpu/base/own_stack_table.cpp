/// The table of own_stack.hpp, mapped before any checked code runs: constructors of the kernels' module are checked
/// code.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernels/platform/cpu/base/own_stack.hpp"

#if !ASSAY_ASAN && !ASSAY_TSAN

// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): the pass's name
extern "C" std::uintptr_t __asan_shadow_memory_dynamic_address = 0;

namespace assay::cpu {
namespace {

// The table is this piece of memory, over and over: 512 MiB of addresses, 2 MiB of memory. Pages in which a flag
// changes get memory of their own (own_stack.cpp). No file is behind it, so limits of files do not matter.
constexpr std::size_t piece_bytes = std::size_t{1} << 21;

bool map_table() {
  constexpr int anonymous = MAP_ANONYMOUS | MAP_NORESERVE;
  void* const table = mmap(nullptr, table_bytes, PROT_NONE, MAP_PRIVATE | anonymous, -1, 0);
  if (table == MAP_FAILED) return false;
  if (mmap(table, piece_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | anonymous, -1, 0) == MAP_FAILED)
    return false;
  std::memset(table, own_stack_flag::foreign, piece_bytes);
  if (mprotect(table, piece_bytes, PROT_READ) != 0) return false;
  for (std::size_t at = piece_bytes; at < table_bytes; at += piece_bytes) {
    void* const place = static_cast<char*>(table) + at;
    // Of 0 bytes of shared memory it makes a second mapping.
    if (mremap(table, 0, piece_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) return false;
  }
  __asan_shadow_memory_dynamic_address = reinterpret_cast<std::uintptr_t>(table);
  return true;
}

[[gnu::constructor(101)]] void map_table_or_end() {  // 101: the first that is free
  if (map_table()) return;
  std::fprintf(stderr, "assay: cannot reserve %zu MiB of addresses to check kernels: %s\n", table_bytes >> 20,
               std::strerror(errno));
  _exit(2);
}

}  // namespace
}  // namespace assay::cpu

#endif
