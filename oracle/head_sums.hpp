/// The sum over heads of mqa_logits in the order that a contract states (contract.hpp, head_rows), for many keys at
/// once: as pairs of f32 numbers between which each sum lies.
///
/// Roundings to nearest are monotone: of f32 numbers in [lo, hi], the ends give the ends of what one operation makes of
/// them. So a sum of terms known exactly is a single number, the one that the kernel computes. Sums and products of f32
/// numbers are rounded by the machine's f32 operations; a fused multiply-add s = w r + acc in binary64, where w r is
/// exact and the error of s is known by Knuth's two-sum: where it is not 0, both s and its neighbour on that side are
/// rounded, so that no double rounding goes wrong.
/// Overflow and NaN persist to the end: if an end is not finite, the sum has no bound.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/contract.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {

class head_sums {
 public:
  static constexpr std::int64_t keys = 64;  ///< at once

  /// Whether head_rows and head_tree define the order in which rows are joined.
  static bool has_order(const contract& declared);

  /// Throws std::invalid_argument where they do not.
  explicit head_sums(const contract& declared);

  /// For new keys: all sums are 0.
  void clear();
  /// Heads come in ascending order. Their dot products are f32 numbers within `radius` of `mid`, at all `keys`.
  void add(std::int64_t head, double weight, const double* mid, const double* radius);
  /// Joins the rows; then `total` is of all heads.
  void join();
  interval total(std::int64_t key) const { return {low(0)[key], high(0)[key]}; }

 private:
  float* low(std::int64_t row) { return sums_.data() + 2 * row * keys; }
  float* high(std::int64_t row) { return low(row) + keys; }
  const float* low(std::int64_t row) const { return sums_.data() + 2 * row * keys; }
  const float* high(std::int64_t row) const { return low(row) + keys; }

  std::int64_t rows_;
  bool fuses_;
  std::vector<std::int64_t> strides_;  ///< in which rows are joined
  std::vector<float> sums_;            ///< [row][low, high][key]
};

}  // namespace assay::oracle
