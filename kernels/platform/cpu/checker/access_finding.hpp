/// What the checker found, before the launch reports it.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/library.hpp"
#include "kernels/platform/cpu/base/vector_types.hpp"

namespace assay::cpu {

struct access_finding {
  assay_defect_kind kind;
  std::string message;
  std::string line;  ///< with the kind, what tells findings apart
  uint3 block{};
  int wave = -1;
  int lane = -1;
};

}  // namespace assay::cpu
