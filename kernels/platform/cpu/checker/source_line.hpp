/// From an address in the code to the source line.
#pragma once

#include <cstdint>
#include <string>

namespace assay::cpu {

/// "paging.hpp:68, from split_kv_kernel.hpp:120": the source line of a call and, if it was inlined, the lines that
/// called it. Reads the module's debug information with libdw (compile with -gline-tables-only); without any, "no line
/// information at 0x..". `return_address` is where the call returns to. Slow: for reports only.
std::string source_line(std::uintptr_t return_address);

/// Where the module that the platform is linked into starts.
std::uintptr_t module_start();

}  // namespace assay::cpu
