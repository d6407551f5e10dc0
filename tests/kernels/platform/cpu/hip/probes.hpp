/// Small kernels of what HIP's language and library have, each by a lane, and what the lane must get.
#pragma once

#include <vector>

namespace probes {

struct probe {
  const char* name;
  void (*run)(double* out);    ///< one block of 64 threads: a number for each
  double (*wanted)(int lane);  ///< by plain arithmetic
};

std::vector<probe> all();

}  // namespace probes
