/// The rules by which other projects' tests accept the output of an attention kernel. Each is a small function with its
/// source. `./assay faults --peers` measures what each of them sees.
#pragma once

#include <span>

#include "properties/nightly/compared_outputs.hpp"

namespace assay {

struct peer_rule {
  const char* project;
  const char* rule;  ///< in one line, for tables
  /// Whether the project's test fails on these outputs.
  bool (*flags)(const compared_outputs& c);
  /// Whether the rule needs plain attention in the precision of the inputs: it judges nothing else.
  bool needs_same_precision = false;
};

/// All rules, one project after the other.
std::span<const peer_rule> peer_rules();

/// Whether the rule can judge these outputs.
bool can_judge(const peer_rule& rule, const compared_outputs& c);

// Each rule follows its project in what it compares (the LSE only where the project's tests compare it) and in what a
// NaN does. Two infinities of one sign are equal, where a comment does not say otherwise.

/// ROCm/rocMLIR, conv-validation-wrappers.cpp and attentionSweeps.py: the root mean square of the differences, divided
/// by the largest magnitude, is at most 0.005, of bf16 0.01. The other two gates of the comparison are disabled there
/// for f16. All outputs. A NaN makes the mean NaN, and the gate fails. Outputs of zeros only pass.
bool rocmlir_flags(const compared_outputs& c);

/// ROCm/composable_kernel, fmha_fwd_runner.hpp (get_elimit) and ck_tile/host/check_err.hpp: each difference is at most
/// atol + rtol |reference|. Both are 1e-3, of bf16 1e-2; with FP8 or int8 inputs rtol is 1e-2 and atol 0.18. O and LSE.
/// NaN and infinity fail, also where the reference has them; the LSE may have the same infinity.
bool composable_kernel_flags(const compared_outputs& c);

/// ROCm/aiter, op_tests/test_batch_prefill.py: with 8-bit inputs the largest difference is below 0.055
/// (verify_fp8_output); else torch.allclose with rtol = atol = 1e-3, of bf16 rtol 2e-2 and atol 1e-2. The LSE with
/// 1e-3. A NaN fails: the largest difference is then NaN, which is not below 0.055.
bool aiter_flags(const compared_outputs& c);

/// Dao-AILab/flash-attention, hopper/test_flash_attn.py: the largest error is at most twice (with a soft cap three
/// times) that of plain attention in the precision of the inputs, plus 2 max |(r + 0.3 - 0.3) - r| over the reference
/// r, computed in its type. O only. A NaN fails, and so does one of the plain program.
bool flash_attention_flags(const compared_outputs& c);

/// flashinfer-ai/flashinfer, tests/attention: torch.testing.assert_close with rtol = atol = 1e-3 (most tests of f16),
/// or 1e-2 (most of bf16 and FP8). O only: most tests ask for the LSE and drop it. NaN fails.
bool flashinfer_flags_at_1e3(const compared_outputs& c);
bool flashinfer_flags_at_1e2(const compared_outputs& c);

/// ggml-org/llama.cpp, tests/test-backend-ops.cpp, FLASH_ATTN_EXT: the sum of squared differences over the sum of the
/// output's squares is at most 5e-4. NaN fails, and an infinity that only one side has. Beyond that the comparison is
/// err > 5e-4, which a NaN passes: outputs of zeros only, and any output with an infinity that both sides have.
bool ggml_flags(const compared_outputs& c);

/// deepseek-ai/DeepGEMM, deep_gemm/testing/numeric.py (calc_diff): 1 - 2 sum(x y) / sum(x^2 + y^2) is below 1e-3, over
/// all elements. Infinite references are masked away on both sides, so nothing is seen there. A NaN makes the
/// difference NaN, which is not below 1e-3. Outputs of zeros only pass.
bool deepgemm_flags(const compared_outputs& c);

/// uxlfoundation/oneDNN, tests/benchdnn/sdpa/sdpa.cpp: the relative difference (for references up to 1e-5 the absolute
/// one) is at most 8 (1 + keys) eps of the output's type, or the absolute one at most 2e-3. O only. NaN fails.
bool onednn_flags(const compared_outputs& c);

}  // namespace assay
