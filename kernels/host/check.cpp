#include "kernels/host/check.hpp"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace assay {
namespace {

bool is_dtype(dtype t) {
  return dtype::none <= t && t <= dtype::i32;
}

bool is_operation(operation_kind operation) {
  return operation >= operation_kind{} && static_cast<std::size_t>(operation) < std::size(operation_names);
}

std::string listed(std::span<const char* const> names) {
  std::string list;
  for (const char* const name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

struct bounded_field {
  const char* name;
  std::int64_t value;
  std::int64_t least;
};

assay_status check_ranges(const problem& p) {
  const bounded_field fields[] = {{"num_seqs", p.num_seqs, 0},
                                  {"total_q", p.total_q, 0},
                                  {"max_q", p.max_q, 0},
                                  {"max_k", p.max_k, 0},
                                  {"heads_q", p.heads_q, 1},
                                  {"heads_kv", p.heads_kv, 1},
                                  {"head_dim_qk", p.head_dim_qk, 1},
                                  {"head_dim_v", p.head_dim_v, 1},
                                  {"page_size", p.page_size, 1},
                                  {"num_pages", p.num_pages, 0},
                                  {"window", p.window, 0},
                                  {"num_splits", p.num_splits, 0}};
  for (const bounded_field& f : fields)
    if (f.value < f.least)
      return refuse(ASSAY_REJECTED, "%s is %lld, must be at least %lld", f.name, static_cast<long long>(f.value),
                    static_cast<long long>(f.least));
  const std::pair<const char*, float> scalars[] = {{"scale", p.scale},
                                                   {"q_scale", p.q_scale},
                                                   {"k_scale", p.k_scale},
                                                   {"v_scale", p.v_scale},
                                                   {"soft_cap", p.soft_cap}};
  for (const auto& [name, value] : scalars)
    if (!std::isfinite(value)) return refuse(ASSAY_REJECTED, "%s is not finite", name);
  if (!(p.soft_cap >= 0.0F)) return refuse(ASSAY_REJECTED, "soft_cap is negative");
  if (p.causal != 0 && p.causal != 1) return refuse(ASSAY_REJECTED, "causal is %d, must be 0 or 1", p.causal);
  return {};
}

assay_status check_types(const problem& p) {
  const std::pair<const char*, dtype> types[] = {
      {"q_type", p.q_type}, {"k_type", p.k_type}, {"v_type", p.v_type}, {"o_type", p.o_type}};
  for (const auto& [name, type] : types)
    if (!is_dtype(type) || type == dtype::none || type == dtype::i32)
      return refuse(ASSAY_REJECTED, "%s is %d, which is not a valid element type of that tensor", name,
                    static_cast<int>(type));
  if (p.bias_type != dtype::none && p.bias_type != dtype::f32 && p.bias_type != dtype::f16 &&
      p.bias_type != dtype::bf16)
    return refuse(ASSAY_REJECTED, "bias_type is %d, must be none, f32, f16 or bf16", static_cast<int>(p.bias_type));
  if (!is_operation(p.operation))
    return refuse(ASSAY_REJECTED, "operation is %d, must be one of %s", static_cast<int>(p.operation),
                  listed(operation_names).c_str());
  if (p.page_table != page_table_kind::block_table && p.page_table != page_table_kind::page_list)
    return refuse(ASSAY_REJECTED, "page_table is %d, must be block_table or page_list", static_cast<int>(p.page_table));
  if (p.batching != q_batching::group && p.batching != q_batching::batch)
    return refuse(ASSAY_REJECTED, "batching is %d, must be group or batch", static_cast<int>(p.batching));
  if (p.kv_descale != descale_kind::per_tensor && p.kv_descale != descale_kind::per_page)
    return refuse(ASSAY_REJECTED, "kv_descale is %d, must be per_tensor or per_page", static_cast<int>(p.kv_descale));
  return {};
}

assay_status check_consistency(const problem& p) {
  if (p.heads_q % p.heads_kv != 0)
    return refuse(ASSAY_REJECTED, "heads_kv %d does not divide heads_q %d", p.heads_kv, p.heads_q);
  if (p.max_q > p.total_q) return refuse(ASSAY_REJECTED, "max_q %d exceeds total_q %d", p.max_q, p.total_q);
  return {};
}

}  // namespace

assay_status check_sequences(const problem& p) {
  if (p.batching == q_batching::batch && p.total_q != std::int64_t{p.num_seqs} * p.max_q)
    return refuse(ASSAY_REJECTED, "total_q %d is not num_seqs %d times max_q %d, as batch mode needs", p.total_q,
                  p.num_seqs, p.max_q);
  if (p.num_seqs > 0 && p.max_k > 0 && p.num_pages == 0)
    return refuse(ASSAY_REJECTED, "num_pages is 0, but max_k is %d", p.max_k);
  return {};
}

assay_status refuse(std::int32_t code, const char* format, ...) {
  assay_status status{code, {}};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(status.message, sizeof status.message, format, arguments);
  va_end(arguments);
  return status;
}

assay_status check_problem(const problem* p, bool planned) {
  if (p == nullptr) return refuse(ASSAY_REJECTED, "problem is null");
  for (const auto check : {check_ranges, check_types, check_consistency})
    if (const assay_status status = check(*p); status.code != ASSAY_OK) return status;
  if (planned && p->num_splits == 0) return refuse(ASSAY_REJECTED, "num_splits is 0: the problem has not been planned");
  return {};
}

assay_status check_attention(const problem* p, bool planned, const char* kernel) {
  if (const assay_status status = check_problem(p, planned); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_sequences(*p); status.code != ASSAY_OK) return status;
  return check_operation(*p, operation_kind::attention, kernel);
}

assay_status plan_as_asked(const problem& p, std::int64_t budget_bytes, assay_plan& plan) {
  if (budget_bytes < 0) return refuse(ASSAY_REJECTED, "workspace_budget_bytes is negative");
  const std::int32_t splits = p.num_splits > 0 ? p.num_splits : 1;
  // o_partial and lse_partial, in f32. The last four factors are at most 2^31: the product is at most 2^126.
  const __int128 bytes =
      splits == 1 ? 0 : __int128{4} * p.total_q * p.heads_q * splits * (std::int64_t{p.head_dim_v} + 1);
  constexpr std::int64_t own_budget_bytes = std::int64_t{1} << 30;
  if (bytes > (budget_bytes > 0 ? budget_bytes : own_budget_bytes))
    return refuse(ASSAY_UNSUPPORTED, "the partials of %d splits exceed the budget", splits);
  plan = {splits, static_cast<std::int64_t>(bytes)};
  return {};
}

assay_status check_operation(const problem& p, operation_kind computed, const char* kernel) {
  if (p.operation == computed) return {};
  return refuse(ASSAY_UNSUPPORTED, "operation is %s: %s does not compute it",
                operation_names[static_cast<std::size_t>(p.operation)], kernel);
}

}  // namespace assay
