/// Stand-in for what vLLM's sources name of torch in host code that no adapter calls: it is only compiled.
#pragma once

#include <cfloat>
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

[[noreturn]] inline void not_there() {
  throw std::logic_error("this is a stand-in for torch");
}

struct Tensor {
  std::int64_t size(int) const { not_there(); }
  std::int64_t stride(int) const { not_there(); }
  at::ScalarType dtype() const { not_there(); }
  void* data_ptr() const { not_there(); }
  template <class T>
  T* data_ptr() const {
    not_there();
  }
};

}  // namespace torch
