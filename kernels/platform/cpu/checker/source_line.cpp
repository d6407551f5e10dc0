#include "kernels/platform/cpu/checker/source_line.hpp"

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
  Dwfl_Line* const line = dwfl_getsrc(dwfl.get(), address);
  if (line == nullptr) return unknown;
  int number = 0;
  const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  if (file == nullptr) return unknown;
  const char* const slash = std::strrchr(file, '/');
  return std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(number);
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
