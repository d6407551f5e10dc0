/// Tiny mqa_logits problems with memory of their own. Lays preshuffled keys out without the oracle's help.
#pragma once

#include <array>

#include "tests/oracle/setting.hpp"

namespace assay::testing {

/// What a test of mqa_logits varies.
struct mqa_options {
  dtype type = dtype::e4m3fn;  ///< of q and k
  std::vector<std::int32_t> contexts{1};
  std::int32_t next_n = 1, heads = 4, dim = 32, page_size = 16, max_model_len = 64;
  std::int32_t row_margin = 0;  ///< elements between rows of logits
  key_order order = key_order::plain;
  bool page_list = false;
  bool fills_hidden = true;
  std::uint64_t seed = 1;
  /// Numbers of q, k ('w': weights, 's': key scales); null: normal, scales in [0.5, 1.5).
  std::function<double(char tensor, std::int64_t at, std::mt19937_64& random)> draw;
};

/// An FP8 code of about a standard normal number.
inline std::uint32_t normal_code(dtype type, std::mt19937_64& random) {
  constexpr std::size_t many = 2048;
  static const auto make = [](dtype of) {
    std::mt19937_64 own(99);
    std::array<std::uint8_t, many> codes{};
    for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(encode(of, normal(own)));
    return codes;
  };
  static const std::array<std::uint8_t, many> fn = make(dtype::e4m3fn), fnuz = make(dtype::e4m3fnuz);
  return (type == dtype::e4m3fn ? fn : fnuz)[random() % many];
}

/// Where element (slot, dim) of a page lies: 16x16 tiles in the order in which a wave takes them.
inline std::int64_t offset_in_page(const problem& p, std::int64_t slot, std::int64_t dim) {
  if (p.k_order == key_order::plain) return slot * p.head_dim_qk + dim;
  std::int64_t before = 0;  // whole tiles before this one
  for (std::int64_t s = 0; s < p.page_size; s += 16)
    for (std::int64_t d = 0; d < p.head_dim_qk; d += 16, ++before)
      if (slot >= s && slot < s + 16 && dim >= d && dim < d + 16) return before * 256 + (slot - s) * 16 + (dim - d);
  return -1;
}

/// Logits of a problem as a kernel finds them: 0xFF bytes, rows `margin` elements apart.
inline memory make_logits(const problem& p, std::int32_t margin) {
  memory logits("logits", dtype::f32, {p.total_q, p.max_model_len + margin});
  logits.view.shape[1] = p.max_model_len;
  return logits;
}

/// Pages are dealt out in shuffled order, one in two unused; all dead memory holds NaN (0xFF bytes).
inline setting make_mqa_setting(const mqa_options& o) {
  std::mt19937_64 random(o.seed * 104729 + 5);
  setting s;
  problem& p = s.stated;
  p.operation = operation_kind::mqa_logits;
  p.q_type = p.k_type = o.type;
  p.batching = q_batching::batch;
  p.page_table = o.page_list ? page_table_kind::page_list : page_table_kind::block_table;
  p.num_seqs = static_cast<std::int32_t>(o.contexts.size());
  p.max_q = o.next_n;
  p.total_q = p.num_seqs * o.next_n;
  p.heads_q = o.heads;
  p.head_dim_qk = o.dim;
  p.page_size = o.page_size;
  p.num_splits = 1;
  p.k_order = o.order;
  p.max_model_len = o.max_model_len;
  p.fills_hidden = o.fills_hidden ? 1 : 0;
  std::int64_t live_pages = 0, most_pages = 0;
  for (const std::int32_t keys : o.contexts) {
    const std::int64_t pages = (keys + o.page_size - 1) / o.page_size;
    p.max_k = std::max(p.max_k, keys);
    live_pages += pages;
    most_pages = std::max(most_pages, pages);
  }
  p.num_pages = 2 * live_pages + 1;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(p.num_pages));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random() % i]);

  const memory q("q", p.q_type, {p.total_q, p.heads_q, p.head_dim_qk});
  const memory weights("weights", dtype::f32, {p.total_q, p.heads_q});
  const memory k("k", p.k_type, {p.num_pages, p.page_size, 1, p.head_dim_qk});
  const memory scale("k_row_scale", dtype::f32, {p.num_pages, p.page_size});
  const memory lengths("seqlens_k", dtype::i32, {p.num_seqs});
  const memory table("block_table", dtype::i32, {p.num_seqs, most_pages + 1});
  const memory indptr("page_indptr", dtype::i32, {p.num_seqs + 1}), list("page_indices", dtype::i32, {live_pages + 2});
  const auto code = [&](char tensor, std::int64_t at) {
    return o.draw ? encode(o.type, o.draw(tensor, at, random)) : normal_code(o.type, random);
  };
  for (std::int64_t i = 0; i < q.view.size(); ++i) q.set_bits(i, code('q', i));
  for (std::int64_t i = 0; i < weights.view.size(); ++i)
    weights.set(i, o.draw ? o.draw('w', i, random) : normal(random));
  std::int64_t next_page = 0, at = 0;
  indptr.set(0, 0);
  for (std::int32_t seq = 0; seq < p.num_seqs; ++seq) {
    const std::int32_t keys = o.contexts[static_cast<std::size_t>(seq)];
    lengths.set(seq, keys);
    std::int64_t page = -1;
    for (std::int64_t key = 0; key < keys; ++key, ++at) {
      const std::int64_t slot = key % p.page_size;
      if (slot == 0) {
        page = ids[static_cast<std::size_t>(next_page)];
        list.set(next_page++, static_cast<double>(page));
        table.set(table.view.offset(seq, key / p.page_size), static_cast<double>(page));
      }
      for (std::int64_t d = 0; d < p.head_dim_qk; ++d)
        k.set_bits(page * p.page_size * p.head_dim_qk + offset_in_page(p, slot, d), code('k', at * p.head_dim_qk + d));
      scale.set(scale.view.offset(page, slot), o.draw ? o.draw('s', at, random) : 0.5 + uniform(random));
    }
    indptr.set(seq + 1, static_cast<double>(next_page));
  }
  s.buffers = {q, weights, k, scale, lengths};
  if (o.page_list) {
    s.buffers.insert(s.buffers.end(), {indptr, list});
  } else {
    s.buffers.push_back(table);
  }
  return s;
}

/// Reads a setting element by element, sharing nothing with the oracle.
class mqa_reader {
 public:
  explicit mqa_reader(const setting& s) : s_(s), p_(s.stated) {}

  double number(const char* name, std::int64_t offset) const {
    const memory& m = s_[name];
    std::uint32_t bits = 0;
    std::memcpy(&bits, m.bytes->data() + offset * size_bytes(m.view.type),
                static_cast<std::size_t>(size_bytes(m.view.type)));
    if (m.view.type == dtype::i32) return static_cast<std::int32_t>(bits);
    return m.view.type == dtype::f32 ? std::bit_cast<float>(bits) : e4m3_value(bits, m.view.type == dtype::e4m3fnuz);
  }
  /// The key's row in the pool of keys.
  std::int64_t pool_row(std::int64_t seq, std::int64_t key) const {
    const std::int64_t nth = key / p_.page_size;
    const double page = p_.page_table == page_table_kind::page_list
                            ? number("page_indices", static_cast<std::int64_t>(number("page_indptr", seq)) + nth)
                            : number("block_table", s_["block_table"].view.offset(seq, nth));
    return static_cast<std::int64_t>(page) * p_.page_size + key % p_.page_size;
  }
  double q(std::int64_t row, std::int64_t head, std::int64_t d) const {
    return number("q", (row * p_.heads_q + head) * p_.head_dim_qk + d);
  }
  double k(std::int64_t pool_row, std::int64_t d) const {
    const std::int64_t page = pool_row / p_.page_size;
    return number("k", page * p_.page_size * p_.head_dim_qk + offset_in_page(p_, pool_row % p_.page_size, d));
  }
  double weight(std::int64_t row, std::int64_t head) const { return number("weights", row * p_.heads_q + head); }
  double scale(std::int64_t pool_row) const { return number("k_row_scale", pool_row); }
  bool is_visible(std::int64_t row, std::int64_t column) const {
    const std::int64_t seq = row / p_.max_q, i = row % p_.max_q;
    return static_cast<double>(column) <= number("seqlens_k", seq) - p_.max_q + static_cast<double>(i);
  }

 private:
  const setting& s_;
  const problem& p_;
};

}  // namespace assay::testing
