#include "properties/nightly/plain_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/decode.hpp"
#include "properties/case/operation.hpp"
#include "properties/data/edit.hpp"

namespace assay {
namespace {

class plain_program {
 public:
  explicit plain_program(const inputs& in)
      : in_(in),
        p_(in.stated),
        half_(size_bytes(p_.q_type) > 1 ? p_.q_type : p_.o_type),
        q_(view("q")),
        k_(view("k")),
        v_(view("v")),
        o_(static_cast<std::size_t>(std::int64_t{p_.total_q} * p_.heads_q * p_.head_dim_v)) {}

  std::vector<double> run() {
    for (std::int64_t s = 0; s < p_.num_seqs; ++s)
      for (std::int64_t head = 0; head < p_.heads_kv; ++head) sequence_head(s, head);
    return std::move(o_);
  }

 private:
  tensor view(const char* name) const { return find_buffer(in_.buffers, name)->view(); }
  bool has(const char* name) const { return find_buffer(in_.buffers, name) != nullptr; }
  double rounded(double x) const { return oracle::round_to_nearest(half_, x); }

  double page_descale(const char* name, std::int64_t page, std::int64_t head) const {
    if (p_.kv_descale == descale_kind::per_tensor) return 1;
    const tensor t = view(name);
    return oracle::load(t, t.offset(page, head));
  }

  /// K times the scale, and V, of all keys of a sequence.
  void load_keys(std::int64_t s, std::int64_t head) {
    const std::int64_t keys = keys_of(in_, s);
    scaled_k_.assign(static_cast<std::size_t>(keys * p_.head_dim_qk), 0);
    v_of_keys_.assign(static_cast<std::size_t>(keys * p_.head_dim_v), 0);
    for (std::int64_t key = 0; key < keys; ++key) {
      const std::int64_t page = page_entry(in_, s, key / p_.page_size), slot = key % p_.page_size;
      const double k_descale = p_.k_scale * page_descale("k_descale", page, head);
      const double v_descale = p_.v_scale * page_descale("v_descale", page, head);
      for (std::int64_t d = 0; d < p_.head_dim_qk; ++d)
        scaled_k_[static_cast<std::size_t>(key * p_.head_dim_qk + d)] =
            rounded(p_.scale * rounded(k_descale * oracle::load(k_, k_.offset(page, slot, head, d))));
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
        v_of_keys_[static_cast<std::size_t>(key * p_.head_dim_v + d)] =
            rounded(v_descale * oracle::load(v_, v_.offset(page, slot, head, d)));
    }
  }

  void sequence_head(std::int64_t s, std::int64_t head_kv) {
    load_keys(s, head_kv);
    const std::int64_t group = p_.heads_q / p_.heads_kv, rows = rows_of(in_, s), keys = keys_of(in_, s);
    const std::int64_t first = has("prefix_offset") ? i32_at(in_, "prefix_offset", s) : keys - rows;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t head = head_kv * group; head < (head_kv + 1) * group; ++head)
        row(first_row_of(in_, s) + i, head, visibility_of(p_).seen(first + i, keys));
  }

  double logit(std::int64_t row, std::int64_t head, std::int64_t key) const {
    double dot = 0;
    for (std::int64_t d = 0; d < p_.head_dim_qk; ++d)
      dot += q_of_row_[static_cast<std::size_t>(d)] * scaled_k_[static_cast<std::size_t>(key * p_.head_dim_qk + d)];
    double x = rounded(dot);
    if (p_.soft_cap > 0) x = rounded(p_.soft_cap * rounded(std::tanh(rounded(x / p_.soft_cap))));
    if (p_.bias_type == dtype::none) return x;
    const tensor bias = view("bias");
    return rounded(x + oracle::load(bias, bias.offset(head, row, key)));
  }

  void row(std::int64_t row, std::int64_t head, key_range seen) {
    q_of_row_.resize(static_cast<std::size_t>(p_.head_dim_qk));
    for (std::int64_t d = 0; d < p_.head_dim_qk; ++d)
      q_of_row_[static_cast<std::size_t>(d)] = rounded(p_.q_scale * oracle::load(q_, q_.offset(row, head, d)));
    std::vector<double> p;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t key = seen.first; key < seen.end; ++key) {
      p.push_back(logit(row, head, key));
      largest = std::max(largest, p.back());
    }
    for (double& x : p) sum += x = std::exp(x - largest);
    if (has("sinks") && !p.empty()) sum += std::exp(oracle::load(view("sinks"), head) - largest);
    std::vector<double> o(static_cast<std::size_t>(p_.head_dim_v));
    for (std::size_t nth = 0; nth < p.size(); ++nth) {
      double weight = rounded(p[nth] / sum);
      if (is_fp8(p_.q_type)) weight = oracle::round_to_nearest(p_.q_type, weight);
      const double* v = &v_of_keys_[(static_cast<std::size_t>(seen.first) + nth) * o.size()];
      for (std::size_t d = 0; d < o.size(); ++d) o[d] += weight * v[d];
    }
    const std::size_t at = static_cast<std::size_t>(row * p_.heads_q + head) * o.size();
    for (std::size_t d = 0; d < o.size(); ++d) o_[at + d] = rounded(o[d]);
  }

  const inputs& in_;
  const problem& p_;
  dtype half_;
  tensor q_, k_, v_;
  std::vector<double> o_;
  std::vector<double> scaled_k_, v_of_keys_;  ///< of the sequence and the head at hand
  std::vector<double> q_of_row_;
};

}  // namespace

std::vector<double> plain_attention(const inputs& in) {
  return plain_program(in).run();
}

}  // namespace assay
