/// Ways to break a call. The host must detect each before it launches anything.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "properties/case/operation.hpp"

namespace assay::relations {

/// Breaks a scalar. Returns false if this problem cannot be broken in this way.
struct broken_problem {
  const char* name;
  bool (*apply)(problem& p);
  bool in_plan = true;  ///< plan() must refuse it too; run() always must
  /// It is legal, but more than the built-in kernels take. Of a library that declares what it takes, plan() need not
  /// refuse it; run() must, where the tensors say something else.
  bool is_own_limit = false;
};
/// Those that are wrong for all operations, then those of this one.
std::vector<broken_problem> broken_problems(const operation& op);

/// The tensors of a call, and the operation's description of the tensor to break.
struct described_call {
  const problem& stated;
  const planned_tensor& planned;
  std::vector<assay_tensor>& tensors;
};

/// Breaks the tensor at a place in the list; may remove it. Returns false if it cannot be broken in this way. `name`
/// has a {} for the tensor's name.
struct broken_tensor {
  const char* name;
  bool (*apply)(const described_call& call, std::size_t at);
};
/// All that can be wrong with a tensor of any operation: each of its extents, strides and other properties that
/// problem.hpp or the ABI fixes, one at a time.
std::span<const broken_tensor> broken_tensors();

}  // namespace assay::relations
