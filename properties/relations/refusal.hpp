/// Calls that a library must refuse on the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/case/planned_tensor.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/staged_call.hpp"

namespace assay::relations {

/// When the tensors on a device are looked at for what refused calls wrote. All of them come back for it, which takes
/// far longer than the call. Those on the host are looked at behind each call.
enum class device_look { after_each_call, at_the_end };

/// What is wrong with a call: its scalars and tensors, of which run() has to refuse it, or only what tensors hold, of
/// which outcome() may.
enum class broken_part { call, data };

/// A good problem, its tensors, and the check of calls made with broken copies of them.
class refusal_check {
 public:
  /// `given` was made for the case; `planned` and `workspace_bytes` are what the library planned for it (plan_problem).
  refusal_check(const library& lib, const attention_case& c, inputs given, const problem& planned,
                std::int64_t workspace_bytes, device_look look = device_look::after_each_call);

  const problem& stated() const { return given_.stated; }
  const problem& planned() const { return planned_; }
  /// A fresh list of the good tensors for the caller to break, on the library's device. What its tensors point to must
  /// outlive the call.
  abi_tensors tensors() const;

  /// The operation's description of the tensor of that name.
  const planned_tensor& described(const std::string& name) const;

  /// Nothing if plan() refuses `broken` with a refusing status and a reason. Else a sentence about what it did.
  std::optional<std::string> plan(const problem& broken, const std::string& name);
  /// The same for run() and, of broken data, its outcome(); nothing but the workspace may be written. With
  /// `at_the_end`, what a call wrote that it refused is left to ended().
  std::optional<std::string> run(const problem& broken, const std::vector<assay_tensor>& tensors,
                                 const std::string& name, broken_part part = broken_part::call);

  /// With `at_the_end`: nothing, or a sentence that calls wrote which they refused. Which ones only a look after each
  /// call can say.
  std::optional<std::string> ended();

  /// Whether some run() launched or wrote in spite of its broken call.
  bool has_launched() const { return has_launched_; }

  /// The message of run() about the last call that it refused.
  const std::string& message() const { return message_; }

 private:
  std::string noted(std::string wrong);
  void stage();
  bool has_written(const std::string& before);
  bool has_failed(const std::string& before) const;

  const library& lib_;
  const assay_kernel& kernel_;
  const attention_case& case_;
  inputs given_;
  problem planned_;
  std::vector<planned_tensor> described_;
  outputs out_;
  std::vector<buffer> workspace_;
  device_look look_;
  std::string message_;
  bool has_launched_ = false;
  std::vector<std::string> found_;       ///< what was not refused so far, each once: a later call may end the process
  outputs unwritten_;                    ///< the bytes that out_ must keep
  std::optional<staged_call> staged_;    ///< of a library with tensors on a device
  std::vector<assay_tensor> on_device_;  ///< the good tensors there, in the order of tensors()
};

}  // namespace assay::relations
