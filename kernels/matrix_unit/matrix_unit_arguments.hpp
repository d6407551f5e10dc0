/// Kernels that run a matrix atom by itself, and elementary functions, for `assay probe`.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/library.h"

namespace assay {

/// Device memory; see assay_matrix_unit.
struct tile_arguments {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  std::int32_t count;
};

struct unit_atom {
  assay_unit_atom described;
  void (*launch)(const tile_arguments& arguments);
};

/// What the device in use has.
std::span<const unit_atom> unit_atoms();

struct function_arguments {
  std::int32_t function;  ///< assay_unit_function
  std::int64_t count;
  const float* x;
  float* y;
};
void launch_function(const function_arguments& arguments);

}  // namespace assay
