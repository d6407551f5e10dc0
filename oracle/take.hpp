/// The tensors of a problem by their names, checked before anything is read.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "kernels/tensor.hpp"

namespace assay::oracle {

/// In a shape: every extent is right.
inline constexpr std::int64_t any_extent = -1;

/// The tensor called `name`. Throws std::invalid_argument if its type or shape differs, or if it is `required` but
/// missing. Returns nullptr if it is optional and missing.
const tensor* take(std::span<const named_tensor> inputs, const char* name, bool required, dtype type,
                   std::initializer_list<std::int64_t> shape);

}  // namespace assay::oracle
