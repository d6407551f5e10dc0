/// The module (program or shared object) that the platform is linked into, and with it the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/platform/cpu/checker/memory_map.hpp"

namespace assay::cpu {

/// Its loaded segments: constants and variables.
const std::vector<memory_region>& module_image();

/// The calling OS thread's copy of its thread-local variables: there are the kernels' static __shared__ ones.
struct thread_local_image {
  std::uintptr_t low = 0;
  std::uint64_t size_bytes = 0;
};
thread_local_image own_thread_locals();
/// Of them the static __shared__ variables of all the module's kernels, with the bytes between.
std::span<std::byte> own_static_lds();

/// A variable as the module's table of symbols has it.
struct module_variable {
  std::uint64_t start = 0;  ///< address, or offset in the thread-local variables
  std::uint64_t size_bytes = 0;
  std::string symbol;
  std::string name() const;  ///< as in the source, without scopes: "tile"
  bool holds(std::uint64_t first, std::uint64_t size) const {
    return first - start < size_bytes && size <= size_bytes - (first - start);
  }
};

/// The module's variables, by their starts.
class module_variables {
 public:
  /// Reads them when they are first needed. A stripped module has none.
  static const module_variables& globals();
  static const module_variables& thread_locals();

  explicit module_variables(std::vector<module_variable> all);
  bool empty() const { return all_.empty(); }
  /// The last one that starts at or before that place, or null.
  const module_variable* at(std::uint64_t place) const;

 private:
  std::vector<module_variable> all_;
};

/// Start of the module's code. Records of accesses hold offsets from here: constants before it may be larger than they.
std::uintptr_t code_start();

}  // namespace assay::cpu
