/// From an address in the code to the source line.
#pragma once

#include <cstdint>
#include <string>

namespace assay::cpu {

/// "paging.hpp:68, from split_kv_kernel.hpp:120": the line, and from where what was inlined there was called, by the
/// debug information of the module (libdw; the code needs -gline-tables-only); without any, "no line information at
/// 0x..". `return_address` is where a call returns to. Slow: for reports.
std::string source_line(std::uintptr_t return_address);

/// Where the module that the platform is linked into starts.
std::uintptr_t module_start();

}  // namespace assay::cpu
