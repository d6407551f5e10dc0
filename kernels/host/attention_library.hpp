/// A library with one kernel of attention. It asks three functions of the kernel's author, and does itself what all
/// such libraries do: checks of problem and tensors, sizes of partials, the launch under the executor, and its outcome.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/host/bind.hpp"
#include "kernels/host/check.hpp"
#include "kernels/host/declare.hpp"
#include "kernels/host/host.hpp"
#include "kernels/host/library_of_one.hpp"

namespace assay {

/// The functions of an assay_kernel, made of:
///   assay_status Supports(const problem&)                           ASSAY_OK, or ASSAY_UNSUPPORTED with the reason
///   contract     Declare(const problem&)                            how the kernel computes this problem
///   void         Launch(const problem&, const attention_tensors&)   optional tensors that are absent have no data
/// All see problems that check_attention accepts, the last two only what Supports accepts, too. Launch is called with
/// at least one sequence and one row. The kernel takes as many splits as are asked for, and one if it is to choose.
template <auto Supports, auto Declare, auto Launch>
struct attention_library {
  static assay_status check(const problem* p, bool planned) {
    const assay_status status = check_attention(p, planned, "the kernel of this library");
    return status.code == ASSAY_OK ? Supports(*p) : status;
  }

  static assay_status plan(const problem* p, std::int64_t budget_bytes, assay_plan* plan) {
    if (const assay_status status = check(p, false); status.code != ASSAY_OK) return status;
    if (plan == nullptr) return refuse(ASSAY_REJECTED, "plan is null");
    return plan_as_asked(*p, budget_bytes, *plan);
  }

  static assay_status declare(const problem* p, const assay_launch* launch, contract* declared) {
    if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
    if (launch == nullptr || declared == nullptr) return refuse(ASSAY_REJECTED, "launch or contract is null");
    *declared = Declare(*p);
    return {};
  }

  static assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors,
                          const assay_launch* launch) {
    if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
    if (const assay_status status = check_launch(tensors, num_tensors, launch); status.code != ASSAY_OK) return status;
    attention_tensors bound;
    const std::span<const assay_tensor> given(tensors, static_cast<std::size_t>(num_tensors));
    if (const assay_status status = bind_tensors(attention_tensors_of(*p, bound), given); status.code != ASSAY_OK)
      return status;
    if (p->num_seqs == 0 || p->total_q == 0) return {};
    const platform::launch_guard guard(*launch, given);
    Launch(*p, bound);
    return finish("the kernel");
  }
};

}  // namespace assay

/// Defines assay_library_v1. The suite draws cases for the kernel's name.
#define ASSAY_ATTENTION_LIBRARY(kernel_name, supports, declare, launch)                              \
  using assay_library_of_author = assay::attention_library<supports, declare, launch>;               \
  ASSAY_LIBRARY_OF_ONE(kernel_name, assay_library_of_author::plan, assay_library_of_author::declare, \
                       assay_library_of_author::run)
