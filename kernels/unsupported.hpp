/// The host's check of a problem against what a kernel declares that it takes: for plan(), so that it is written once.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/problem.hpp"
#include "kernels/support.h"

namespace assay {

inline bool holds_size(const assay_sizes& s, std::int64_t value) {
  if (s.values[0] == 0)
    return value >= s.least && (s.most == 0 || value <= s.most) && (s.multiple_of == 0 || value % s.multiple_of == 0);
  for (const std::int32_t v : s.values) {
    if (v == 0) break;  // the end of the list
    if (v == value) return true;
  }
  return false;
}

/// The parts of unsupported() below.
namespace unsupported_parts {

inline const char* size_of(const assay_support& s, const problem& p) {
  const bool is_attention = p.operation == operation_kind::attention;
  const bool is_logits = p.operation == operation_kind::mqa_logits;
  if (s.types[0].q != 0) {
    bool is_listed = false;
    for (const assay_types& t : s.types)
      is_listed =
          is_listed || (t.q == static_cast<std::int32_t>(p.q_type) && t.kv == static_cast<std::int32_t>(p.k_type) &&
                        t.o == static_cast<std::int32_t>(p.o_type));
    if (!is_listed) return "these types";
  }
  const assay_sizes& of_v = s.head_dims_v.values[0] != 0 || s.head_dims_v.least != 0 || s.head_dims_v.most != 0 ||
                                    s.head_dims_v.multiple_of != 0
                                ? s.head_dims_v
                                : s.head_dims;
  if (!holds_size(s.head_dims, p.head_dim_qk)) return "this head_dim_qk";
  if (!is_logits && !holds_size(of_v, p.head_dim_v)) return "this head_dim_v";
  if (!is_logits && s.no_unequal_head_dims != 0 && p.head_dim_qk != p.head_dim_v) return "unequal head dims";
  if (!holds_size(s.page_sizes, p.page_size)) return "this page_size";
  if ((is_attention || is_logits) && p.heads_kv > 0 && !holds_size(s.group_sizes, p.heads_q / p.heads_kv))
    return "so many query heads for a kv head";
  return nullptr;
}

inline const char* extent_of(const assay_support& s, const problem& p) {
  const auto above = [](std::int64_t value, std::int64_t most) { return most != 0 && value > most; };
  if (above(p.num_seqs, s.most_sequences)) return "so many sequences";
  if (above(p.max_q, s.most_rows)) return "so many query rows of a sequence";
  if (above(p.total_q, s.most_total_rows)) return "so many query rows";
  if (above(p.max_k, s.most_keys)) return "so many keys";
  if (above(p.num_pages, s.most_pages)) return "so many pages";
  if (above(p.heads_q, s.most_heads_q) || above(p.heads_kv, s.most_heads_kv)) return "so many heads";
  if (above(p.num_splits, s.most_splits)) return "so many splits";
  if (above(p.max_model_len, s.most_columns)) return "so many columns";
  return nullptr;
}

inline const char* feature_of(const assay_support& s, const problem& p) {
  const bool is_logits = p.operation == operation_kind::mqa_logits;
  if (s.no_empty_batch != 0 && p.max_q == 0) return "an empty batch";
  if (s.no_split_count != 0 && p.operation != operation_kind::append_kv && p.num_splits != 0)
    return "a number of splits that the caller chooses";
  if (s.no_block_table != 0 && p.operation != operation_kind::append_kv && p.page_table == page_table_kind::block_table)
    return "a block table";
  if (s.no_page_list != 0 && p.operation != operation_kind::append_kv && p.page_table == page_table_kind::page_list)
    return "a page list";
  if (!is_logits && s.no_page_descales != 0 && p.kv_descale == descale_kind::per_page) return "descales per page";
  if (!is_logits && ((s.no_k_scale != 0 && p.k_scale != 1) || (s.no_v_scale != 0 && p.v_scale != 1)))
    return "a k_scale or v_scale other than 1";
  if (is_logits) {
    if (s.no_plain_keys != 0 && p.k_order == key_order::plain) return "plain keys";
    if (s.no_preshuffled_keys != 0 && p.k_order == key_order::preshuffled) return "preshuffled keys";
    if (s.no_filled_columns != 0 && p.fills_hidden != 0) return "filling hidden columns";
    if (s.no_kept_columns != 0 && p.fills_hidden == 0) return "keeping hidden columns";
    if (s.no_fixed_contexts != 0 && p.split_contexts == context_split::fixed) return "fixed contexts";
    if (s.no_variable_contexts != 0 && p.split_contexts == context_split::variable) return "variable contexts";
  }
  if (p.operation == operation_kind::append_kv) {
    if (s.no_plain_rows != 0 && p.rotary == rotary_kind::none) return "keys that are not rotated";
    if (s.no_rotary_half != 0 && p.rotary == rotary_kind::half) return "rotary by halves";
    if (s.no_rotary_interleaved != 0 && p.rotary == rotary_kind::interleaved) return "rotary by pairs";
  }
  return nullptr;
}

inline const char* feature_of_attention(const assay_support& s, const problem& p) {
  const auto is_extreme = [](float x) { return x != 0 && !(std::fabs(x) <= 0x1p30F && std::fabs(x) >= 0x1p-30F); };
  if (s.no_causal != 0 && p.causal != 0) return "a causal mask";
  if (s.no_noncausal != 0 && p.causal == 0) return "no causal mask";
  if (s.no_window != 0 && p.window != 0) return "a window";
  if (s.no_soft_cap != 0 && p.soft_cap != 0) return "a soft cap";
  if ((s.no_bias_f32 != 0 && p.bias_type == dtype::f32) || (s.no_bias_f16 != 0 && p.bias_type == dtype::f16) ||
      (s.no_bias_bf16 != 0 && p.bias_type == dtype::bf16))
    return "a bias of this type";
  if (s.no_q_scale != 0 && p.q_scale != 1) return "a q_scale other than 1";
  if (s.no_other_scale != 0 && p.scale != 1.0F / std::sqrt(static_cast<float>(p.head_dim_qk)))
    return "a scale other than 1 / sqrt(head_dim_qk)";
  if (s.no_nonpositive_scale != 0 && !(p.scale > 0 && p.v_scale > 0)) return "a scale of 0 or below";
  if (s.no_extreme_scale != 0 &&
      (is_extreme(p.scale) || is_extreme(p.q_scale) || is_extreme(p.k_scale) || is_extreme(p.v_scale)))
    return "an extreme scale";
  if (s.no_group != 0 && p.batching == q_batching::group) return "group mode";
  if (s.no_batch != 0 && p.batching == q_batching::batch) return "batch mode";
  return nullptr;
}

}  // namespace unsupported_parts

/// Words for what the problem has and the kernel does not take ("a window"), or nullptr. It knows the scalars alone:
/// what tensors show, such as layouts, sinks and prefix offsets, is the caller's. `p` is not planned yet; it may be
/// invalid, which this does not check.
inline const char* unsupported(const assay_support& s, const problem& p) {
  using namespace unsupported_parts;
  for (const auto part : {size_of, extent_of, feature_of})
    if (const char* what = part(s, p)) return what;
  return p.operation == operation_kind::attention ? feature_of_attention(s, p) : nullptr;
}

}  // namespace assay
