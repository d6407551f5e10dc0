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

extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];  // the linker's: the module's first byte

namespace assay::cpu {
namespace {

struct end_dwfl {
  void operator()(Dwfl* d) const { dwfl_end(d); }
};

/// Whether a file belongs to the platform or the system, not to kernels.
bool is_foreign(const char* file) {
  const bool is_in_platform =
      std::strstr(file, "platform/cpu/hip/") != nullptr || std::strstr(file, "platform/cpu/cuda/") != nullptr;
  const char* const ending = std::strrchr(file, '.');  // in folders of these names, tests have kernels
  return (is_in_platform && ending != nullptr && std::strcmp(ending, ".h") == 0) || std::strncmp(file, "/usr/", 5) == 0;
}

void append(std::string& text, const char* file, int line) {
  if (file == nullptr || is_foreign(file)) return;
  const char* const slash = std::strrchr(file, '/');
  text +=
      (text.empty() ? "" : ", from ") + std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(line);
}

/// The line of that address; if the code was inlined, then the lines that called it, from the innermost outwards.
std::string kernel_lines(Dwarf_Die& unit, Dwarf_Addr address) {
  std::string text;
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
  int number = 0;
  if (line == nullptr || dwarf_lineno(line, &number) != 0) return text;
  append(text, dwarf_linesrc(line, nullptr, nullptr), number);
  // The scopes by call, from the innermost outwards: dwarf_getscopes alone would continue with the scope of definition.
  Dwarf_Die* innermost = nullptr;
  Dwarf_Die* scopes = nullptr;
  int depth = dwarf_getscopes(&unit, address, &innermost);
  if (depth > 0) depth = dwarf_getscopes_die(&innermost[0], &scopes);
  std::free(innermost);
  Dwarf_Files* files = nullptr;
  std::size_t num_files = 0;
  if (depth > 0 && dwarf_getsrcfiles(&unit, &files, &num_files) == 0)
    for (int i = 0; i < depth; ++i) {
      Dwarf_Attribute attribute;
      Dwarf_Word file = 0, called_at = 0;
      if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
      if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0 ||
          dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &called_at) != 0)
        break;
      append(text, dwarf_filesrc(files, file, nullptr, nullptr), static_cast<int>(called_at));
    }
  std::free(scopes);
  return text;
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
  // Search the units' own ranges: clang does not write .debug_aranges, which dwfl_getsrc needs.
  for (Dwarf_Die* unit = nullptr; module != nullptr && (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    if (dwarf_haspc(unit, address - bias) != 1) continue;
    if (std::string lines = kernel_lines(*unit, address - bias); !lines.empty()) return lines;
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
