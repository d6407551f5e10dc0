/// The memory that hipMalloc gives out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay::cpu {

struct allocation {
  void* start;
  std::size_t size_bytes;
  std::string place;  ///< where it was asked for: "split_kv.cpp:68"
};

/// 256-byte aligned memory; nullptr if the host has no more.
void* allocate(std::size_t size_bytes, std::string place);
/// False, and does nothing, where allocate() gave no such memory or it was released before.
bool release(void* memory);

/// What is allocated at the moment, by all OS threads.
std::vector<allocation> allocations();

}  // namespace assay::cpu
