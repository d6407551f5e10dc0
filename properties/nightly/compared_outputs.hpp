/// Outputs beside a reference, as other projects' tests compare them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/data/inputs.hpp"
#include "properties/run/execution.hpp"

namespace assay {

/// One output, element by element. Left out are elements that the kernel must not write and that hold no number before
/// the call, and those that the definition does not decide: no test of another project has them.
struct compared_tensor {
  std::string name;
  dtype type = dtype::none;
  std::vector<double> output;
  /// The exact value, rounded to f32 and then to the output's type: what a test holds that computes in f32 and stores
  /// its reference like the kernel.
  std::vector<double> reference;
  /// What plain attention in the precision of the inputs gives (plain_attention.hpp); empty where that is not defined.
  std::vector<double> same_precision;
};

/// All outputs of a run that users read, and what other projects' rules ask about the problem.
struct compared_outputs {
  std::vector<compared_tensor> results;
  std::optional<compared_tensor> lse;
  bool is_quantised = false;  ///< Q, K or V has an 8-bit type
  bool is_soft_capped = false;
  std::int64_t keys = 0;  ///< most keys of a sequence
};

/// Compares an execution that ended with ASSAY_OK. The reference is evaluate_in_binary64() of the oracle, whose errors
/// are far below those of an f32 reference.
compared_outputs compare_outputs(const inputs& given, const execution& ran);

}  // namespace assay
