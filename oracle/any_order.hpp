/// Rows of attention whose order of operations is not declared: what every order of them, each operation rounding as
/// the contract says, can make of the definition (contract.hpp: order == any).
///
/// The proof. Let M be the largest base-2 logit y of a row (or s, the sink's), w_j = 2^(y_j - M), L = sum w_j + 2^(s -
/// M), N = sum w_j v_j, O = N / L. So L >= 1. Every kernel holds weights relative to references of its own, which are
/// f32 numbers and cancel in O, and in LSE but for the roundings of its last sum.
///
/// A kernel's weight of key j is w_j (1 + r_j) + a_j, with |r_j| <= R_j = 2^delta_j (1 + x)^(moves_j + merges) - 1:
/// - delta_j: the error of its logit (the dot product's, by dot_in_any_order(), and those of to_logits(), which are
///   those of any order of scales); the roundings of arguments. The arguments on the way of a key, from its own to
///   those of all later rescales, add up to M - y_j, since references only grow, plus twice rescale_slack where they
///   lag behind; each is rounded at most four times (difference, constant, product with it, and one of the exp). Where
///   P is shifted, m - shift rounds once. States that are merged by their LSE (splits): it has the error of a log and
///   of its sum, once.
/// - moves_j: a key is rescaled when a reference moves: to logits above its own, so at most as often as there are such
///   keys, and at most once per tile. x is exp2's error and what O and l round in a rescale. `merges`: nested states
///   (lane, wave, block, split).
/// - a_j: exp2 flushes a p or a factor; P's own underflow or flush. All in units where the last reference's weight is
///   1, so below them relative to L; where P is normalised first, relative to 1.
/// Then l' = sum of weights through at most X_L roundings each, and O's terms through roundings of P, of the products,
/// of the joins (relative to the sum of magnitudes, which no running sum exceeds) and of partials: X_O in all. With
///   dN = sum w_j R_j |v_j| + X_O sum w_j (1 + R_j) |v_j| + sum a_j |v_j| + underflow,   dL alike with v = 1 and X_L,
/// |N'/L' - N/L| <= (dN + |O| dL) / (L - dL), and |ln L' - ln L| <= -ln(1 - dL / L).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/contract.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/logits.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {

/// A row and head to evaluate.
struct any_order_query {
  std::int64_t row = 0;  ///< among all rows
  std::int64_t head = 0;
  key_range visible;
  const double* query = nullptr;  ///< head_dim_qk values, padded with zeros to whole atoms of the contract
};

struct any_order_row {
  std::vector<interval> o;  ///< head_dim_v
  std::vector<element_rule> rules;
  interval lse;  ///< natural
  element_rule lse_rule = element_rule::enclosed;
  bool is_empty = false;  ///< no key, or void ones alone, and no sink
};

/// Rows and heads that share a sequence's kv head. Values that no finite bound can be given for are everything: where a
/// sum may leave f32's range, or a constant its normal range (`scale` is not usable).
std::vector<any_order_row> enclose_in_any_order(const problem_view& view, const contract& declared,
                                                const logit_scale& scale, std::int64_t seq, std::int64_t head_kv,
                                                std::span<const any_order_query> rows);

}  // namespace assay::oracle
