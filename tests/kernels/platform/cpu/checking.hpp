/// What the checker's tests share: tensors by hand, and checked launches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

namespace assay::cpu {

/// A tensor over memory that the test owns.
class toy_tensor {
 public:
  template <class T>
  toy_tensor(const char* name, T* data, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
             std::int32_t role)
      : shape_(std::move(shape)), strides_(std::move(strides)) {
    tensor_.name = name;
    tensor_.role = role;
    tensor_.view.data = data;
    tensor_.view.device = {kDLCPU, 0};
    tensor_.view.ndim = static_cast<std::int32_t>(shape_.size());
    tensor_.view.dtype = {kDLUInt, 8 * sizeof(T), 1};
  }
  toy_tensor(const toy_tensor&) = delete;
  toy_tensor& operator=(const toy_tensor&) = delete;
  assay_tensor get() {
    assay_tensor t = tensor_;
    t.view.shape = shape_.data();
    t.view.strides = strides_.data();
    return t;
  }

 private:
  std::vector<std::int64_t> shape_, strides_;
  assay_tensor tensor_{};
};

/// The defects of what `run` launches, checked, on these tensors.
template <class F>
std::vector<seen_defect> checked_defects(assay_launch l, std::span<const assay_tensor> tensors, F run,
                                         std::size_t lds_limit_bytes = default_lds_limit_bytes) {
  std::vector<seen_defect> seen;
  std::int64_t accesses = 0;
  l.context = &seen;
  l.on_defect = &collect;
  l.checked = 1;
  l.accesses_checked = &accesses;
  {
    const launch_scope scope(l, lds_limit_bytes, tensors);
    run();
  }
  static_cast<void>(hipGetLastError());
  if (accesses == 0) seen.push_back({-1, "", "nothing was checked", {}, -1, -1});
  return seen;
}

/// all_launches(), each on one worker and on three.
inline std::vector<assay_launch> all_checked_launches() {
  std::vector<assay_launch> all;
  for (assay_launch l : all_launches())
    for (const int workers : {1, 3}) {
      l.workers = workers;
      all.push_back(l);
    }
  return all;
}

inline bool mentions(const seen_defect& d, const std::string& text) {
  return d.message.find(text) != std::string::npos;
}

}  // namespace assay::cpu
