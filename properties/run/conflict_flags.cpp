#include "properties/run/conflict_flags.hpp"

#include <dlfcn.h>

#include "kernels/library.h"

namespace assay {
namespace {

/// The export of the loaded module in which the address lies; nullptr if it has none.
decltype(&assay_conflict_flags_v1) export_beside(const void* address) {
  Dl_info module{};
  if (dladdr(address, &module) == 0) return nullptr;
  void* handle = dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, "assay_conflict_flags_v1");
  dlclose(handle);  // it stays as long as the library
  return reinterpret_cast<decltype(&assay_conflict_flags_v1)>(found);
}

}  // namespace

std::span<const std::uint8_t> conflict_flags(const library& lib) {
  const std::span<const std::uint8_t> edges = lib.edge_flags();
  if (edges.empty()) return {};
  const bool is_own = edges.data() == assay_edge_flags_v1()->flags;
  auto* const entry = is_own ? &assay_conflict_flags_v1 : export_beside(edges.data());
  if (entry == nullptr) return {};
  const assay_edge_flags* given = entry();
  return {given->flags, static_cast<std::size_t>(given->count)};
}

}  // namespace assay
