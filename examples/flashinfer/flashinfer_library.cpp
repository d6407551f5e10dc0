/// What Assay asks of FlashInfer's batch decoding: which problems it takes, how it computes, and a launch.
#include <algorithm>
#include <cstring>

#include "decode.hpp"
#include "kernels/contract_recipes.hpp"
#include "kernels/host/attention_library.hpp"

using namespace assay;

static constexpr char other_strides[] = "the kernel loads V by the strides of K";

/// A stride of one element is never used.
static bool has_same_strides(const std::int64_t* shape, const std::int64_t* k, const std::int64_t* v) {
  for (int d = 0; d < 3; ++d)
    if (shape[d] > 1 && k[d] != v[d]) return false;
  return true;
}

static constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16};
  s.head_dims.values[0] = 64, s.head_dims.values[1] = 128;
  constexpr std::int32_t groups[] = {1, 2, 3, 4, 6, 8, 16};
  std::copy(std::begin(groups), std::end(groups), s.group_sizes.values);
  s.most_rows = 1;
  s.input_alignment = s.output_alignment = 8;
  s.no_unequal_head_dims = 1;
  s.no_prefix_offset = s.no_sinks = s.no_bias_f32 = s.no_bias_f16 = s.no_bias_bf16 = 1;
  s.no_block_table = s.no_spare_table_entries = 1;
  s.no_unequal_layouts = 1;  // V is loaded by the offsets of K
  s.no_q_transposed = s.no_output_margins = s.no_far_strides = 1;
  s.no_split_count = s.no_partials = s.no_workspace_budget = 1;
  s.no_padding_rows = s.no_sequences_without_rows = 1;
#ifndef FLASHINFER_NAN
  // Values behind the window are multiplied by a probability of 0, and a page may be shared with another sequence.
  s.no_dead_nan = s.no_live_nan = s.no_live_infinity = 1;
#endif
  return s;
}();

/// f32 but for the partial results, which have the type of the output. 16 states of a block are merged one by one.
static contract declare(const problem& p) {
  contract c = in_any_order(p);
  const std::int32_t group = p.heads_q / p.heads_kv;
  c.tile_keys = group == 1 ? 4 : group;
  c.merge_roundings = 32;
  c.sum_roundings = 4;
  c.base_of_lse = lse_base::two;
  if (p.batching == q_batching::batch) c.partial_type = p.o_type;
  return c;
}

/// Requests in parts of 64 keys or more, whole pages. In group mode each is one part: FlashInfer then merges nothing.
static decode_plan plan_of(const problem& p, const attention_tensors& t) {
  constexpr std::int32_t least = 64;
  const bool is_partitioned = p.batching == q_batching::batch;
  const std::int32_t chunk = (least + p.page_size - 1) / p.page_size * p.page_size;
  const auto* const keys = static_cast<const std::int32_t*>(t.seqlens_k.data);
  std::vector<std::int32_t> last(static_cast<std::size_t>(p.num_seqs)), requests, parts, sums{0};
  for (std::int32_t s = 0; s < p.num_seqs; ++s) {
    last[static_cast<std::size_t>(s)] = keys[s] == 0 ? 0 : (keys[s] - 1) % p.page_size + 1;
    const std::int32_t count = is_partitioned ? std::max(1, (keys[s] + chunk - 1) / chunk) : 1;
    for (std::int32_t part = 0; part < count; ++part) requests.push_back(s), parts.push_back(part);
    sums.push_back(sums.back() + count);
  }
  return {is_partitioned,
          sums.back(),
          device_array(last),
          device_array(requests),
          device_array(parts),
          device_array(sums),
          device_array(std::vector{chunk})};
}

static assay_status launch(const problem& p, const attention_tensors& t) {
  if (!has_same_strides(t.k.shape, t.k.stride, t.v.stride)) return refuse(ASSAY_UNSUPPORTED, other_strides);
  decode_plan plan = plan_of(p, t);
  const bool has_cap = p.soft_cap != 0.0F;
  if (p.q_type == dtype::f16)
    has_cap ? decode<__half, true>(p, t, plan) : decode<__half, false>(p, t, plan);
  else
    has_cap ? decode<__nv_bfloat16, true>(p, t, plan) : decode<__nv_bfloat16, false>(p, t, plan);
  return {};
}

ASSAY_ATTENTION_LIBRARY("split_kv", takes, declare, launch)

/// What the fields above cannot say.
extern "C" [[gnu::visibility("default")]] assay_status assay_supports_case_v1(const char*, const problem*,
                                                                              const assay_tensor* tensors,
                                                                              std::int32_t num_tensors) {
  const auto view_of = [&](const char* name) {
    return std::find_if(tensors, tensors + num_tensors,
                        [&](const assay_tensor& t) { return std::strcmp(t.name, name) == 0; })
        ->view;
  };
  const DLTensor k = view_of("k"), v = view_of("v");
  return has_same_strides(k.shape, k.strides, v.strides) ? assay_status{} : refuse(ASSAY_UNSUPPORTED, other_strides);
}
