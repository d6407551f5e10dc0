#include "kernels/platform/cpu/checker/source_line.hpp"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];  // the linker's: the module's first byte

namespace assay::cpu {
namespace {

struct end_dwfl {
  void operator()(Dwfl* d) const { dwfl_end(d); }
};

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
    Dwarf_Line* const line = dwarf_getsrc_die(unit, address - bias);
    const char* const file = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    int number = 0;
    if (file == nullptr || dwarf_lineno(line, &number) != 0) continue;
    const char* const slash = std::strrchr(file, '/');
    return std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(number);
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
