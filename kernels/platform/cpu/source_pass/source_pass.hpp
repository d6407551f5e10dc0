/// What HIP's own compiler knows and C++ does not, rewritten in preprocessed source, line by line where it stood:
///
///   kernel<<<grid, block, bytes, stream>>>(arguments)   becomes   ::assay::cpu::launch_kernel("kernel", kernel, ...)
///   kernel<T><<<grid, block>>>(arguments)                becomes   ::assay::cpu::launch_call("kernel<T>", [&]...,
///   ...),
///                                                       where a call deduces the other template arguments
///   extern __shared__ T name[];                         becomes   a pointer to the block's dynamic LDS
///   __shared__ T name[n];                               becomes   a thread-local variable (hip/hip_runtime.h says why)
///   __host__ T f() {} beside __device__ T f() {}        is left out
///
/// The rest stays as it is, to the byte.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::source_pass {

/// What cannot be rewritten. The message has the file and line of the source.
struct unclear_source : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Throws unclear_source.
std::string rewritten(std::string_view preprocessed);

}  // namespace assay::source_pass
