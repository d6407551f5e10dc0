/// The table of kernels by name, for the case space, the shrinker and the properties. A kernel that is not in it gets
/// no generated cases.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_list.hpp"
#include "properties/case/operation.hpp"

namespace assay {

class space_walker;

/// A combination of types that a kernel supports.
struct type_choice {
  dtype q;
  dtype kv;
  dtype o;
  bool operator==(const type_choice&) const = default;
};

struct kernel_space {
  const char* name;
  std::span<const type_choice> types;  ///< plainest first
  std::int32_t head_dim_step;          ///< head dims are multiples of it, from 64
  std::int32_t per_page_keys;          ///< page sizes with per-page descales are multiples of it; 0: no such descales
  std::uint32_t capabilities;          ///< in addition to those of its operation
  bool has_window;
  /// What a run must have reached with a case that passed, before it verifies the kernel: names of
  /// properties/run/reach.hpp, separated by spaces.
  const char* reaches;
  void (*walk)(space_walker& w);  ///< sets all fields but the version and the kernel's name
};

#define ASSAY_DECLARE_SPACE(name) extern const kernel_space name##_space;
ASSAY_KERNELS(ASSAY_DECLARE_SPACE)
#undef ASSAY_DECLARE_SPACE

/// The kernels whose cases can be generated, in the order in which they are drawn.
std::span<const kernel_space* const> kernel_spaces();

/// nullptr if the name is not in the table.
const kernel_space* find_kernel_space(std::string_view name);

/// Capabilities of the kernel of that name: those of its operation and those of the table. A kernel that is not in the
/// table counts as having splits: a property discards cases without them.
std::uint32_t capabilities_of(std::string_view kernel);

/// All names of the table.
std::vector<std::string> kernels_of_the_space();

/// Those of `kernels` that are in the table, in its order and each once.
std::vector<std::string> drawable(std::span<const std::string> kernels);

/// The types that the case space draws, of all kernels or of one, as types_of() names them.
std::vector<std::string> types_of_the_space();
std::vector<std::string> types_of_the_space(const kernel_space& kernel);

}  // namespace assay
