/// A defect that the checker found and the launch will report.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/library.h"
#include "kernels/platform/cpu/base/vector_types.hpp"

namespace assay::cpu {

struct access_defect {
  assay_defect_kind kind;
  std::string message;
  std::string line;  ///< kind and line identify a defect
  uint3 block{};
  int wave = -1;
  int lane = -1;
};

}  // namespace assay::cpu
