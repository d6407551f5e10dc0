/// Structured residuals: a test of attention's output that needs no contract.
///
/// Let r be output less exact value over the columns of one row and head, and c_g what a group g of keys contributes to
/// the exact value: the sum of a_j = softmax weight * v_scale * vd_j * v_j over its keys. The r of a sound kernel is
/// rounding noise, in whichever order it computes. A wrong scale, page, mask or rescale leaves r = sum of beta_g c_g.
/// So r is regressed on the c_g, and beta_g is compared with the noise that r itself shows.
///
/// The normalisation. A kernel whose sum l is wrong has o' = o * l / l': its r lies along o. A weight that is wrong by
/// 1 + beta in O and in l gives r along c_g - W_g o, with W_g the group's share of the sum. So r and all c_g are taken
/// without their parts along o: r', c'_g. What is left tests beta_g against the common factor of all keys, whether or
/// not the fault reaches l. The common factor is tested by itself, with a wide tolerance: see `all_keys`.
///
/// The noise. r' = sum over keys of eps_j a'_j + rho. eps_j is the relative error of weight j: P's rounding, the
/// logit's error. The same eps_j multiplies all columns, so the part of c'_g along its own keys has noise that the
/// columns alone do not show. rho is what columns do not share: the last rounding, accumulators, partial results. The
/// covariance of r' is thus a mixture, in unknown parts, of these shapes, each divided by its trace:
///   1. sum of a'_j a'_j^T      P rounded to a floating type: relative errors
///   2. sum of v'_j v'_j^T      P rounded to a fixed point, or subnormal: absolute errors
///   3. diag(ulp(o_c)^2)        the last rounding
///   4. I                       accumulators, partial results
/// With E = |r'|^2, the variance of s_g = <r', c'_g> is at most E * max over shapes of c'_g^T C c'_g / trace C. E is
/// taken without the tested direction, so that a fault is not its own noise. All rows and heads that share the group
/// are added: their logits differ, so their eps_j are independent. That is checked: rows with logits like those of the
/// row before are left out. The estimates E make t a Student's t. A row has 1 / dof = sum |a'_j|^4 / trace^2 + 1 / (d -
/// 2), where d columns have a large step of the last rounding. t is turned into the normal deviate of the same tail:
/// sigmas.
/// 8-bit V that a kernel multiplies by its descale and rounds to bf16 has errors that all rows share.
/// They have no more than 2^-10 RMS per element, and are added as a variance of their own. So is the rounding of a
/// group's own partial result to bf16.
///
/// The tolerance. |s_g| is lowered by 2^-11 |c'_g|^2: a group may be wrong by 0.05% (descales or constants rounded to
/// f16, approximate exponentials), and by the atoms' truncation: 2^-alignment_bits for each atom of the row.
///
/// The threshold is 10 sigmas. A case has at most 10^7 groups, and a normal deviate passes 10 with 1.5e-23. Rounding
/// errors are bounded, so that the sum of many has lighter tails than the normal. The threshold also holds 1e-9 a case
/// if the noise is underestimated by a third (10 / 1.33 = 7.5 sigmas: 6e-14; with the 10^4 groups of a usual case
/// 6e-10).
///
/// Which rows suit: at least 8 visible keys and 8 columns; no weight that FP8's P loses (below 2^-9 of the largest) has
/// a say, nor one that is small beside the sink's, to which P may be relative; V is finite, and not all along one
/// direction; few keys have nearly the same weight, since P's roundings of such keys are the same. Groups of a row
/// whose keys are all alike are left out for the same reason. Other rows are left out. They are never evidence of
/// anything.
///
/// LSE has one number a row. Where 64 rows times heads suit, it is tested too: residual_lse.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay::oracle {

/// Which keys a group has.
enum class group_kind : std::uint8_t {
  page,
  split,       ///< of the sequence's tiles of 64 keys, in equal parts
  tile,        ///< `unit` keys from a multiple of it
  key,         ///< one
  prefix,      ///< the visible keys before `end`: what a lost rescale multiplies
  share,       ///< keys with (key / unit) mod ways = index: what one wave of several takes
  first_key,   ///< of each row's visible keys
  last_key,    ///< ditto
  key_before,  ///< the hidden key next to the first visible one
  key_behind,  ///< the hidden key next to the last visible one
  all_keys,    ///< the common factor; its tolerance is wider by twice the RMS of eps_j: P may be truncated
  not_finite,  ///< no group: o is not finite where the exact value is, far from overflow
};

/// A group that contributes too much or too little.
struct residual_finding {
  group_kind kind = group_kind::key;
  std::int64_t sequence = -1;                  ///< -1: of all
  std::int64_t head_kv = -1;                   ///< -1: of all
  std::int64_t row = -1;                       ///< within the sequence; -1: of all
  std::int64_t head = -1;                      ///< with `row`
  std::int64_t begin = 0, end = 0;             ///< keys of the sequence; of page, split, tile, key and prefix
  std::int64_t page = -1;                      ///< of page
  std::int64_t unit = 1, ways = 1, index = 0;  ///< of share; with begin = end, index is that of a split
  bool is_of_lse = false;                      ///< else of o
  double excess = 0;  ///< beta_g: 0.017 is 1.7% too much, -1 is nothing at all; of hidden keys, their weight's share
  double sigmas = 0;  ///< > 0; infinite for not_finite
  std::int64_t rows = 0;  ///< rows times heads that show it
};

struct residual_result {
  std::int64_t rows = 0;      ///< rows times heads that suit
  std::int64_t unsuited = 0;  ///< rows times heads that do not
  std::int64_t groups = 0;    ///< tested, counted once for each scope
  double largest_sigmas = 0;  ///< of all groups, by the estimate that the search uses
  std::int64_t lse_rows = 0;  ///< rows times heads whose LSE was tested
  std::int64_t lse_groups = 0;
  double lse_largest = 0;                   ///< sigmas of all groups of the LSE
  std::optional<residual_finding> finding;  ///< the clearest one beyond the threshold; of o, where there is one
};

inline constexpr double residual_threshold = 10;

/// Tests o and, where there is one, lse of `outputs` against the exact attention of the inputs. Of the contract it
/// heeds how matrix atoms truncate and the base of the LSE. The problem is planned: num_splits is at least 1. Without a
/// row that suits, the result has no finding. With `sequence` only its rows are looked at.
residual_result test_residuals(const problem& planned, std::span<const named_tensor> inputs,
                               std::span<const named_tensor> outputs, const contract& declared,
                               std::int64_t sequence = -1);

}  // namespace assay::oracle
