/// One row and head of attention in plain binary64, in a form that faults can change.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/paging.hpp"

namespace assay::oracle {

/// A visible key. Faults change it, or its weight.
struct faulty_key {
  std::int64_t key = 0;  ///< within the sequence
  key_place place{};
  double dot = 0;  ///< scale * q_scale * k_scale * dot(q, k), before the page's descale
  double k_descale = 1;
  double v_descale = 1;
  double bias = 0;
  double weight_factor = 1;  ///< of its weight, in sum and output; 0: the key is lost
  double output_factor = 1;  ///< of its weight in the output alone
};

struct row_result {
  std::vector<double> o;
  double lse = 0;
};

class faulty_row {
 public:
  /// The i-th row of a sequence, all as it should be. Visible keys and the view must have passed its checks.
  faulty_row(const problem_view& view, std::int64_t seq, std::int64_t i, std::int64_t head);

  std::vector<faulty_key> keys;
  std::vector<std::vector<double>> values;  ///< of each key, without descale
  double sink;

  /// Appends a key of the sequence.
  void add(std::int64_t key);
  /// Reads K, V and the descales of keys[at] from another place.
  void move(std::size_t at, key_place to);
  double logit(const faulty_key& k) const;
  row_result evaluate() const;

  std::int64_t sequence() const { return seq_; }
  std::int64_t row_in_sequence() const { return i_; }
  std::int64_t head() const { return head_; }
  const problem_view& view() const { return *view_; }
  const std::vector<double>& query() const { return query_; }
  double factor() const;  ///< scale * q_scale * k_scale

 private:
  std::int64_t head_kv() const { return head_ / view_->heads_per_group(); }
  const problem_view* view_;
  std::int64_t seq_, i_, head_;
  std::vector<double> query_;
};

}  // namespace assay::oracle
