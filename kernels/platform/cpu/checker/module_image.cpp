#include "kernels/platform/cpu/checker/module_image.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/checker/source_line.hpp"

// Where the section of static __shared__ variables (hip_runtime.h) begins and ends in the module: the linker says it.
// Null in a module without one. Hidden, or it would be another module's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
[[gnu::weak, gnu::visibility("hidden")]] extern std::byte __start_assay_lds[];
[[gnu::weak, gnu::visibility("hidden")]] extern std::byte __stop_assay_lds[];
// NOLINTEND(bugprone-reserved-identifier)
}

namespace assay::cpu {
namespace {

bool is_own(const dl_phdr_info& info) {
  const std::uintptr_t inside = module_start();
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && inside - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

template <class Visit>
void visit_own_segments(Visit visit) {
  const auto each = [](dl_phdr_info* info, std::size_t, void* given) {
    if (!is_own(*info)) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) (*static_cast<Visit*>(given))(*info, info->dlpi_phdr[i]);
    return 1;
  };
  dl_iterate_phdr(each, &visit);
}

std::vector<memory_region> load_image() {
  std::vector<memory_region> parts;
  visit_own_segments([&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_LOAD) return;
    memory_region part;
    part.low = info.dlpi_addr + segment.p_vaddr;
    part.span_bytes = segment.p_memsz;
    part.role = (segment.p_flags & PF_W) != 0 ? memory_role::globals : memory_role::constants;
    part.name = part.role == memory_role::globals ? "module's variables" : "module's constants";
    part.dimensions = {{segment.p_memsz, 1}};
    part.by_stride = {0};
    parts.push_back(part);
  });
  return parts;
}

struct close_elf {
  void operator()(Elf* e) const { elf_end(e); }
};

/// The file's table of symbols. Bytes between __shared__ variables (hip_runtime.h) are no variables.
std::vector<module_variable> load_variables(unsigned char type) {
  std::vector<module_variable> all;
  std::string file = "/proc/self/exe";
  std::uintptr_t base = 0;
  visit_own_segments([&](const dl_phdr_info& info, const ElfW(Phdr)&) {
    if (info.dlpi_name != nullptr && info.dlpi_name[0] != '\0') file = info.dlpi_name;
    base = info.dlpi_addr;
  });
  elf_version(EV_CURRENT);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const std::unique_ptr<Elf, close_elf> elf(fd < 0 ? nullptr : elf_begin(fd, ELF_C_READ, nullptr));
  for (Elf_Scn* section = nullptr; elf != nullptr && (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB || header.sh_entsize == 0) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    for (int i = 0; data != nullptr && i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) break;
      if (GELF_ST_TYPE(symbol.st_info) != type || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) continue;
      const char* const name = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      if (name == nullptr || std::strstr(name, "assay_shared_guard_") != nullptr) continue;
      all.push_back({symbol.st_value + (type == STT_TLS ? 0 : base), symbol.st_size, name});
    }
  }
  if (fd >= 0) close(fd);
  return all;
}

}  // namespace

// Of "_ZZ6kernelPfE4tile", which reads "kernel(float*)::tile".
std::string module_variable::name() const {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                        &std::free);
  const std::string full = status == 0 ? readable.get() : symbol;
  const std::size_t scope = full.rfind("::");
  return scope == std::string::npos ? full : full.substr(scope + 2);
}

module_variables::module_variables(std::vector<module_variable> all) : all_(std::move(all)) {
  std::sort(all_.begin(), all_.end(),
            [](const module_variable& a, const module_variable& b) { return a.start < b.start; });
}

const module_variable* module_variables::at(std::uint64_t place) const {
  const auto after = std::upper_bound(all_.begin(), all_.end(), place,
                                      [](std::uint64_t p, const module_variable& v) { return p < v.start; });
  return after == all_.begin() ? nullptr : &*std::prev(after);
}

const module_variables& module_variables::globals() {
  static const module_variables all(load_variables(STT_OBJECT));
  return all;
}

const module_variables& module_variables::thread_locals() {
  static const module_variables all(load_variables(STT_TLS));
  return all;
}

const std::vector<memory_region>& module_image() {
  static const std::vector<memory_region> parts = load_image();
  return parts;
}

thread_local_image own_thread_locals() {
  // The module's thread-local variables exist only after one of them was accessed.
  const volatile bool touched = this_thread != nullptr;
  static_cast<void>(touched);
  thread_local_image image;
  visit_own_segments([&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
    if (segment.p_type == PT_TLS && info.dlpi_tls_data != nullptr)
      image = {reinterpret_cast<std::uintptr_t>(info.dlpi_tls_data), segment.p_memsz};
  });
  return image;
}

std::span<std::byte> own_static_lds() {
  own_thread_locals();  // makes them
  const auto start = reinterpret_cast<std::uintptr_t>(__start_assay_lds);
  const auto stop = reinterpret_cast<std::uintptr_t>(__stop_assay_lds);
  std::span<std::byte> own;
  visit_own_segments([&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
    if (start == 0 || segment.p_type != PT_TLS || info.dlpi_tls_data == nullptr) return;
    // The linker's addresses are those of the file's image, of which each OS thread has a copy.
    const std::uintptr_t offset = start - (info.dlpi_addr + segment.p_vaddr);
    own = {static_cast<std::byte*>(info.dlpi_tls_data) + offset, stop - start};
  });
  return own;
}

std::uintptr_t code_start() {
  std::uintptr_t start = module_start();
  visit_own_segments([&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) start = info.dlpi_addr + segment.p_vaddr;
  });
  return start;
}

}  // namespace assay::cpu
