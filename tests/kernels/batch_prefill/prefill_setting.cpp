#include "tests/kernels/batch_prefill/prefill_setting.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "kernels/device/convert.hpp"

namespace assay::prefill {
namespace {

constexpr std::int32_t garbage_page = 0x7FFFFFFF;

double decode(dtype type, std::uint16_t code) {
  switch (type) {
    case dtype::e4m3fn: return static_cast<double>(to_float(device::e4m3fn{static_cast<std::uint8_t>(code)}));
    case dtype::e4m3fnuz: return static_cast<double>(to_float(device::e4m3fnuz{static_cast<std::uint8_t>(code)}));
    case dtype::f16: return static_cast<double>(to_float(device::f16{code}));
    default: return static_cast<double>(to_float(device::bf16{code}));
  }
}
std::uint16_t encode(dtype type, float x) {
  switch (type) {
    case dtype::e4m3fn: return device::from_float<device::e4m3fn>(x).bits;
    case dtype::e4m3fnuz: return device::from_float<device::e4m3fnuz>(x).bits;
    case dtype::f16: return device::from_float<device::f16>(x).bits;
    default: return device::from_float<device::bf16>(x).bits;
  }
}

/// A call's tensor over contiguous host memory.
struct given_tensor {
  std::vector<std::int64_t> shape, stride;
  assay_tensor tensor;

  given_tensor(const char* name, const void* data, dtype type, std::vector<std::int64_t> extents)
      : shape(std::move(extents)), stride(shape.size(), 1), tensor{} {
    for (std::size_t d = shape.size(); d-- > 1;) stride[d - 1] = stride[d] * shape[d];
    tensor.name = name;
    tensor.type = static_cast<std::int32_t>(type);
    tensor.view.data = const_cast<void*>(data);
    tensor.view.device = {kDLCPU, 0};
    tensor.view.ndim = static_cast<std::int32_t>(shape.size());
    tensor.view.dtype = {kDLUInt, static_cast<std::uint8_t>(8 * size_bytes(type)), 1};
    tensor.view.shape = shape.data();
    tensor.view.strides = stride.data();
  }
};

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

codes::codes(dtype type, std::int64_t count)
    : element_bytes_(size_bytes(type)), bytes_(at(count * element_bytes_), type == dtype::e4m3fnuz ? 0x80 : 0xFF) {}
void codes::set(std::int64_t i, std::uint16_t code) {
  std::memcpy(&bytes_[at(i * element_bytes_)], &code, at(element_bytes_));
}
std::uint16_t codes::get(std::int64_t i) const {
  std::uint16_t code = 0;
  std::memcpy(&code, &bytes_[at(i * element_bytes_)], at(element_bytes_));
  return code;
}

std::string text(const setting& s) {
  std::ostringstream out;
  out << name_of(s.type) << " to " << name_of(s.o_type) << ", heads " << s.heads_q << "/" << s.heads_kv << ", dims "
      << s.head_dim_qk << "/" << s.head_dim_v << ", page " << s.page_size << ", table "
      << static_cast<int>(s.page_table) << ", batching " << static_cast<int>(s.batching) << ", descale "
      << static_cast<int>(s.kv_descale) << ", causal " << s.causal << ", cap " << s.soft_cap << ", v_scale "
      << s.v_scale << ", sequences";
  for (const sequence& q : s.sequences) out << " " << q.queries << "x" << q.keys;
  return out.str();
}

trial::trial(const setting& s) : setting_(s) {
  std::mt19937_64 random(s.seed);
  std::normal_distribution<float> normal;
  problem& p = scalars;
  p.q_type = p.k_type = p.v_type = s.type;
  p.o_type = s.o_type;
  p.page_table = s.page_table, p.batching = s.batching, p.kv_descale = s.kv_descale;
  p.heads_q = s.heads_q, p.heads_kv = s.heads_kv;
  p.head_dim_qk = s.head_dim_qk, p.head_dim_v = s.head_dim_v;
  p.page_size = s.page_size;
  p.causal = s.causal ? 1 : 0;
  p.num_splits = 1;
  p.num_seqs = static_cast<std::int32_t>(s.sequences.size());
  p.scale = 1.0F / std::sqrt(static_cast<float>(s.head_dim_qk));
  p.q_scale = 0.75F, p.k_scale = 1.25F, p.v_scale = s.v_scale;
  p.soft_cap = s.soft_cap;

  // Pages in shuffled order, every third one unused.
  std::int32_t needed = 0;
  cu_seqlens_q_.push_back(0);
  for (const sequence& q : s.sequences) {
    first_query_.push_back(p.total_q);
    p.total_q += q.queries;
    p.max_q = std::max(p.max_q, q.queries), p.max_k = std::max(p.max_k, q.keys);
    cu_seqlens_q_.push_back(p.total_q);
    seqlens_k_.push_back(q.keys);
    needed += (q.keys + s.page_size - 1) / s.page_size;
  }
  p.num_pages = needed + needed / 2 + 1;
  std::vector<std::int32_t> ids(at(p.num_pages));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  std::shuffle(ids.begin(), ids.end(), random);
  for (const sequence& q : s.sequences) {
    std::vector<std::int32_t> own;
    for (std::int32_t key = 0; key < q.keys; key += s.page_size) own.push_back(ids.back()), ids.pop_back();
    pages_.push_back(own);
  }
  std::vector<std::int32_t> entries, indptr = {0};
  const std::int32_t width = (p.max_k + s.page_size - 1) / s.page_size;
  for (const auto& own : pages_) {
    entries.insert(entries.end(), own.begin(), own.end());
    indptr.push_back(static_cast<std::int32_t>(entries.size()));
    if (s.page_table == page_table_kind::block_table) entries.resize((indptr.size() - 1) * at(width), garbage_page);
  }
  table_ = guarded<std::int32_t>(entries);
  indptr_ = guarded<std::int32_t>(indptr);

  q_ = {s.type, std::int64_t{p.total_q} * s.heads_q * s.head_dim_qk};
  for (std::int64_t i = 0; i < q_.size(); ++i) q_.set(i, encode(s.type, normal(random)));
  k_ = {s.type, k_at(p.num_pages, 0, 0)};
  v_ = {s.type, v_at(p.num_pages, 0, 0)};
  k_descale_.assign(at(p.num_pages * s.heads_kv), NAN);
  v_descale_ = k_descale_;
  for (std::size_t i = 0; i < pages_.size(); ++i)
    for (std::int32_t key = 0; key < s.sequences[i].keys; ++key)
      for (std::int32_t head = 0; head < s.heads_kv; ++head) {
        const std::int32_t page = page_of(i, key), slot = key % s.page_size;
        for (int d = 0; d < s.head_dim_qk; ++d) k_.set(k_at(page, slot, head) + d, encode(s.type, normal(random)));
        for (int d = 0; d < s.head_dim_v; ++d) v_.set(v_at(page, slot, head) + d, encode(s.type, normal(random)));
        if (slot != 0) continue;
        // Neighbouring pages differ by up to 4 in K and 1000 in V.
        k_descale_[at(page * s.heads_kv + head)] = std::exp2(static_cast<float>(random() % 256U) / 128.0F);
        v_descale_[at(page * s.heads_kv + head)] = std::exp2(static_cast<float>(random() % 256U) / 25.6F - 5.0F);
      }
  o.assign(at(p.total_q) * at(s.heads_q) * at(s.head_dim_v), 0xFFFF);
  lse.assign(at(p.total_q) * at(s.heads_q), NAN);
}

std::int64_t trial::k_at(std::int64_t page, std::int64_t slot, std::int64_t head) const {
  return ((page * setting_.page_size + slot) * setting_.heads_kv + head) * setting_.head_dim_qk;
}
std::int64_t trial::v_at(std::int64_t page, std::int64_t slot, std::int64_t head) const {
  return ((page * setting_.page_size + slot) * setting_.heads_kv + head) * setting_.head_dim_v;
}
std::int32_t trial::page_of(std::size_t s, std::int32_t key) const {
  return pages_[s][at(key / setting_.page_size)];
}

assay_status trial::run(const assay_launch& launch) {
  const setting& s = setting_;
  const std::int64_t sequences = scalars.num_seqs, rows = scalars.total_q, pages = scalars.num_pages;
  std::vector<given_tensor> given;
  given.reserve(16);
  given.emplace_back("q", q_.data(), s.type, std::vector<std::int64_t>{rows, s.heads_q, s.head_dim_qk});
  given.emplace_back("k", k_.data(), s.type, std::vector<std::int64_t>{pages, s.page_size, s.heads_kv, s.head_dim_qk});
  given.emplace_back("v", v_.data(), s.type, std::vector<std::int64_t>{pages, s.page_size, s.heads_kv, s.head_dim_v});
  given.emplace_back("seqlens_k", seqlens_k_.data(), dtype::i32, std::vector<std::int64_t>{sequences});
  if (s.batching == q_batching::group)
    given.emplace_back("cu_seqlens_q", cu_seqlens_q_.data(), dtype::i32, std::vector<std::int64_t>{sequences + 1});
  if (!s.prefix_offset.empty())
    given.emplace_back("prefix_offset", s.prefix_offset.data(), dtype::i32, std::vector<std::int64_t>{sequences});
  const auto entries = static_cast<std::int64_t>(table_.size());
  if (s.page_table == page_table_kind::block_table) {
    given.emplace_back("block_table", table_.data(), dtype::i32,
                       std::vector<std::int64_t>{sequences, entries / std::max<std::int64_t>(1, sequences)});
  } else {
    given.emplace_back("page_indptr", indptr_.data(), dtype::i32, std::vector<std::int64_t>{sequences + 1});
    given.emplace_back("page_indices", table_.data(), dtype::i32, std::vector<std::int64_t>{entries});
  }
  if (s.kv_descale == descale_kind::per_page) {
    given.emplace_back("k_descale", k_descale_.data(), dtype::f32, std::vector<std::int64_t>{pages, s.heads_kv});
    given.emplace_back("v_descale", v_descale_.data(), dtype::f32, std::vector<std::int64_t>{pages, s.heads_kv});
  }
  given.emplace_back("o", o.data(), s.o_type, std::vector<std::int64_t>{rows, s.heads_q, s.head_dim_v});
  given.emplace_back("lse", lse.data(), dtype::f32, std::vector<std::int64_t>{rows, s.heads_q});
  for (std::size_t i = given.size() - 2; i < given.size(); ++i) given[i].tensor.role = ASSAY_OUTPUT;
  std::vector<assay_tensor> tensors;
  tensors.reserve(given.size());
  for (const given_tensor& t : given) tensors.push_back(t.tensor);
  for (const assay_kernel& kernel : std::span(assay_library_v1()->kernels, at(assay_library_v1()->num_kernels)))
    if (std::strcmp(kernel.name, "batch_prefill") == 0)
      return kernel.run(&scalars, tensors.data(), static_cast<std::int32_t>(tensors.size()), &launch);
  return {ASSAY_FAILED, "no kernel batch_prefill"};
}

std::vector<trial::comparison> trial::compare() const {
  std::vector<comparison> all;
  for (std::size_t s = 0; s < setting_.sequences.size(); ++s)
    for (std::int64_t i = 0; i < setting_.sequences[s].queries; ++i)
      for (std::int32_t head = 0; head < setting_.heads_q; ++head) compare_row(s, i, head, all);
  return all;
}

void trial::compare_row(std::size_t s, std::int64_t i, std::int32_t head, std::vector<comparison>& all) const {
  const setting& t = setting_;
  const std::int32_t keys = t.sequences[s].keys, kv_head = head / (t.heads_q / t.heads_kv);
  const std::int64_t row = first_query_[s] + i;
  const std::int64_t position =
      t.prefix_offset.empty() ? std::int64_t{keys} - t.sequences[s].queries + i : t.prefix_offset[s] + i;
  const bool per_page = t.kv_descale == descale_kind::per_page;
  const double scale =
      static_cast<double>(scalars.scale) * static_cast<double>(scalars.q_scale) * static_cast<double>(scalars.k_scale);
  const double cap = static_cast<double>(t.soft_cap);

  std::vector<double> x;
  double largest = -HUGE_VAL;
  for (std::int32_t key = 0; key < keys && (!t.causal || key <= position); ++key) {
    const std::int32_t page = page_of(s, key);
    double dot = 0;
    for (int d = 0; d < t.head_dim_qk; ++d)
      dot += decode(t.type, q_.get((row * t.heads_q + head) * t.head_dim_qk + d)) *
             decode(t.type, k_.get(k_at(page, key % t.page_size, kv_head) + d));
    double logit = dot * scale;
    if (per_page) logit *= static_cast<double>(k_descale_[at(page * t.heads_kv + kv_head)]);
    if (cap > 0) logit = cap * std::tanh(logit / cap);
    x.push_back(logit);
    largest = std::max(largest, logit);
  }
  double z = 0;
  for (const double logit : x) z += std::exp(logit - largest);
  // f32 logits of magnitude |x| are off by a few 2^-24 |x|; 2^-18 is loose.
  const double exact_lse = x.empty() ? -HUGE_VAL : largest + std::log(z);
  all.push_back({static_cast<double>(lse[at(row * t.heads_q + head)]), exact_lse,
                 x.empty() ? 0.0 : 0x1p-18 * (1 + std::fabs(largest) + std::fabs(exact_lse))});

  // P is off by half an ulp of bf16 or f16, below 2^-8 relative, or half of f16's smallest subnormal.
  for (int d = 0; d < t.head_dim_v; ++d) {
    double exact = 0, bound = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const std::int32_t key = static_cast<std::int32_t>(j), page = page_of(s, key);
      double value =
          decode(t.type, v_.get(v_at(page, key % t.page_size, kv_head) + d)) * static_cast<double>(t.v_scale);
      if (per_page) value *= static_cast<double>(v_descale_[at(page * t.heads_kv + kv_head)]);
      const double p = std::exp(x[j] - largest);
      exact += p / z * value;
      bound += (p * 0x1p-8 + 0x1p-25) / z * std::fabs(value);
    }
    const std::uint16_t bits = o[at((row * t.heads_q + head) * t.head_dim_v + d)];
    const float actual = t.o_type == dtype::f16 ? to_float(device::f16{bits}) : to_float(device::bf16{bits});
    all.push_back({static_cast<double>(actual), exact, 1.01 * bound + 0x1p-8 * std::fabs(exact) + 0x1p-24});
  }
}

}  // namespace assay::prefill
