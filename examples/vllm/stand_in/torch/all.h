/// Stand-in for what vLLM's sources name of torch in host code that no adapter calls: it is only compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#define TORCH_CHECK(condition, ...) \
  if (!(condition)) throw std::invalid_argument(#condition)

namespace at {
enum class ScalarType : std::int8_t { Half, Float, BFloat16 };
}  // namespace at

namespace torch {

struct Tensor {
  std::int64_t size(int dimension) const;
  std::int64_t stride(int dimension) const;
  at::ScalarType dtype() const;
  void* data_ptr() const;
  template <class T>
  T* data_ptr() const;
};

}  // namespace torch
