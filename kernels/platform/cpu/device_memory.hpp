/// The memory that hipMalloc gave out.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::cpu {

struct allocation {
  void* start;
  std::size_t size_bytes;
};

/// What is allocated at the moment, by all OS threads.
std::vector<allocation> allocations();

}  // namespace assay::cpu
