/// An append_kv problem with its tensors, for tests of the kernel alone: random rows and pools, NaN in skipped rows and
/// around rows, canaries in the gaps of pools, and the definition in binary64 beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/tensor.hpp"

namespace assay::append {

/// What a test says of its problem; the rest follows.
struct setting {
  std::vector<std::int64_t> slots;
  dtype q_type = dtype::f16;
  dtype cache = dtype::f16;
  descale_kind descales = descale_kind::per_tensor;
  rotary_kind rotary = rotary_kind::none;
  std::int32_t heads = 2;
  std::int32_t dim_k = 64;
  std::int32_t dim_v = 64;
  std::int32_t page_size = 16;
  std::int64_t num_pages = 4;
  bool heads_first = false;       ///< pages are [head][slot][dim], not [slot][head][dim]
  std::int64_t pool_margin = 0;   ///< elements between the rows of a pool, a multiple of 8
  std::int64_t row_margin = 0;    ///< elements between heads of new rows, and before the first one
  std::int64_t angle_margin = 0;  ///< the same of the rope tables
  float k_scale = 1.0F;
  float v_scale = 1.0F;
  float descale = 0.0F;  ///< of each page before; 0: what a page of such rows has
  std::uint64_t seed = 1;
};

std::string text(const setting& s);

/// One that must be a kernel of the library.
const assay_kernel& kernel();

/// A call's tensor over memory that it owns. Elements are kept as bits.
struct owned_tensor {
  std::string name;
  dtype type = dtype::none;
  std::int32_t role = ASSAY_INPUT;
  std::vector<std::int64_t> shape, stride;
  std::int64_t start = 0;  ///< the first element's
  std::vector<std::uint8_t> bytes;

  std::int64_t at(std::int64_t i0, std::int64_t i1 = 0, std::int64_t i2 = 0, std::int64_t i3 = 0) const;
  std::uint64_t bits(std::int64_t element) const;
  void set(std::int64_t element, std::uint64_t bits);
  double value(std::int64_t element) const;
  /// Of such a number, rounded to nearest.
  double rounded(double x) const;
  assay_tensor given();
};

/// The tensors of a setting and what the kernel makes of them.
class trial {
 public:
  explicit trial(const setting& s);

  /// What run() and its outcome() say, with a workspace as planned. `change` may break what is given.
  assay_status run(const assay_launch& launch, const std::function<void(std::vector<assay_tensor>&)>& change = {});

  /// May break the launch of run(), which has its workspace then.
  std::function<void(assay_launch&)> change_launch;

  /// One line about the first element of the pools or descales that is not what it must be; empty if there is none.
  /// Compares with what they held when the trial began.
  std::string first_fault() const;

  /// The tensors as they were when the trial began, and nothing written beside the workspace.
  bool is_unchanged() const;
  owned_tensor& tensor(const std::string& name);

  problem scalars;
  std::vector<owned_tensor> tensors;

 private:
  struct range {
    double low, high;
  };
  const owned_tensor& before(const std::string& name) const;
  const owned_tensor& after(const std::string& name) const;
  void add(const std::string& name, dtype type, std::int32_t role, std::vector<std::int64_t> shape,
           std::vector<std::int64_t> stride, std::int64_t start);
  void add_pool(const std::string& name, std::int32_t dim);
  void fill();
  range new_value(bool is_k, std::int64_t row, std::int64_t head, std::int64_t dim) const;
  double largest(bool is_k, std::int64_t page, std::int64_t head, double sign) const;
  std::string descale_fault(bool is_k, std::int64_t page, std::int64_t head) const;
  std::string element_fault(bool is_k, std::int64_t page, std::int64_t slot, std::int64_t head, std::int64_t dim) const;
  std::string pool_fault(bool is_k) const;
  std::int64_t row_of(std::int64_t slot) const;
  bool is_written(std::int64_t page) const;
  bool is_fresh(std::int64_t page) const { return row_of(page * setting_.page_size) >= 0; }

  setting setting_;
  std::vector<owned_tensor> before_;
  bool is_workspace_overrun_ = false;
};

}  // namespace assay::append
