/// The rows of the residual test: exact contributions and residual of each row and head that suits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "oracle/attention.hpp"
#include "oracle/residual.hpp"

namespace assay::oracle {

/// Values of one sequence and kv head, with v_scale and descales: row major, `columns` per key. NaN where the descale
/// is invalid.
struct value_block {
  std::int64_t head_kv = 0;
  key_range keys;
  std::int64_t columns = 0;
  std::vector<double> values;
  const double* of(std::int64_t key) const {
    return values.data() + static_cast<std::size_t>((key - keys.begin) * columns);
  }
};

/// Sums over keys, in units of the row's trace.
struct key_sums {
  double score = 0;         ///< of <r', a_j>
  double energy = 0;        ///< of |a'_j|^2
  double energy_sq = 0;     ///< of |a'_j|^4
  double value_energy = 0;  ///< of |a'_j|^2 |v'_j|^2 / sum |v'_j|^2
  double log = 0;           ///< of |a'_j|^2 times the logarithm of the weight
  double log_sq = 0;        ///< of |a'_j|^2 times its square
  double keys = 0;
  /// Whether P's roundings of the keys are unlike each other: it is one key, or logits differ enough.
  bool has_unlike_keys() const;
  key_sums& operator+=(const key_sums& other);
  key_sums operator-(const key_sums& other) const;
};

/// A row and head that suits. ' is: without the part along o.
struct residual_row {
  std::int64_t sequence = 0, index = 0, head = 0;
  key_range keys;
  std::int64_t columns = 0;
  std::vector<double> weights;    ///< of the visible keys
  double before = 0, behind = 0;  ///< weights of the hidden neighbours; 0: none, or not to be used
  double lse = 0, slope = 0;      ///< of exact_weights
  std::vector<double> exact;      ///< o
  std::vector<double> residual;   ///< r'
  double along = 0;               ///< <r, o> / trace
  double exact_size = 0;          ///< |o|^2 / trace
  double trace = 0;               ///< sum of |a'_j|^2
  double value_trace = 0;         ///< sum of |v'_j|^2
  double noise = 0;               ///< |r'|^2 / trace
  double inverse_dof = 0;
  std::vector<key_sums> sums;                                    ///< of the first n keys, for n from 0 to all
  key_sums between(std::int64_t begin, std::int64_t end) const;  ///< keys of the sequence, clipped to the visible ones
};

/// <a, b>. Four sums, so that the compiler may use vectors.
double dot(const double* a, const double* b, std::int64_t count);

/// Which rows: -1 is all.
struct row_scope {
  std::int64_t sequence = -1, head_kv = -1, row = -1, head = -1;
};

class residual_rows {
 public:
  using visitor = std::function<void(const residual_row&, const value_block&)>;

  /// All must outlive this. Throws std::invalid_argument without a tensor `o` of the problem's shape.
  residual_rows(const problem& planned, std::span<const named_tensor> inputs, std::span<const named_tensor> outputs);

  const problem_view& view() const { return view_; }
  /// Visits the rows that suit, sequence by sequence, kv head by kv head. Counts the others.
  std::int64_t visit(const row_scope& scope, const visitor& visit);
  /// The first element that is not finite in a row that suits but for it; `row` is -1 without one.
  const row_scope& not_finite() const { return not_finite_; }

 private:
  value_block load_values(std::int64_t seq, std::int64_t head_kv) const;
  bool load_weights(residual_row& row);
  bool evaluate(residual_row& row, const value_block& values);
  double share_of_alike(const residual_row& row, double trace) const;
  bool is_unlike_others(const residual_row& row);

  const problem& planned_;
  problem_view view_;
  weight_evaluation weights_;
  const tensor* o_ = nullptr;
  std::vector<std::vector<double>> patterns_;  ///< of the rows and heads that suit, so far, of this kv head
  std::vector<double> logs_;
  row_scope not_finite_;
};

}  // namespace assay::oracle
