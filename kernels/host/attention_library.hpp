/// A library with one kernel of attention. Its author says what the kernel takes, and writes two functions. The rest is
/// what all such libraries do: checks of problem and tensors, sizes of partials, the launch, and its outcome.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/host/bind.hpp"
#include "kernels/host/check.hpp"
#include "kernels/host/declare.hpp"
#include "kernels/host/host.hpp"
#include "kernels/host/library_of_one.hpp"
#include "kernels/host/unsupported_tensors.hpp"
#include "kernels/unsupported.hpp"

namespace assay {

/// The functions of an assay_kernel, made of:
///   const assay_support& Takes                                      support.h; everything else is refused
///   contract     Declare(const problem&)                            how the kernel computes this problem; or nullptr
///   void         Launch(const problem&, const attention_tensors&)   optional tensors that are absent have no data;
///                                                                   or an assay_status, of what it checks itself
/// They see problems that check_attention accepts and that Takes holds. Launch is called with
/// at least one sequence and one row. The kernel takes as many splits as are asked for, and one if it is to choose.
template <const assay_support& Takes, auto Declare, auto Launch>
struct attention_library {
  static assay_status check(const problem* p, bool planned) {
    const assay_status status = check_attention(p, planned, "the kernel of this library");
    if (status.code != ASSAY_OK) return status;
    problem asked = *p;
    if (planned && p->num_splits == 1) asked.num_splits = 0;  // the choice of plan(), where the caller asks for none
    const char* const beyond = unsupported(Takes, asked);
    return beyond == nullptr ? status : refuse(ASSAY_UNSUPPORTED, "the kernel does not take %s", beyond);
  }

  static assay_status plan(const problem* p, std::int64_t budget_bytes, assay_plan* plan) {
    if (const assay_status status = check(p, false); status.code != ASSAY_OK) return status;
    if (plan == nullptr) return refuse(ASSAY_REJECTED, "plan is null");
    return plan_as_asked(*p, budget_bytes, *plan);
  }

  static assay_status declare(const problem* p, const assay_launch* launch, contract* declared) {
    if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
    if (launch == nullptr || declared == nullptr) return refuse(ASSAY_REJECTED, "launch or contract is null");
    if constexpr (!is_silent) *declared = Declare(*p);
    return {};
  }
  /// Not so of outputs that the kernel leaves out: they are not passed.
  static bool is_written(std::string_view name) {
    if (name == "lse") return Takes.no_lse == 0;
    return Takes.no_partials == 0 || (name != "o_partial" && name != "lse_partial");
  }
  static constexpr bool is_silent = std::is_null_pointer_v<decltype(Declare)>;
  static constexpr auto declared_by = is_silent ? nullptr : &declare;

  static assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors,
                          const assay_launch* launch) {
    if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
    if (const assay_status status = check_launch(tensors, num_tensors, launch); status.code != ASSAY_OK) return status;
    attention_tensors bound;
    const std::span<const assay_tensor> given(tensors, static_cast<std::size_t>(num_tensors));
    std::vector<expectation> expected = attention_tensors_of(*p, bound);
    for (expectation& e : expected) e.required = e.required && is_written(e.name);
    if (const assay_status status = bind_tensors(expected, given); status.code != ASSAY_OK) return status;
    if (const char* const beyond = unsupported(Takes, bound))
      return refuse(ASSAY_UNSUPPORTED, "the kernel does not take %s", beyond);
    if (p->num_seqs == 0 || p->total_q == 0) return {};
    const platform::launch_guard guard(*launch, given);
    if constexpr (std::is_void_v<decltype(Launch(*p, bound))>)
      Launch(*p, bound);
    else if (const assay_status status = Launch(*p, bound); status.code != ASSAY_OK)
      return status;
    return launch_outcome("the kernel");
  }
};

}  // namespace assay

/// Defines assay_library_v1 and assay_support_v1. The suite draws cases for the kernel's name, of what it takes.
#define ASSAY_ATTENTION_LIBRARY(kernel_name, takes, declare, launch)                                     \
  using assay_library_of_author = assay::attention_library<takes, declare, launch>;                      \
  extern "C" [[gnu::visibility("default")]] const assay_support* assay_support_v1(const char* kernel) {  \
    return std::strcmp(kernel, (kernel_name)) == 0 ? &(takes) : nullptr;                                 \
  }                                                                                                      \
  ASSAY_LIBRARY_OF_ONE(kernel_name, assay_library_of_author::plan, assay_library_of_author::declared_by, \
                       assay_library_of_author::run)
