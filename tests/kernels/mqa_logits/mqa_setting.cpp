#include "tests/kernels/mqa_logits/mqa_setting.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>

#include "kernels/device/convert.hpp"

namespace assay::mqa {
namespace {

constexpr std::int32_t garbage_page = 0x7FFFFFFF;
constexpr std::uint32_t canary = 0xFFC0FFEE;  // a NaN that no arithmetic makes
constexpr std::size_t margin = 512;           // before the first row and after the last
constexpr std::uint32_t hidden = 0xFF800000;  // -inf

/// Values of all codes.
std::array<double, 256> values_of(dtype type) {
  std::array<double, 256> values{};
  for (std::size_t i = 0; i < 256; ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    values[i] =
        static_cast<double>(type == dtype::e4m3fn ? to_float(device::e4m3fn{code}) : to_float(device::e4m3fnuz{code}));
  }
  return values;
}
/// Any value of a magnitude below 2.
std::uint8_t draw_code(std::mt19937_64& random) {
  const std::uint64_t code = random() & 0xBFU;
  return static_cast<std::uint8_t>(code == 0x80 ? 0 : code);  // FNUZ's NaN
}
std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// A call's tensor over host memory.
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

}  // namespace

std::string text(const setting& s) {
  std::ostringstream out;
  out << name_of(s.type) << ", next_n " << s.next_n << ", heads " << s.heads << ", dim " << s.head_dim << ", page "
      << s.page_size << ", order " << static_cast<int>(s.order) << ", table " << static_cast<int>(s.page_table)
      << ", contexts " << (s.split_contexts == context_split::fixed ? "fixed" : "variable") << " in " << s.num_splits
      << ", fills " << s.fills_hidden << ", margin " << s.row_margin << ", max_model_len " << s.max_model_len
      << ", contexts";
  for (const std::int32_t context : s.contexts) out << " " << context;
  return out.str();
}

const assay_kernel& kernel() {
  for (const assay_kernel& k : std::span(assay_library_v1()->kernels, at(assay_library_v1()->num_kernels)))
    if (std::strcmp(k.name, "mqa_logits") == 0) return k;
  throw std::runtime_error("no kernel mqa_logits");
}

trial::trial(const setting& s)
    : setting_(s), row_stride_(std::int64_t{s.max_model_len} + s.row_margin), value_(values_of(s.type)) {
  std::mt19937_64 random(s.seed);
  std::normal_distribution<float> normal;
  problem& p = scalars;
  p.operation = operation_kind::mqa_logits;
  p.q_type = p.k_type = s.type;
  p.page_table = s.page_table, p.batching = q_batching::batch;
  p.heads_q = s.heads, p.head_dim_qk = s.head_dim;
  p.page_size = s.page_size;
  p.num_seqs = static_cast<std::int32_t>(s.contexts.size());
  p.max_q = s.next_n, p.total_q = p.num_seqs * s.next_n;
  for (const std::int32_t context : s.contexts) p.max_k = std::max(p.max_k, context);
  p.num_splits = s.num_splits;
  p.k_order = s.order, p.split_contexts = s.split_contexts;
  p.max_model_len = s.max_model_len;
  p.fills_hidden = s.fills_hidden ? 1 : 0;

  // Pages in shuffled order, every third one unused.
  std::int32_t needed = 0;
  for (const std::int32_t context : s.contexts) needed += (context + s.page_size - 1) / s.page_size;
  p.num_pages = needed + needed / 2 + 1;
  std::vector<std::int32_t> ids(at(p.num_pages));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  std::shuffle(ids.begin(), ids.end(), random);
  std::vector<std::int32_t> entries, indptr = {0};
  const std::int32_t width = (p.max_k + s.page_size - 1) / s.page_size;
  for (const std::int32_t context : s.contexts) {
    std::vector<std::int32_t> own;
    for (std::int32_t key = 0; key < context; key += s.page_size) own.push_back(ids.back()), ids.pop_back();
    entries.insert(entries.end(), own.begin(), own.end());
    indptr.push_back(static_cast<std::int32_t>(entries.size()));
    if (s.page_table == page_table_kind::block_table) entries.resize((indptr.size() - 1) * at(width), garbage_page);
    pages_.push_back(std::move(own));
  }
  table_ = guarded<std::int32_t>(entries);
  indptr_ = guarded<std::int32_t>(indptr);

  q_.resize(at(p.total_q) * at(s.heads) * at(s.head_dim));
  for (std::uint8_t& x : q_) x = draw_code(random);
  weights_.resize(at(p.total_q) * at(s.heads));
  for (float& w : weights_) w = normal(random);
  const std::size_t page_bytes = at(s.page_size) * at(s.head_dim);
  std::vector<std::uint8_t> k(at(p.num_pages) * page_bytes, s.type == dtype::e4m3fn ? 0x7F : 0x80);
  k_row_scale_.assign(at(p.num_pages * s.page_size), NAN);
  for (std::size_t i = 0; i < pages_.size(); ++i)
    for (std::int32_t key = 0; key < s.contexts[i]; ++key) {
      const std::int32_t page = pages_[i][at(key / s.page_size)], slot = key % s.page_size;
      for (std::int32_t d = 0; d < s.head_dim; ++d) k[key_at(page, slot, d)] = draw_code(random);
      // Neighbouring keys differ by up to 16; some scales are 0.
      k_row_scale_[at(page * s.page_size + slot)] =
          random() % 16U == 0 ? 0.0F : std::exp2(static_cast<float>(random() % 256U) / 64.0F);
    }
  k_ = guarded<std::uint8_t>(k);
  hide_unused_pages();
}

std::size_t trial::key_at(std::int32_t page, std::int32_t slot, std::int32_t dim) const {
  const std::int64_t base = std::int64_t{page} * setting_.page_size * setting_.head_dim;
  if (setting_.order == key_order::plain) return at(base + std::int64_t{slot} * setting_.head_dim + dim);
  const std::int64_t tile = std::int64_t{slot / 16} * (setting_.head_dim / 16) + dim / 16;
  return at(base + tile * 256 + slot % 16 * 16 + dim % 16);
}

/// Their K becomes inaccessible, where pool pages are whole pages of the host.
void trial::hide_unused_pages() {
  const std::size_t page_bytes = at(setting_.page_size) * at(setting_.head_dim);
  if (page_bytes % static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) != 0) return;
  std::vector<bool> is_used(at(scalars.num_pages));
  for (const auto& own : pages_)
    for (const std::int32_t page : own) is_used[at(page)] = true;
  for (std::size_t page = 0; page < is_used.size(); ++page)
    if (!is_used[page] && mprotect(k_.data() + page * page_bytes, page_bytes, PROT_NONE) != 0)
      throw std::runtime_error("mprotect");
}

assay_status trial::run(const assay_launch& launch, const char* but_without, std::int64_t row_stride) {
  const setting& s = setting_;
  const std::int64_t sequences = scalars.num_seqs, rows = scalars.total_q, pages = scalars.num_pages;
  logits.assign(2 * margin + at(rows) * at(row_stride_), canary);
  std::vector<given_tensor> given;
  given.reserve(16);
  given.emplace_back("q", q_.data(), s.type, std::vector<std::int64_t>{rows, s.heads, s.head_dim});
  given.emplace_back("weights", weights_.data(), dtype::f32, std::vector<std::int64_t>{rows, s.heads});
  given.emplace_back("k", k_.data(), s.type, std::vector<std::int64_t>{pages, s.page_size, 1, s.head_dim});
  given.emplace_back("k_row_scale", k_row_scale_.data(), dtype::f32, std::vector<std::int64_t>{pages, s.page_size});
  given.emplace_back("seqlens_k", s.contexts.data(), dtype::i32, std::vector<std::int64_t>{sequences});
  const auto entries = static_cast<std::int64_t>(table_.size());
  if (s.page_table == page_table_kind::block_table) {
    given.emplace_back("block_table", table_.data(), dtype::i32,
                       std::vector<std::int64_t>{sequences, entries / std::max<std::int64_t>(1, sequences)});
  } else {
    given.emplace_back("page_indptr", indptr_.data(), dtype::i32, std::vector<std::int64_t>{sequences + 1});
    given.emplace_back("page_indices", table_.data(), dtype::i32, std::vector<std::int64_t>{entries});
  }
  given.emplace_back("logits", logits.data() + margin, dtype::f32, std::vector<std::int64_t>{rows, s.max_model_len});
  given.back().tensor.role = ASSAY_OUTPUT;
  given.back().stride[0] = row_stride >= 0 ? row_stride : row_stride_;
  std::vector<assay_tensor> tensors;
  for (const given_tensor& t : given)
    if (but_without == nullptr || std::strcmp(t.tensor.name, but_without) != 0) tensors.push_back(t.tensor);
  return kernel().run(&scalars, tensors.data(), static_cast<std::int32_t>(tensors.size()), &launch);
}

std::string trial::first_fault() const {
  const auto tell = [](std::size_t s, std::int64_t row, std::int64_t column, const std::string& what) {
    return "sequence " + std::to_string(s) + ", row " + std::to_string(row) + ", column " + std::to_string(column) +
           ": " + what;
  };
  for (std::size_t s = 0; s < pages_.size(); ++s)
    for (std::int64_t i = 0; i < setting_.next_n; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(s) * setting_.next_n + i;
      const std::uint32_t* const bits = logits.data() + margin + row * row_stride_;
      for (std::int32_t column = 0; column < row_stride_; ++column) {
        if (column < setting_.contexts[s] - setting_.next_n + i + 1) {
          const comparison c = define(s, row, column);
          const auto actual = static_cast<double>(std::bit_cast<float>(bits[column]));
          if (!(std::fabs(actual - c.exact) <= c.bound))
            return tell(s, i, column, std::to_string(actual) + " instead of " + std::to_string(c.exact));
        } else {
          const bool is_filled = setting_.fills_hidden && column < setting_.max_model_len;
          if (bits[column] != (is_filled ? hidden : canary))
            return tell(s, i, column, is_filled ? "hidden, but not -inf" : "written");
        }
      }
    }
  for (std::size_t i = 0; i < margin; ++i) {
    if (logits[i] != canary) return "written before the first row";
    if (logits[logits.size() - 1 - i] != canary) return "written behind the last row";
  }
  return {};
}

/// The atoms round each head's dot product once for every 32 dims, and its term passes through at most 4 + 5 roundings
/// with 64 heads; 2^-24 relative each, of sums below the sum of magnitudes.
trial::comparison trial::define(std::size_t s, std::int64_t row, std::int32_t key) const {
  const setting& t = setting_;
  const std::int32_t page = pages_[s][at(key / t.page_size)], slot = key % t.page_size;
  const auto scale = static_cast<double>(k_row_scale_[at(page * t.page_size + slot)]);
  const int atoms = t.head_dim / 32;
  double exact = 0, bound = 0;
  for (std::int32_t h = 0; h < t.heads; ++h) {
    double dot = 0, magnitude = 0;
    for (std::int32_t d = 0; d < t.head_dim; ++d) {
      const double product =
          value_[q_[at((row * t.heads + h) * t.head_dim + d)]] * value_[k_.data()[key_at(page, slot, d)]];
      dot += product;
      magnitude += std::fabs(product);
    }
    const auto weight = static_cast<double>(weights_[at(row * t.heads + h)]);
    exact += weight * std::max(0.0, dot);
    bound += std::fabs(weight) * (magnitude * atoms + 9 * std::max(0.0, dot));
  }
  return {scale * exact, 1.001 * scale * bound * 0x1p-24};
}

}  // namespace assay::mqa
