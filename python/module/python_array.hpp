/// Memory of a tensor as Python sees it: by the buffer protocol and by DLPack, without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "oracle/enclosure.hpp"

namespace assay::python {

/// A view. Strides count elements. bf16 crosses the buffer protocol as 2-byte unsigned numbers and FP8 as bytes; `type`
/// says which. DLPack has bf16, and FP8 as bytes.
struct python_array {
  void* data = nullptr;
  std::string type;  ///< as name_of(dtype), or "f64" or "u8"
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  bool is_read_only = false;
  std::shared_ptr<const void> owner;  ///< of the memory; null: of a call, and gone when that returns
};

/// A tensor of a call; inputs are read-only. It lives as long as the call.
python_array array_of(const assay_tensor& t);
/// A view into memory of `owner`.
python_array array_of(const tensor& t, bool is_read_only, std::shared_ptr<const void> owner);

/// Adds the class `Array` to the module.
void bind_array(pybind11::module_& m);

}  // namespace assay::python
