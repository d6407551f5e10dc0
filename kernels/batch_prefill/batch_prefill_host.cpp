/// The host side of batch_prefill: its types, checks, tensors, arguments and launch.
#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/batch_prefill_contract.hpp"
#include "kernels/batch_prefill/prefill_shape.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/host/bind.hpp"
#include "kernels/host/check.hpp"
#include "kernels/host/host.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

struct prefill_types {
  dtype qkv, o;
  prefill_launcher launch;
};

constexpr prefill_types prefill_table[] = {
    {dtype::f16, dtype::f16, launch_prefill_f16},
    {dtype::bf16, dtype::bf16, launch_prefill_bf16},
    {dtype::e4m3fn, dtype::bf16, launch_prefill_e4m3fn_bf16},
    {dtype::e4m3fn, dtype::f16, launch_prefill_e4m3fn_f16},
    {dtype::e4m3fnuz, dtype::f16, launch_prefill_e4m3fnuz_f16},
    {dtype::e4m3fnuz, dtype::bf16, launch_prefill_e4m3fnuz_bf16},
};

prefill_launcher find_launcher(const problem& p) {
  for (const prefill_types& t : prefill_table)
    if (t.qkv == p.q_type && t.qkv == p.k_type && t.qkv == p.v_type && t.o == p.o_type) return t.launch;
  return nullptr;
}

assay_status check_features(const problem& p) {
  if (const assay_status status = check_operation(p, operation_kind::attention, "batch_prefill");
      status.code != ASSAY_OK)
    return status;
  if (find_launcher(p) == nullptr)
    return refuse(ASSAY_UNSUPPORTED, "q_type %s, k_type %s, v_type %s, o_type %s: no kernel for these types together",
                  name_of(p.q_type), name_of(p.k_type), name_of(p.v_type), name_of(p.o_type));
  if (p.window != 0) return refuse(ASSAY_UNSUPPORTED, "window is %d: batch_prefill has none", p.window);
  if (p.bias_type != dtype::none)
    return refuse(ASSAY_UNSUPPORTED, "bias_type is %s: batch_prefill has no bias", name_of(p.bias_type));
  if (p.num_splits > 1)
    return refuse(ASSAY_UNSUPPORTED, "num_splits is %d: batch_prefill does not split the keys", p.num_splits);
  if (p.kv_descale == descale_kind::per_page && p.page_size % prefill_tile_keys != 0)
    return refuse(ASSAY_UNSUPPORTED, "page_size %d is no multiple of %d, so that tiles would cross descales",
                  p.page_size, prefill_tile_keys);
  return {};
}

assay_status check_extents(const problem& p) {
  const std::pair<const char*, std::int32_t> dims[] = {{"head_dim_qk", p.head_dim_qk}, {"head_dim_v", p.head_dim_v}};
  for (const auto& [name, value] : dims)
    if (value < prefill_least_head_dim || value > prefill_max_head_dim || value % prefill_head_dim_step != 0)
      return refuse(ASSAY_UNSUPPORTED, "%s %d is no multiple of %d from %d to %d", name, value, prefill_head_dim_step,
                    prefill_least_head_dim, prefill_max_head_dim);
  constexpr std::int32_t int32_max = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t least_rows = prefill_least_waves * prefill_wave_rows;  // of a block
  if (p.max_q > int32_max - least_rows) return refuse(ASSAY_UNSUPPORTED, "max_q %d exceeds 2^31", p.max_q);
  constexpr std::int64_t most_blocks = max_grid_blocks(prefill_most_threads);
  const std::int32_t row_tiles = prefill_row_tiles(p, least_rows);
  std::int64_t blocks = std::int64_t{p.heads_q} * p.num_seqs;
  if (__builtin_mul_overflow(blocks, std::int64_t{row_tiles}, &blocks) || blocks > most_blocks)
    return refuse(ASSAY_UNSUPPORTED, "row tiles %d times heads_q %d times num_seqs %d exceed a grid's %lld", row_tiles,
                  p.heads_q, p.num_seqs, static_cast<long long>(most_blocks));
  // Tiles that the rings look up ahead may lie behind the last one: at most as many as key_ring.hpp has slots, or two.
  constexpr std::int32_t ahead =
      std::max((device::most_ring_slots + 1) * prefill_tile_keys, 3 * prefill_group_tile_keys);
  if (p.max_k > int32_max - ahead) return refuse(ASSAY_UNSUPPORTED, "max_k %d exceeds 2^31", p.max_k);
  return {};
}

assay_status check(const problem* p, bool planned) {
  if (const assay_status status = check_problem(p, planned); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_sequences(*p); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_features(*p); status.code != ASSAY_OK) return status;
  return check_extents(*p);
}

assay_status plan(const problem* p, std::int64_t budget_bytes, assay_plan* chosen) {
  if (const assay_status status = check(p, false); status.code != ASSAY_OK) return status;
  if (budget_bytes < 0) return refuse(ASSAY_REJECTED, "workspace_budget_bytes is negative");
  if (chosen == nullptr) return refuse(ASSAY_REJECTED, "plan is null");
  *chosen = {1, 0};
  return {};
}

assay_status declare(const problem* p, const assay_launch* launch, contract* declared) {
  if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
  if (launch == nullptr || declared == nullptr) return refuse(ASSAY_REJECTED, "launch or contract is null");
  const int lanes = platform::wave_size(*launch);
  *declared = declare_batch_prefill(*p, lanes, prefill_by_groups(*p, lanes));
  return {};
}

std::vector<expectation> expectations(const problem& p, paged_tensors& to) {
  std::vector<expectation> all = paged_attention_tensors(p, to);
  if (p.kv_descale == descale_kind::per_page) {
    all.push_back({"k_descale", &to.k_descale, dtype::f32, {p.num_pages, p.heads_kv}, true, false});
    all.push_back({"v_descale", &to.v_descale, dtype::f32, {p.num_pages, p.heads_kv}, true, false});
  }
  return all;
}

/// Whether the rows of all heads of Q or O may be accessed `elements` at once.
bool has_rows_of(const tensor& t, std::int64_t elements) {
  const bool is_whole = t.stride[0] % elements == 0 && t.stride[1] % elements == 0 && t.stride[2] == 1;
  return is_whole &&
         reinterpret_cast<std::uintptr_t>(t.data) % static_cast<std::uintptr_t>(elements * size_bytes(t.type)) == 0;
}

prefill_arguments arguments_of(const problem& p, const paged_tensors& t, const assay_launch& launch) {
  const auto integers = [](const tensor& from) { return static_cast<const std::int32_t*>(from.data); };
  const bool has_table = p.page_table == page_table_kind::block_table;
  const logit_scales scales = logit_scales_of(p);
  prefill_arguments a{};
  a.q = to_device(t.q), a.k = to_device(t.k), a.v = to_device(t.v);
  a.k_descale = to_device(t.k_descale), a.v_descale = to_device(t.v_descale);
  a.o = to_device(t.o), a.lse = to_device(t.lse);
  a.cu_seqlens_q = p.batching == q_batching::group ? integers(t.cu_seqlens_q) : nullptr;
  a.seqlens_k = integers(t.seqlens_k);
  a.pages = integers(has_table ? t.block_table : t.page_indices);
  a.block_table_stride = t.block_table.stride[0];
  a.page_indptr = has_table ? nullptr : integers(t.page_indptr);
  a.prefix_offset = integers(t.prefix_offset);
  a.max_q = p.max_q;
  a.shape = prefill_shape_of(p, platform::wave_size(launch), platform::device_has_few_registers(launch));
  a.row_tiles = prefill_row_tiles(p, a.shape.rows);
  a.heads_q = p.heads_q;
  a.group = p.heads_q / p.heads_kv;
  a.head_dim_qk = p.head_dim_qk, a.head_dim_v = p.head_dim_v;
  a.page_size = p.page_size;
  a.by_page_size = device::divisor(p.page_size);
  a.has_whole_vectors = static_cast<std::int32_t>(has_whole_vectors(t.k) && has_whole_vectors(t.v));
  a.has_whole_queries = static_cast<std::int32_t>(has_rows_of(t.q, 8));
  a.has_whole_outputs = static_cast<std::int32_t>(has_rows_of(t.o, 8));
  a.causal = p.causal;
  a.logit_scale = scales.natural, a.base2_logit_scale = scales.base2;
  a.soft_cap = p.soft_cap, a.v_scale = p.v_scale;
  return a;
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors, const assay_launch* launch) {
  if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_launch(tensors, num_tensors, launch); status.code != ASSAY_OK) return status;
  const std::span<const assay_tensor> given(tensors, static_cast<std::size_t>(num_tensors));
  if (std::any_of(given.begin(), given.end(),
                  [](const assay_tensor& t) { return t.name != nullptr && std::strcmp(t.name, "sinks") == 0; }))
    return refuse(ASSAY_UNSUPPORTED, "tensor sinks is given: batch_prefill has no sinks");
  paged_tensors bound;
  if (const assay_status status = bind_tensors(expectations(*p, bound), given); status.code != ASSAY_OK) return status;
  if (p->num_seqs == 0 || p->max_q == 0) return {};  // there may be padding rows

  const prefill_arguments arguments = arguments_of(*p, bound, *launch);
  const platform::launch_guard guard(*launch, given);
  find_launcher (*p)(arguments, static_cast<unsigned int>(arguments.row_tiles * p->heads_q * p->num_seqs));
  return launch_outcome("batch_prefill");
}

}  // namespace

const assay_kernel batch_prefill_kernel = {"batch_prefill", plan, declare, run, nullptr};

}  // namespace assay
