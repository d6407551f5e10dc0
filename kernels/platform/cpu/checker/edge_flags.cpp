/// Edges of kernel code that ran, as clang's -fsanitize-coverage=edge,inline-bool-flag notes them: a byte per edge of
/// the module that this is linked into, set to 1 when any thread passes the edge.
#include "kernels/library_call.hpp"
#include "kernels/platform/cpu/checker/note_conflict.hpp"

namespace assay::cpu {

// The section in which clang collects the flags of a module's edges; the linker adds these.
[[gnu::section("__sancov_bools")]] bool conflict_flags[std::size_t{1} << conflict_flag_bits] = {};

bool flags_are_read = false;

}  // namespace assay::cpu

namespace {

constinit assay_edge_flags flags{nullptr, 0};

}  // namespace

extern "C" {

// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): clang's name
void __sanitizer_cov_bool_flag_init(bool* start, bool* stop) {
  // Every object file calls it when the module is loaded, each with the flags of the whole module.
  flags = {reinterpret_cast<std::uint8_t*>(start), stop - start};
}

[[gnu::visibility("default")]] const assay_edge_flags* assay_edge_flags_v1(void) {
  assay::cpu::flags_are_read = true;
  return &flags;
}

// The flags of kernels.cmake ask for edges where they ask for loads and stores.
[[gnu::visibility("default")]] std::int32_t assay_is_checked_v1(void) {
  return flags.count > 0 ? 1 : 0;
}

[[gnu::visibility("default")]] const assay_edge_flags* assay_conflict_flags_v1(void) {
  static const assay_edge_flags conflicts{reinterpret_cast<std::uint8_t*>(assay::cpu::conflict_flags),
                                          std::int64_t{sizeof assay::cpu::conflict_flags}};
  return &conflicts;
}
}
