/// Calls that a library must refuse on the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/case/planned_tensor.hpp"
#include "properties/run/execute.hpp"

namespace assay::relations {

/// A good problem, its tensors, and the check of calls made with broken copies of them.
class refusal_check {
 public:
  /// `given` was made for the case; `planned` is what the library planned for it.
  refusal_check(const library& lib, const attention_case& c, inputs given, const problem& planned);

  const problem& stated() const { return given_.stated; }
  const problem& planned() const { return planned_; }
  /// A fresh list of the good tensors, to be broken; what it holds must outlive the call.
  abi_tensors tensors() const { return {given_, out_}; }

  /// What the operation says of the tensor of that name.
  const planned_tensor& described(const std::string& name) const;

  /// Nothing if plan() refuses `broken`: with a status that says so, and a reason. Else what it did instead.
  std::optional<std::string> plan(const problem& broken, const std::string& name);
  /// Nothing if run() refuses, and launches and writes nothing.
  std::optional<std::string> run(const problem& broken, const std::vector<assay_tensor>& tensors,
                                 const std::string& name);

 private:
  const library& lib_;
  const assay_kernel& kernel_;
  const attention_case& case_;
  inputs given_;
  problem planned_;
  std::vector<planned_tensor> described_;
  outputs out_;
  outputs unwritten_;  ///< what out_ must go on to hold
};

}  // namespace assay::relations
