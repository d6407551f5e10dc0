/// Tensors as dense arrays: their elements in row-major order, one behind the other.
#pragma once

#include <string>

#include "kernels/tensor.hpp"

namespace assay {

/// The bytes of all elements. Each must have memory.
std::string dense_bytes(const tensor& t);

/// Sets all elements to those bytes; of a dimension of stride 0 the last one stays. Throws std::invalid_argument where
/// there are more or fewer.
void store_dense(const tensor& t, const std::string& bytes);

}  // namespace assay
