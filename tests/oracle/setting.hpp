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

/// Pages are dealt out in shuffled order, one in two unused; all dead memory holds NaN (0xFF bytes).
inline setting make_setting(const options& o) {
  std::mt19937_64 random(o.seed * 7919 + 17);
  setting s;
  problem& p = s.stated;
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
  std::int64_t live_pages = 0, most_pages = 0;
  for (const sequence_shape& q : o.sequences) {
    const std::int64_t pages = (q.k + o.page_size - 1) / o.page_size;
    p.total_q += q.q;
    p.max_q = std::max(p.max_q, q.q);
    p.max_k = std::max(p.max_k, q.k);
    live_pages += pages;
    most_pages = std::max(most_pages, pages);
  }
  p.num_pages = 2 * live_pages + 1;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(p.num_pages));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random() % i]);

  const memory q("q", p.q_type, {p.total_q, p.heads_q, p.head_dim_qk});
  const memory k("k", p.k_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_qk});
  const memory v("v", p.v_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_v});
  const memory k_descale("k_descale", dtype::f32, {p.num_pages, p.heads_kv});
  const memory v_descale("v_descale", dtype::f32, {p.num_pages, p.heads_kv});
  const memory cu("cu_seqlens_q", dtype::i32, {p.num_seqs + 1}), lengths("seqlens_k", dtype::i32, {p.num_seqs});
  const memory table("block_table", dtype::i32, {p.num_seqs, most_pages + 1});
  const memory indptr("page_indptr", dtype::i32, {p.num_seqs + 1}), list("page_indices", dtype::i32, {live_pages + 2});
  const memory prefix("prefix_offset", dtype::i32, {p.num_seqs});
  const auto draw = [&](char tensor, std::int64_t at, const memory& m, std::int64_t offset) {
    m.set(offset, o.draw ? o.draw(tensor, at, random) : normal(random) * (m.view.type == dtype::i8 ? 40.0 : 1.0));
  };
  for (std::int64_t i = 0; i < q.view.size(); ++i) draw('q', i, q, i);
  std::int64_t row = 0, next_page = 0, at = 0;
  cu.set(0, 0);
  indptr.set(0, 0);
  for (std::int32_t seq = 0; seq < p.num_seqs; ++seq) {
    const sequence_shape& shape = o.sequences[static_cast<std::size_t>(seq)];
    row += shape.q;
    cu.set(seq + 1, static_cast<double>(row));
    lengths.set(seq, shape.k);
    prefix.set(seq, shape.prefix);
    std::int64_t page = -1;
    for (std::int64_t key = 0; key < shape.k; ++key) {
      if (key % p.page_size == 0) {
        page = ids[static_cast<std::size_t>(next_page)];
        list.set(next_page++, static_cast<double>(page));
        table.set(table.view.offset(seq, key / p.page_size), static_cast<double>(page));
        for (std::int64_t head = 0; o.descale && head < p.heads_kv; ++head) {
          k_descale.set(k_descale.view.offset(page, head), o.descale('k', key / p.page_size, head));
          v_descale.set(v_descale.view.offset(page, head), o.descale('v', key / p.page_size, head));
        }
      }
      for (std::int64_t head = 0; head < p.heads_kv; ++head, ++at) {
        for (std::int64_t d = 0; d < p.head_dim_qk; ++d)
          draw('k', at * p.head_dim_qk + d, k, k.view.offset(page, key % p.page_size, head, d));
        for (std::int64_t d = 0; d < p.head_dim_v; ++d)
          draw('v', at * p.head_dim_v + d, v, v.view.offset(page, key % p.page_size, head, d));
      }
    }
    indptr.set(seq + 1, static_cast<double>(next_page));
  }
  s.buffers = {q, k, v, lengths};
  if (!o.batch) s.buffers.push_back(cu);
  if (o.descale) s.buffers.insert(s.buffers.end(), {k_descale, v_descale});
  if (o.page_list) {
    s.buffers.insert(s.buffers.end(), {indptr, list});
  } else {
    s.buffers.push_back(table);
  }
  if (!o.sequences.empty() && o.sequences[0].prefix != sequence_shape{}.prefix) s.buffers.push_back(prefix);
  if (o.bias_type != dtype::none) {
    const memory bias("bias", o.bias_type, {p.heads_q, p.total_q, p.max_k});
    for (std::int64_t i = 0; i < bias.view.size(); ++i) bias.set(i, normal(random));
    s.buffers.push_back(bias);
  }
  if (o.sinks) {
    const memory sinks("sinks", dtype::f32, {p.heads_q});
    for (std::int64_t i = 0; i < p.heads_q; ++i) sinks.set(i, normal(random));
    s.buffers.push_back(sinks);
  }
  return s;
}

}  // namespace assay::testing
