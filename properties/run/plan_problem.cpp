#include "properties/run/plan_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "oracle/float_environment.hpp"
#include "properties/case/operation.hpp"

namespace assay {
namespace {

/// A plan with more splits is refused: the partials would not fit into memory.
constexpr std::int32_t max_splits = 1 << 16;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? largest : product;
}

std::int64_t output_bytes(const problem& planned) {
  std::int64_t sum = 0;
  for (const planned_tensor& t : describe(planned.operation).outputs(planned)) {
    std::int64_t bytes = size_bytes(t.type);
    for (const std::int64_t extent : t.shape) bytes = times(bytes, extent);
    sum = bytes > largest - sum ? largest : sum + bytes;
  }
  return sum;
}

}  // namespace

assay_status failed_status(const std::string& message) {
  assay_status status{ASSAY_FAILED, {}};
  std::snprintf(status.message, sizeof status.message, "%s", message.c_str());
  return status;
}

std::int64_t split_workspace_bytes(const problem& planned) {
  problem whole = planned;
  whole.num_splits = 1;
  const std::int64_t all = output_bytes(planned);
  return all == largest ? largest : all - output_bytes(whole);
}

assay_status plan_problem(const assay_kernel& kernel, const problem& stated, std::int64_t workspace_budget_bytes,
                          problem* planned, const assay_support& takes, std::int64_t* workspace_bytes) {
  assay_plan plan{};
  const oracle::kept_arithmetic kept;
  assay_status status = kernel.plan(&stated, workspace_budget_bytes, &plan);
  if (status.code != ASSAY_OK) return status;
  if (plan.num_splits < 1 || plan.num_splits > max_splits)
    return failed_status(fmt::format("plan() chose {} splits, which is out of range", plan.num_splits));
  if (stated.num_splits > 0 && plan.num_splits != stated.num_splits)
    return failed_status(
        fmt::format("plan() chose {} splits, but the problem asks for {}", plan.num_splits, stated.num_splits));
  *planned = stated;
  planned->num_splits = plan.num_splits;
  const std::int64_t needed = takes.no_partials != 0 ? 0 : split_workspace_bytes(*planned);
  if (plan.workspace_bytes < needed)
    return failed_status(fmt::format("plan() asks for a workspace of {} bytes, but the partials of {} splits have {}",
                                     plan.workspace_bytes, plan.num_splits, needed));
  if (takes.no_workspace_budget == 0 && workspace_budget_bytes > 0 && plan.workspace_bytes > workspace_budget_bytes)
    return failed_status(fmt::format("plan() asks for a workspace of {} bytes, over the budget of {} bytes",
                                     plan.workspace_bytes, workspace_budget_bytes));
  if (workspace_bytes != nullptr) *workspace_bytes = plan.workspace_bytes - needed;
  return status;
}

}  // namespace assay
