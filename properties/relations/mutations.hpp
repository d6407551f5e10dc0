/// Ways to break a problem that the host must notice before it launches anything.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/library.hpp"

namespace assay::relations {

/// Breaks a scalar. False: this problem cannot be broken so.
struct problem_mutation {
  const char* name;
  bool (*mutate)(problem& p);
  bool in_plan = true;  ///< plan() must refuse it too; run() always must
};
std::span<const problem_mutation> problem_mutations();

/// Breaks the tensor at a place in the list, which may be left out. False: it cannot be broken so. `name` has a {} for
/// the tensor's name.
struct tensor_mutation {
  std::string name;
  bool (*mutate)(std::vector<assay_tensor>& tensors, std::size_t at);
};
std::span<const tensor_mutation> tensor_mutations();

}  // namespace assay::relations
