/// Tiny problems with memory of their own, for the oracle's tests. Encodes numbers without the oracle's help.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay::testing {

inline double e4m3_value(std::uint32_t bits, bool fnuz) {
  const int exponent = static_cast<int>(bits >> 3) & 15, mantissa = static_cast<int>(bits) & 7;
  const double sign = (bits & 0x80U) != 0 ? -1.0 : 1.0;
  if (fnuz ? bits == 0x80U : (bits & 0x7FU) == 0x7FU) return std::numeric_limits<double>::quiet_NaN();
  const int bias = fnuz ? 8 : 7;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -2 - bias) : std::ldexp(8 + mantissa, exponent - 3 - bias));
}

/// Bits of the number nearest to `value`.
inline std::uint32_t encode(dtype type, double value) {
  switch (type) {
    case dtype::f16: return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    case dtype::bf16: {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      if (std::isnan(value)) return 0x7FC0U;
      return (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    }
    case dtype::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case dtype::i8:
      return static_cast<std::uint8_t>(static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -128.0, 127.0)));
    case dtype::i32: return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    default: break;
  }
  const bool fnuz = type == dtype::e4m3fnuz;
  if (std::isnan(value)) return fnuz ? 0x80U : 0x7FU;
  static const auto table_of = [](bool of_fnuz) {
    std::array<double, 256> values{};
    for (std::uint32_t bits = 0; bits < 256; ++bits) values[bits] = e4m3_value(bits, of_fnuz);
    return values;
  };
  static const std::array<double, 256> tables[] = {table_of(false), table_of(true)};
  const std::array<double, 256>& values = tables[fnuz ? 1 : 0];
  std::uint32_t best = 0;
  for (std::uint32_t bits = 0; bits < 256; ++bits)
    if (std::fabs(values[bits] - value) < std::fabs(values[best] - value)) best = bits;
  return best;
}

/// An owned tensor, row major.
struct memory {
  std::string name;
  tensor view;
  std::shared_ptr<std::vector<std::byte>> bytes;

  memory(std::string called, dtype type, std::vector<std::int64_t> shape)
      : name(std::move(called)), bytes(std::make_shared<std::vector<std::byte>>()) {
    view.type = type;
    view.rank = static_cast<std::int32_t>(shape.size());
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) view.shape[d] = shape[d], view.stride[d] = stride;
    bytes->assign(static_cast<std::size_t>(stride * size_bytes(type)) + 1, std::byte{0xFF});
    view.data = bytes->data();
  }
  void set_bits(std::int64_t offset, std::uint32_t bits) const {
    std::memcpy(bytes->data() + offset * size_bytes(view.type), &bits, static_cast<std::size_t>(size_bytes(view.type)));
  }
  void set(std::int64_t offset, double value) const { set_bits(offset, encode(view.type, value)); }
};

struct sequence_shape {
  std::int32_t q = 1;
  std::int32_t k = 1;
  std::int32_t prefix = std::numeric_limits<std::int32_t>::min();  ///< default: no prefix tensor
};

/// What a test varies.
struct options {
  dtype qk_type = dtype::f16;
  dtype k_type = dtype::none;  ///< none: qk_type
  dtype v_type = dtype::f16;
  dtype o_type = dtype::f16;
  dtype bias_type = dtype::none;
  std::vector<sequence_shape> sequences{{1, 1}};
  std::int32_t heads_q = 1, heads_kv = 1, dim_qk = 16, dim_v = 8, page_size = 4, num_splits = 1;
  bool causal = false;
  std::int32_t window = 0;
  float scale = 0.25F, q_scale = 1.0F, k_scale = 1.0F, v_scale = 1.0F, soft_cap = 0.0F;
  bool sinks = false;
  bool page_list = false;
  bool batch = false;  ///< no cu_seqlens_q: all sequences have as many query rows
  /// Descales of live pages; null: per tensor. Called with ('k' or 'v', page of the sequence, kv head).
  std::function<double(char tensor, std::int64_t nth, std::int64_t head)> descale;
  std::uint64_t seed = 1;
  /// Numbers of q, k, v; null: normal. Called with (tensor, flat index of live data, generator).
  std::function<double(char tensor, std::int64_t at, std::mt19937_64& random)> draw;
};

inline double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}
inline double normal(std::mt19937_64& random) {
  const double u = uniform(random) + 0x1p-60, v = uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

struct setting {
  problem stated;
  std::vector<memory> buffers;
  std::vector<named_tensor> tensors() const {
    std::vector<named_tensor> views;
    views.reserve(buffers.size());
    for (const memory& m : buffers) views.push_back({m.name.c_str(), m.view});
    return views;
  }
  const memory& operator[](const std::string& name) const {
    return *std::find_if(buffers.begin(), buffers.end(), [&](const memory& m) { return m.name == name; });
  }
};

/// What `o` states, with sizes that its sequences need: twice as many pages as are live, and one.
inline problem stated_by(const options& o) {
  problem p;
  p.q_type = o.qk_type;
  p.k_type = o.k_type == dtype::none ? o.qk_type : o.k_type;
  p.v_type = o.v_type;
  p.o_type = o.o_type;
  p.bias_type = o.bias_type;
  p.page_table = o.page_list ? page_table_kind::page_list : page_table_kind::block_table;
  p.batching = o.batch ? q_batching::batch : q_batching::group;
  p.kv_descale = o.descale ? descale_kind::per_page : descale_kind::per_tensor;
  p.num_seqs = static_cast<std::int32_t>(o.sequences.size());
  p.heads_q = o.heads_q;
  p.heads_kv = o.heads_kv;
  p.head_dim_qk = o.dim_qk;
  p.head_dim_v = o.dim_v;
  p.page_size = o.page_size;
  p.causal = o.causal ? 1 : 0;
  p.window = o.window;
  p.num_splits = o.num_splits;
  p.scale = o.scale;
  p.q_scale = o.q_scale;
  p.k_scale = o.k_scale;
  p.v_scale = o.v_scale;
  p.soft_cap = o.soft_cap;
  p.num_pages = 1;
  for (const sequence_shape& s : o.sequences) {
    p.total_q += s.q;
    p.max_q = std::max(p.max_q, s.q);
    p.max_k = std::max(p.max_k, s.k);
    p.num_pages += 2 * ((s.k + o.page_size - 1) / o.page_size);
  }
  return p;
}

/// The numbers below n, in shuffled order.
inline std::vector<std::int64_t> shuffled(std::int64_t n, std::mt19937_64& random) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random() % i]);
  return ids;
}

/// Has every tensor that a setting may have, and fills them.
class setting_maker {
 public:
  explicit setting_maker(const options& o) : o_(o) {}

  setting make() {
    for (std::int64_t i = 0; i < q_.view.size(); ++i) draw('q', i, q_, i);
    cu_.set(0, 0);
    indptr_.set(0, 0);
    for (std::int32_t seq = 0; seq < p_.num_seqs; ++seq) add_sequence(seq);
    setting s{p_, {q_, k_, v_, lengths_}};
    if (!o_.batch) s.buffers.push_back(cu_);
    if (o_.descale) s.buffers.insert(s.buffers.end(), {k_descale_, v_descale_});
    if (o_.page_list) {
      s.buffers.insert(s.buffers.end(), {indptr_, list_});
    } else {
      s.buffers.push_back(table_);
    }
    if (!o_.sequences.empty() && o_.sequences[0].prefix != sequence_shape{}.prefix) s.buffers.push_back(prefix_);
    if (o_.bias_type != dtype::none)
      s.buffers.push_back(normal_numbers({"bias", o_.bias_type, {p_.heads_q, p_.total_q, p_.max_k}}));
    if (o_.sinks) s.buffers.push_back(normal_numbers({"sinks", dtype::f32, {p_.heads_q}}));
    return s;
  }

 private:
  void draw(char tensor, std::int64_t at, const memory& m, std::int64_t offset) {
    m.set(offset, o_.draw ? o_.draw(tensor, at, random_) : normal(random_) * (m.view.type == dtype::i8 ? 40.0 : 1.0));
  }

  memory normal_numbers(memory m) {
    for (std::int64_t i = 0; i < m.view.size(); ++i) m.set(i, normal(random_));
    return m;
  }

  void add_sequence(std::int32_t seq) {
    const sequence_shape& shape = o_.sequences[static_cast<std::size_t>(seq)];
    rows_ += shape.q;
    cu_.set(seq + 1, static_cast<double>(rows_));
    lengths_.set(seq, shape.k);
    prefix_.set(seq, shape.prefix);
    std::int64_t page = -1;
    for (std::int64_t key = 0; key < shape.k; ++key) {
      if (key % p_.page_size == 0) page = add_page(seq, key / p_.page_size);
      add_key(page, key % p_.page_size);
    }
    indptr_.set(seq + 1, static_cast<double>(pages_));
  }

  /// Returns its id.
  std::int64_t add_page(std::int32_t seq, std::int64_t nth) {
    const std::int64_t page = ids_[static_cast<std::size_t>(pages_)];
    list_.set(pages_++, static_cast<double>(page));
    table_.set(table_.view.offset(seq, nth), static_cast<double>(page));
    for (std::int64_t head = 0; o_.descale && head < p_.heads_kv; ++head) {
      k_descale_.set(k_descale_.view.offset(page, head), o_.descale('k', nth, head));
      v_descale_.set(v_descale_.view.offset(page, head), o_.descale('v', nth, head));
    }
    return page;
  }

  void add_key(std::int64_t page, std::int64_t slot) {
    for (std::int64_t head = 0; head < p_.heads_kv; ++head, ++keys_) {
      for (std::int64_t d = 0; d < p_.head_dim_qk; ++d)
        draw('k', keys_ * p_.head_dim_qk + d, k_, k_.view.offset(page, slot, head, d));
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
        draw('v', keys_ * p_.head_dim_v + d, v_, v_.view.offset(page, slot, head, d));
    }
  }

  const options& o_;
  const problem p_ = stated_by(o_);
  const std::int64_t most_pages_ = (p_.max_k + p_.page_size - 1) / p_.page_size;  ///< of a sequence
  std::mt19937_64 random_{o_.seed * 7919 + 17};
  const std::vector<std::int64_t> ids_ = shuffled(p_.num_pages, random_);
  std::int64_t rows_ = 0, pages_ = 0, keys_ = 0;  ///< so far; keys times heads

  const memory q_{"q", p_.q_type, {p_.total_q, p_.heads_q, p_.head_dim_qk}};
  const memory k_{"k", p_.k_type, {p_.num_pages, p_.page_size, p_.heads_kv, p_.head_dim_qk}};
  const memory v_{"v", p_.v_type, {p_.num_pages, p_.page_size, p_.heads_kv, p_.head_dim_v}};
  const memory k_descale_{"k_descale", dtype::f32, {p_.num_pages, p_.heads_kv}};
  const memory v_descale_{"v_descale", dtype::f32, {p_.num_pages, p_.heads_kv}};
  const memory cu_{"cu_seqlens_q", dtype::i32, {p_.num_seqs + 1}};
  const memory lengths_{"seqlens_k", dtype::i32, {p_.num_seqs}};
  const memory table_{"block_table", dtype::i32, {p_.num_seqs, most_pages_ + 1}};
  const memory indptr_{"page_indptr", dtype::i32, {p_.num_seqs + 1}};
  const memory list_{"page_indices", dtype::i32, {p_.num_pages / 2 + 2}};
  const memory prefix_{"prefix_offset", dtype::i32, {p_.num_seqs}};
};

/// Pages are dealt out in shuffled order, one in two unused; all dead memory holds NaN (0xFF bytes).
inline setting make_setting(const options& o) {
  return setting_maker(o).make();
}

}  // namespace assay::testing
