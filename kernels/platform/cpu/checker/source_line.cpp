#include "kernels/platform/cpu/checker/source_line.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];  // the linker's: the module's first byte

namespace assay::cpu {
namespace {

struct end_dwfl {
  void operator()(Dwfl* d) const { dwfl_end(d); }
};

struct place {
  const char* file;
  int line;
};

bool is_of_the_platform(const char* file) {
  return std::strstr(file, "platform/cpu/hip/") != nullptr;
}

/// The line of that address; of what the platform's headers define (atomics), the line that called it.
std::optional<place> innermost_of_the_kernel(Dwarf_Die& unit, Dwarf_Addr address) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
  place at{line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr, 0};
  if (at.file == nullptr || dwarf_lineno(line, &at.line) != 0) return std::nullopt;
  // From the innermost scope outwards by where the code is: dwarf_getscopes goes on with where it was defined.
  Dwarf_Die* innermost = nullptr;
  Dwarf_Die* scopes = nullptr;
  int depth = is_of_the_platform(at.file) ? dwarf_getscopes(&unit, address, &innermost) : 0;
  if (depth > 0) depth = dwarf_getscopes_die(&innermost[0], &scopes);
  std::free(innermost);
  Dwarf_Files* files = nullptr;
  std::size_t num_files = 0;
  if (depth > 0 && dwarf_getsrcfiles(&unit, &files, &num_files) == 0)
    for (int i = 0; i < depth && is_of_the_platform(at.file); ++i) {
      Dwarf_Attribute attribute;
      Dwarf_Word file = 0, called_at = 0;
      if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
      if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0 ||
          dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &called_at) != 0)
        break;
      const char* const name = dwarf_filesrc(files, file, nullptr, nullptr);
      if (name == nullptr) break;
      at = {name, static_cast<int>(called_at)};
    }
  std::free(scopes);
  return at;
}

std::string look_up(Dwarf_Addr address) {
  static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, nullptr};
  char unknown[64];
  std::snprintf(unknown, sizeof unknown, "no line information at 0x%" PRIx64, static_cast<std::uint64_t>(address));
  const std::unique_ptr<Dwfl, end_dwfl> dwfl(dwfl_begin(&callbacks));
  if (dwfl == nullptr || dwfl_linux_proc_report(dwfl.get(), getpid()) != 0) return unknown;
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  Dwfl_Module* const module = dwfl_addrmodule(dwfl.get(), address);
  Dwarf_Addr bias = 0;
  // By the units' own ranges: clang writes no table of them (.debug_aranges), and dwfl_getsrc knows no other way.
  for (Dwarf_Die* unit = nullptr; module != nullptr && (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    if (dwarf_haspc(unit, address - bias) != 1) continue;
    if (const std::optional<place> found = innermost_of_the_kernel(*unit, address - bias)) {
      const char* const slash = std::strrchr(found->file, '/');
      return std::string(slash != nullptr ? slash + 1 : found->file) + ":" + std::to_string(found->line);
    }
  }
  return unknown;
}

}  // namespace

std::string source_line(std::uintptr_t return_address) {
  static std::mutex mutex;
  static std::map<std::uintptr_t, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(return_address);
  if (is_new) entry->second = look_up(return_address - 1);  // within the call, not after it
  return entry->second;
}

std::uintptr_t module_start() {
  return reinterpret_cast<std::uintptr_t>(__ehdr_start);
}

}  // namespace assay::cpu
