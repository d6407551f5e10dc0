/// The problem statement: what is computed, not how. Kernels and oracle share only this file, tensor.hpp and
/// contract.hpp.
///
/// Attention over a paged KV cache. Sequence s has query rows cu_seqlens_q[s] .. cu_seqlens_q[s+1]-1 and
/// seqlens_k[s] keys. Key j of sequence s lives in page page_of(s, j / page_size), slot j % page_size.
///
/// tensor         shape                                       type        notes
/// q              [total_q, heads_q, head_dim_qk]             q_type      any strides (trans_q)
/// k              [num_pages, page_size, heads_kv, d_qk]      k_type      unit last stride; page, slot and head strides
///                                                                        and the start are multiples of 8 elements:
///                                                                        NHD or HND order
/// v              [num_pages, page_size, heads_kv, d_v]       v_type      as k
/// k_descale      [num_pages, heads_kv]                       f32         kv_descale == per_page; any strides; where a
///                                                                        live key needs it finite and above 0
/// v_descale      [num_pages, heads_kv]                       f32         as k_descale
/// cu_seqlens_q   [num_seqs + 1]                              i32         batching == group; in batch
///                                                                        mode sequence s has max_q rows, from row
///                                                                        s * max_q
/// seqlens_k      [num_seqs]                                  i32
/// block_table    [num_seqs, n]                               i32         page_table == block_table (vLLM)
/// page_indptr    [num_seqs + 1]                              i32         page_table == page_list (SGLang)
/// page_indices   [n]                                         i32         page_table == page_list
/// prefix_offset  [num_seqs]                                  i32         optional
/// bias           [heads_q, total_q, max_k]                   bias_type   optional; any strides
/// sinks          [heads_q]                                   f32         optional; finite, or -inf for "no sink"
/// o              [total_q, heads_q, head_dim_v]              o_type      output
/// lse            [total_q, heads_q]                          f32         output; natural logarithm
/// o_partial      [num_splits, total_q, heads_q, head_dim_v]  f32         output; only with num_splits > 1
/// lse_partial    [num_splits, total_q, heads_q]              f32         output; only with num_splits > 1
///
/// d_qk and d_v stand for head_dim_qk and head_dim_v. Query head h reads kv head h / (heads_q / heads_kv). FP8 values
/// are bit patterns in 1-byte elements.
///
/// Where the tables do not mention strides, the last stride is 1 and the caller chooses the others, also those of
/// outputs and partials. Splits, rows and heads may lie further apart than their extents require; do not derive a
/// stride from another one. Gaps between them are not part of the tensor: a kernel never writes them, and they change
/// no output bit. The stride of a dimension of one element means nothing and may be any number. The first element is
/// aligned to its type alone, that of K and V to 8 elements.
///
/// In group mode total_q may exceed cu_seqlens_q[num_seqs] (batches padded for CUDA graphs, as by vLLM and SGLang). The
/// rows behind that entry are padding: they belong to no sequence. Their q and bias are dead, and a kernel never writes
/// them in o, lse, o_partial or lse_partial: they keep their bits. In batch mode total_q is num_seqs * max_q.
///
/// For query row i of sequence s (i counts from the sequence's first row) the position is
///   p = prefix_offset[s] + i, or seqlens_k[s] - q_len(s) + i without that tensor (bottom-right alignment).
/// Key j in [0, seqlens_k[s]) is visible to the row iff  (!causal || j <= p)  and  (window == 0 || j > p - window).
///   t_j = scale * q_scale * k_scale * kd_j * dot(q, k_j)    (int8: the dot product is exact in int32)
///   x_j = (soft_cap > 0 ? soft_cap * tanh(t_j / soft_cap) : t_j) + bias[h, row, j]
///   Z   = sum over visible j of exp(x_j)  (+ exp(sinks[h]))
///   O   = v_scale * sum exp(x_j) vd_j v_j / Z,   LSE = log Z.     Z = 0 (no visible key, no sink): O = 0, LSE = -inf.
/// kd_j and vd_j are k_descale and v_descale at the page of key j and the kv head; 1 with per_tensor descales.
/// All data that is not visible is dead: it may hold any bits and must not change any output bit.
///
/// MQA logits over a paged key cache (operation == mqa_logits; DeepSeek's sparse attention indexer). There is no
/// softmax and no V; batching is batch, so each sequence has next_n = max_q query rows; heads_kv is 1.
///
/// tensor         shape                                       type        notes
/// q              [total_q, heads_q, head_dim_qk]             q_type      any strides
/// weights        [total_q, heads_q]                          f32
/// k              [num_pages, page_size, 1, head_dim_qk]      k_type      stored as k_order says
/// k_row_scale    [num_pages, page_size]                      f32         one scale per key; at least 0
/// seqlens_k      [num_seqs]                                  i32         context lengths, at most max_model_len
/// block_table, or page_indptr and page_indices, as above
/// logits         [total_q, max_model_len]                    f32         output; unit last stride, any row stride
///
/// Key j is visible to row i of sequence s iff  j <= seqlens_k[s] - next_n + i.
///   logits[s * next_n + i, j] = k_row_scale_j * sum over heads h of weights[row, h] * max(0, dot(q[row, h], k_j))
/// If fills_hidden is 1, the kernel writes -inf to the columns of hidden keys. If it is 0, the kernel does not write
/// them. It never writes at or past column max_model_len, for any row stride.
///
/// Appending to a paged KV cache (operation == append_kv; vLLM's reshape_and_cache, CK's fmha_fwd_appendkv). Row r of
/// the call is one new key and value; it goes to slot slots[r] % page_size of page slots[r] / page_size, for all heads;
/// heads_q is heads_kv.
///
/// tensor         shape                                       type        notes
/// k_new          [total_q, heads_kv, head_dim_qk]            q_type      unit last stride; finite
/// v_new          [total_q, heads_kv, head_dim_v]             q_type      as k_new
/// slots          [total_q]                                   i64         negative: the row is skipped; else below
///                                                                        num_pages * page_size, and no slot twice
/// positions      [total_q]                                   i32         rotary != none; rows of the two tables below
/// rope_cos       [n, head_dim_qk / 2]                        f32         rotary != none
/// rope_sin       [n, head_dim_qk / 2]                        f32         rotary != none
/// k              [num_pages, page_size, heads_kv, d_qk]      k_type      in-out; as above
/// v              [num_pages, page_size, heads_kv, d_v]       v_type      in-out; as above
/// k_descale      [num_pages, heads_kv]                       f32         in-out; kv_descale == per_page
/// v_descale      [num_pages, heads_kv]                       f32         as k_descale
///
/// x is the row's head of k_new, rotated where rotary says so, or of v_new. With c = rope_cos[positions[r], i] and
/// s = rope_sin[positions[r], i] the pair (a, b) of elements becomes (a c - b s, b c + a s); see rotary_kind.
///   k_type == q_type:  what is stored is x in that type (without rotary: the same bits).
///   per_tensor:        the code of x / k_scale (of V: v_scale) in the 8-bit type, saturated.
///   per_page:          the code of x / D', where D' is the page's new descale of that head; k_scale and v_scale are 1.
///     A is the largest |x| of the rows that this call writes to the page and head, F the type's largest finite value.
///     A page whose slot 0 is written is fresh: D' = max(A / F, 2^-64), and what it held before is dead and stays.
///     Else D' = max(D, A / F), D being the descale before. Where D' > D, each code of the page and head that is not
///     written anew becomes the code of its value times D / D'; NaN stays NaN. Where D' == D, they stay as they are.
/// Nothing else changes: no other slot, page, or descale. A zero that is computed may have either sign.
#pragma once

#include <cstdint>

#include "kernels/tensor.hpp"

namespace assay {

enum class page_table_kind : std::int32_t { block_table, page_list };

/// What is computed; each kernel of a library computes one of them.
enum class operation_kind : std::int32_t { attention, mqa_logits, append_kv };
inline constexpr const char* operation_names[] = {"attention", "mqa_logits", "append_kv"};

/// Which elements of a key rotate together: none; i and i + head_dim_qk / 2 (NeoX, Llama); 2 i and 2 i + 1 (GPT-J).
enum class rotary_kind : std::int32_t { none, half, interleaved };

/// How the keys of a page lie in memory. plain: [slot][dim] as the tensor's strides say. preshuffled: in the order in
/// which 16x16 matrix tiles are loaded; page_size and head_dim_qk are multiples of 16, the tensor's strides are those
/// of a dense plain pool, and element (slot, dim) is at offset
///   ((slot / 16) * (head_dim_qk / 16) + dim / 16) * 256 + (slot % 16) * 16 + dim % 16   of its page.
enum class key_order : std::int32_t { plain, preshuffled };

/// How a launch cuts contexts into splits (no output depends on it). fixed: every sequence into num_splits parts of its
/// own context. variable: into parts of one length for all sequences, so that long contexts get more of them.
enum class context_split : std::int32_t { fixed, variable };

/// Where the query rows of a sequence are: group mode has cu_seqlens_q; in batch mode all sequences have max_q rows.
enum class q_batching : std::int32_t { group, batch };

/// Granularity of K's and V's descales: scalars only, or also one per (page, kv head) (KV_BLOCKSCALE).
enum class descale_kind : std::int32_t { per_tensor, per_page };

/// Scalars of a problem. Standard layout: the struct crosses the C ABI unchanged.
struct problem {
  operation_kind operation = operation_kind::attention;
  dtype q_type = dtype::f16;
  dtype k_type = dtype::f16;
  dtype v_type = dtype::f16;
  dtype o_type = dtype::f16;
  dtype bias_type = dtype::none;  ///< none when there is no bias tensor
  page_table_kind page_table = page_table_kind::block_table;
  q_batching batching = q_batching::group;
  descale_kind kv_descale = descale_kind::per_tensor;
  std::int32_t num_seqs = 0;
  std::int32_t total_q = 0;  ///< query rows of all sequences, and padding rows
  std::int32_t max_q = 0;    ///< most query rows of any sequence
  std::int32_t max_k = 0;    ///< most keys of any sequence
  std::int32_t heads_q = 1;
  std::int32_t heads_kv = 1;  ///< divides heads_q
  std::int32_t head_dim_qk = 64;
  std::int32_t head_dim_v = 64;
  std::int32_t page_size = 16;  ///< keys per page
  std::int64_t num_pages = 0;   ///< pages in the pool; live page ids are below it
  std::int32_t causal = 0;
  std::int32_t window = 0;               ///< keys visible up to and including the row's own position; 0 = unlimited
  std::int32_t num_splits = 0;           ///< 0 in plan(): the library chooses; in run(): as planned, at least 1
  key_order k_order = key_order::plain;  ///< these four: mqa_logits only
  context_split split_contexts = context_split::fixed;  ///< what num_splits counts
  std::int32_t max_model_len = 0;                       ///< columns of logits
  std::int32_t fills_hidden = 0;                        ///< 1: columns of hidden keys become -inf
  rotary_kind rotary = rotary_kind::none;               ///< append_kv only
  float scale = 1.0F;                                   ///< softmax scale
  float q_scale = 1.0F;                                 ///< descales of quantised tensors; 1 for f16 and bf16
  float k_scale = 1.0F;
  float v_scale = 1.0F;
  float soft_cap = 0.0F;  ///< 0 = off
};

}  // namespace assay
