/// Structured residuals of the LSE: groups of keys that count too much or too little in a row's sum, without a
/// contract.
///
/// A row has one LSE, so rows are pooled: those of all heads of a sequence for its pages, tiles and keys, those of the
/// case for what means the same in every sequence. Let r be the LSE less its exact value, natural. A group whose keys
/// count 1 + beta times leaves r = log(1 + beta w) = about beta w, with w the group's share of the row's softmax; w
/// differs from row to row. The rounding of a sound kernel does not know w.
///
/// Nuisances. These may be in r of a sound kernel, and so are taken out of r and w by least squares: a constant of each
/// sequence (a biased logarithm; sums of so many tiles), and what is linear in
///   the LSE, the largest logit    a rounded ln 2 or log2 e
///   the mean logit, and the slope of the LSE in the logarithm of `scale`    a rounded scale, also below a soft cap
///   the heaviest key's share    P cut but for 1, of which it is the logarithm; an epsilon in the sum
///   the number of visible keys    sums cut at each key
///
/// The statistic. The size of the noise is not known, differs between rows, and may be 0 in many. So only its symmetry
/// counts. Let u be w without the nuisances and T = sum a_i r_i / sqrt(sum a_i^2 r_i^2), for any a without the
/// nuisances. For independent r_i with signs by chance, whatever their sizes, P(|T| >= t) <= 2 exp(-t^2 / 2)
/// (Hoeffding's inequality, of the signs). a is the one with which T is largest for noise of variance u_i^2 + c^2, c
/// being half the mean of |u|: the residual of u in a fit to the nuisances with weights 1 / (u_i^2 + c^2), times these.
/// It balances the rows, so that T comes near sqrt(n) where the group alone is in r. In the denominator r_i is what row
/// i deviates from the fit of all others, r'_i / (1 - h_i): it is larger by about what the fit took.
///
/// The tolerance. |sum a_i r_i| is lowered by
///   2^-11 of the group, and for each matrix atom of a logit 2^-alignment_bits: as in residual.hpp
///   2^-20 (1 + |LSE| + |largest logit|) of each row: exponential, logarithm and rounding to f32 err by as much, and
///   not
///     always at random
/// and these deviations, which rows share, are added to the noise where a group would be a finding:
///   2^-10 RMS of each element of K: K times its descale, rounded to bf16
///   2^-12 RMS of each page's descale, rounded to f16
///
/// The threshold. With G groups tested in the case, t = 1.05 sqrt(2 ln(2 G / 1e-9)): 1e-9 a case, and 5% more for
/// what the fit may have taken. G = 1,000 makes 7.9, 10,000 makes 8.2. In addition t >= sqrt(n / 50): of thousands of
/// rows, a group must explain 2% of the noise, so that a slight dependence of it on w is no finding. T is at most
/// sqrt(n), so that it takes 64 rows times heads to test anything; there is no such test of fewer, and none is claimed.
///
/// Which rows suit: those of residual.hpp, so that no row's logits are like another's. Of a sequence at least four; and
/// none of a sequence where the LSEs deviate by less than four steps of the type that they were rounded to, as their
/// trailing zeros show it: all rows of such a sequence round alike.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "oracle/residual_groups.hpp"
#include "oracle/residual_row.hpp"

namespace assay::oracle {

/// A row and head, and how its softmax is shared.
struct lse_row {
  std::int64_t sequence = 0, index = 0, head = 0;
  key_range keys;
  double residual = 0;  ///< LSE less exact
  double stored = 0;    ///< as it is in the output
  double exact = 0;
  std::array<double, 6> nuisances{};  ///< beside the constant
  double floor = 0;                   ///< tolerated of the residual
  std::vector<double> mass;           ///< shares of the first n visible keys, for n from 0 to all
  double before = 0, behind = 0;      ///< as in residual_row
  std::int64_t split_keys = 0;
  double between(std::int64_t begin, std::int64_t end) const;
};

/// What the rows of a pool say of one group.
struct lse_evidence {
  double score = 0;       ///< sum of a_i r_i
  double size = 0;        ///< sum of a_i w_i
  double tolerated = 0;   ///< by which |score| may be off without any noise
  double variance = 0;    ///< sum of a_i^2 r_i^2
  double explained = 0;   ///< the part of r's squares that lies along u
  std::int64_t rows = 0;  ///< that have keys of the group
  double sigmas(double shared_variance = 0) const;
  double excess() const { return size > 0 ? score / size : 0; }
};

/// The rows of a pool, and the fit of their nuisances. `rows` must outlive it.
class lse_pool {
 public:
  explicit lse_pool(std::span<const lse_row> rows);
  bool is_large_enough() const;
  const std::vector<const lse_row*>& rows() const { return rows_; }
  /// a_i; empty where the group has the same share in all rows.
  std::vector<double> weights_for(const std::vector<double>& shares) const;
  lse_evidence evidence(const std::vector<double>& shares, double tolerance) const;

 private:
  void take_out(std::vector<double>& x) const;
  void centre(std::vector<double>& x, const std::vector<double>& weights) const;
  void orthonormalise();

  std::vector<const lse_row*> rows_;
  std::vector<std::size_t> sequences_;          ///< where each begins; then the end
  std::vector<std::vector<double>> nuisances_;  ///< orthonormal
  std::vector<double> left_, left_out_;         ///< r', r'_i / (1 - h_i)
};

/// The group's share of a row's softmax; of hidden keys, what they would add to it.
double share_of(const group_level& level, std::int64_t index, const lse_row& row);

/// The threshold for so many groups and rows.
double lse_threshold(std::int64_t groups, std::int64_t rows);

/// What of a contract the test heeds.
struct lse_terms {
  lse_base base = lse_base::natural;
  accumulation qk;  ///< bounds the atoms' truncation
};

/// Collects rows, and tests them.
class lse_test {
 public:
  /// `lse` may be null: then nothing is tested. All must outlive this.
  lse_test(const problem& planned, const problem_view& view, const tensor* lse, const lse_terms& terms);
  /// Sequence by sequence.
  void add(const residual_row& row);
  /// Behind the last row.
  void finish(residual_result& result);

 private:
  struct candidate {
    residual_finding group;
    lse_evidence seen;
    std::int64_t rows = 0;        ///< of the pool
    std::vector<double> weights;  ///< until it is confirmed
  };
  void close_sequence();
  void test(const lse_pool& pool, const std::vector<group_level>& levels, std::int64_t keys, std::int64_t sequence);
  void propose(const lse_pool& pool, const group_level& level, std::int64_t index, residual_finding group);
  /// From what rows share, with the weights a_i.
  double shared_variance(const lse_pool& pool, const std::vector<double>& weights) const;
  /// The same of the rows of one sequence, of those heads that share a kv head.
  double shared_variance_of(std::span<const lse_row* const> rows, std::span<const double> weights,
                            std::int64_t head_kv) const;

  const problem& planned_;
  const problem_view& view_;
  const tensor* lse_;
  lse_terms terms_;
  std::vector<lse_row> rows_;  ///< of the case; those of the present sequence are the last
  std::size_t first_of_sequence_ = 0;
  std::int64_t numbers_ = 0, groups_ = 0, tested_rows_ = 0;
  double largest_ = 0;
  std::vector<candidate> candidates_;
};

}  // namespace assay::oracle
