#include "oracle/paging.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "oracle/decode.hpp"
#include "oracle/take.hpp"

namespace assay::oracle {
namespace {

std::int64_t index_at(const tensor& t, std::int64_t i, std::int64_t j = 0) {
  return static_cast<const std::int32_t*>(t.data)[t.offset(i, j)];
}

constexpr std::int64_t side = 16;  ///< of the square tiles in which preshuffled keys lie

/// Checks the fields that mqa_logits restricts.
void check_mqa_logits(const problem& p) {
  const char* fault = nullptr;
  if (p.heads_kv != 1) fault = "mqa_logits needs heads_kv 1";
  if (p.kv_descale != descale_kind::per_tensor) fault = "mqa_logits has scales per key, not per page";
  if (p.batching != q_batching::batch) fault = "mqa_logits needs batch mode";
  if (p.max_model_len < 0) fault = "max_model_len is negative";
  if (p.k_order == key_order::preshuffled && (p.page_size % side != 0 || p.head_dim_qk % side != 0))
    fault = "preshuffled keys need page_size and head_dim_qk to be multiples of 16";
  if (fault != nullptr) throw std::invalid_argument(std::string("oracle: ") + fault);
}

/// A row of a tensor whose last stride may be anything.
void load_row(const tensor& t, std::int64_t offset, std::int64_t count, double* values) {
  const std::int64_t stride = t.stride[t.rank - 1];
  if (stride == 1) {
    load_contiguous(t, offset, count, values);
    return;
  }
  for (std::int64_t d = 0; d < count; ++d) values[d] = load(t, offset + d * stride);
}

}  // namespace

key_range intersect(key_range a, key_range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

problem_view::problem_view(const problem& stated, std::span<const named_tensor> inputs) : stated_(stated) {
  const problem& p = stated_;
  if (p.heads_kv < 1 || p.heads_q < 1 || p.heads_q % p.heads_kv != 0 || p.page_size < 1 || p.num_seqs < 0)
    throw std::invalid_argument("oracle: a size of the problem is out of range");
  q_ = take(inputs, "q", true, p.q_type, {p.total_q, p.heads_q, p.head_dim_qk});
  k_ = take(inputs, "k", true, p.k_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_qk});
  if (p.operation == operation_kind::mqa_logits) {
    check_mqa_logits(p);
    weights_ = take(inputs, "weights", true, dtype::f32, {p.total_q, p.heads_q});
    k_row_scale_ = take(inputs, "k_row_scale", true, dtype::f32, {p.num_pages, p.page_size});
  } else {
    v_ = take(inputs, "v", true, p.v_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_v});
  }
  if (p.kv_descale == descale_kind::per_page) {
    k_descale_ = take(inputs, "k_descale", true, dtype::f32, {p.num_pages, p.heads_kv});
    v_descale_ = take(inputs, "v_descale", true, dtype::f32, {p.num_pages, p.heads_kv});
  }
  if (p.batching == q_batching::group)
    cu_seqlens_q_ = take(inputs, "cu_seqlens_q", true, dtype::i32, {p.num_seqs + 1});
  else if (p.total_q != std::int64_t{p.num_seqs} * p.max_q)
    throw std::invalid_argument("oracle: in batch mode total_q must be num_seqs * max_q");
  seqlens_k_ = take(inputs, "seqlens_k", true, dtype::i32, {p.num_seqs});
  if (p.page_table == page_table_kind::block_table) {
    block_table_ = take(inputs, "block_table", true, dtype::i32, {p.num_seqs, any_extent});
  } else {
    page_indptr_ = take(inputs, "page_indptr", true, dtype::i32, {p.num_seqs + 1});
    page_indices_ = take(inputs, "page_indices", true, dtype::i32, {any_extent});
  }
  prefix_offset_ = take(inputs, "prefix_offset", false, dtype::i32, {p.num_seqs});
  bias_ =
      p.bias_type == dtype::none ? nullptr : take(inputs, "bias", true, p.bias_type, {p.heads_q, p.total_q, p.max_k});
  sinks_ = take(inputs, "sinks", false, dtype::f32, {p.heads_q});
}

std::int64_t problem_view::first_row(std::int64_t seq) const {
  return cu_seqlens_q_ != nullptr ? index_at(*cu_seqlens_q_, seq) : seq * stated_.max_q;
}

std::int64_t problem_view::row_count(std::int64_t seq) const {
  return first_row(seq + 1) - first_row(seq);
}

std::int64_t problem_view::end_of_rows() const {
  const std::int64_t end = first_row(stated_.num_seqs);
  if (end < 0 || end > stated_.total_q)
    throw std::invalid_argument("oracle: cu_seqlens_q ends at " + std::to_string(end) + ", but there are " +
                                std::to_string(stated_.total_q) + " rows");
  return end;
}

std::int64_t problem_view::key_count(std::int64_t seq) const {
  return index_at(*seqlens_k_, seq);
}

std::int64_t problem_view::sequence_of(std::int64_t row) const {
  for (std::int64_t seq = 0; seq < stated_.num_seqs; ++seq)
    if (row >= first_row(seq) && row < first_row(seq + 1)) return seq;
  throw std::invalid_argument("oracle: a query row belongs to no sequence");
}

key_range problem_view::visible(std::int64_t seq, std::int64_t i) const {
  const std::int64_t keys = key_count(seq);
  if (stated_.operation == operation_kind::mqa_logits) {
    if (keys < 0 || keys > stated_.max_model_len)
      throw std::invalid_argument("oracle: context " + std::to_string(keys) + " of sequence " + std::to_string(seq) +
                                  " is not in [0, max_model_len]");
    return {0, keys - row_count(seq) + i + 1};
  }
  const std::int64_t position =
      prefix_offset_ != nullptr ? index_at(*prefix_offset_, seq) + i : keys - row_count(seq) + i;
  key_range range{0, keys};
  if (stated_.causal != 0) range.end = std::min(range.end, position + 1);
  if (stated_.window != 0) range.begin = std::max<std::int64_t>(range.begin, position - stated_.window + 1);
  return range;
}

key_place problem_view::place(std::int64_t seq, std::int64_t key) const {
  const std::int64_t page_size = stated_.page_size, nth = key / page_size;
  std::int64_t page = -1;
  if (block_table_ != nullptr) {
    if (nth < block_table_->shape[1]) page = index_at(*block_table_, seq, nth);
  } else {
    const std::int64_t at = index_at(*page_indptr_, seq) + nth;
    if (at >= 0 && at < index_at(*page_indptr_, seq + 1) && at < page_indices_->shape[0])
      page = index_at(*page_indices_, at);
  }
  if (page < 0 || page >= stated_.num_pages)
    throw std::invalid_argument("oracle: key " + std::to_string(key) + " of sequence " + std::to_string(seq) +
                                " is outside the pool");
  return {page, key - nth * page_size};
}

void problem_view::load_query(std::int64_t row, std::int64_t head, double* values) const {
  load_row(*q_, q_->offset(row, head), stated_.head_dim_qk, values);
}

void problem_view::load_key(key_place at, std::int64_t head_kv, double* values) const {
  if (stated_.k_order == key_order::plain) {
    load_row(*k_, k_->offset(at.page, at.slot, head_kv), stated_.head_dim_qk, values);
    return;
  }
  // A strip of 16 slots is a row of tiles along the dims; a tile holds 16 dims of its first slot, then of its second.
  const std::int64_t tiles = stated_.head_dim_qk / side, strip = at.slot / side, slot_in_strip = at.slot % side;
  const std::int64_t first = k_->offset(at.page) + strip * (tiles * side * side) + slot_in_strip * side;
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    load_contiguous(*k_, first + tile * (side * side), side, values + tile * side);
}

void problem_view::load_value(key_place at, std::int64_t head_kv, double* values) const {
  load_row(*v_, v_->offset(at.page, at.slot, head_kv), stated_.head_dim_v, values);
}

double problem_view::k_descale(std::int64_t page, std::int64_t head_kv) const {
  return k_descale_ == nullptr ? 1.0 : load(*k_descale_, k_descale_->offset(page, head_kv));
}

double problem_view::v_descale(std::int64_t page, std::int64_t head_kv) const {
  return v_descale_ == nullptr ? 1.0 : load(*v_descale_, v_descale_->offset(page, head_kv));
}

double problem_view::bias(std::int64_t head, std::int64_t row, std::int64_t key) const {
  return load(*bias_, bias_->offset(head, row, key));
}

double problem_view::sink(std::int64_t head) const {
  return sinks_ == nullptr ? -std::numeric_limits<double>::infinity() : load(*sinks_, sinks_->offset(head));
}

double problem_view::weight(std::int64_t row, std::int64_t head) const {
  return load(*weights_, weights_->offset(row, head));
}

double problem_view::key_scale(key_place at) const {
  return load(*k_row_scale_, k_row_scale_->offset(at.page, at.slot));
}

}  // namespace assay::oracle
