#include "kernels/platform/cpu/checker/module_image.hpp"

#include <link.h>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/checker/source_line.hpp"

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
    part.role = memory_role::module;
    part.name = "the module";
    part.dimensions = {{segment.p_memsz, 1}};
    part.by_stride = {0};
    parts.push_back(part);
  });
  return parts;
}

}  // namespace

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

std::uintptr_t code_start() {
  std::uintptr_t start = module_start();
  visit_own_segments([&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) start = info.dlpi_addr + segment.p_vaddr;
  });
  return start;
}

}  // namespace assay::cpu
