/// Kernel libraries with planted defects: the built-in kernels, with something done to what goes in or comes out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/data/edit.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay::testing {

/// The tensors of one call, by name.
class call {
 public:
  call(const problem& p, const assay_launch& launch, std::vector<assay_tensor> tensors)
      : stated(p), launch(launch), tensors(std::move(tensors)) {}
  /// Throws std::out_of_range for a tensor that is not there.
  tensor view(const std::string& name) const;
  assay_tensor& at(const std::string& name);
  bool has(const std::string& name) const;
  std::int32_t i32(const std::string& name, std::int64_t i0, std::int64_t i1 = 0) const;
  /// Flips the last bit of o's first element: the smallest thing that can be wrong, and within most enclosures.
  void flip_o() const;
  /// Runs the built-in kernel on the tensors as they are now.
  assay_status run() const;

  problem stated;
  assay_launch launch;
  std::vector<assay_tensor> tensors;
};

/// A library whose run() is `run`. One at a time: the C ABI has no place for a closure.
std::shared_ptr<library> faulty_library(std::function<assay_status(call&)> run);

/// As faulty_library, where the built-in kernel has run before `after` is called.
std::shared_ptr<library> corrupting_library(std::function<void(call&)> after);

/// The built-in kernels under a contract that `change` has edited.
std::shared_ptr<library> declaring_library(std::function<void(contract&)> change);

/// The built-in kernels with a declare() that says ASSAY_OK and writes nothing.
std::shared_ptr<library> silent_library();

/// A library that answers plan() with `status`.
std::shared_ptr<library> refusing_library(assay_status_code status);

/// The built-in kernels with plans that `change` has edited.
std::shared_ptr<library> planning_library(std::function<void(const problem&, assay_plan&)> change);

/// Two sequences of two rows each on 20 and 37 keys, 4 heads on 2, head_dim 64, page_size 16, causal, two splits, f16.
attention_case small_case();

}  // namespace assay::testing
