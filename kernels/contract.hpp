/// A kernel's numeric contract: where it rounds, to which type, in which order. The kernel declares it and the oracle
/// evaluates it in interval arithmetic. An output outside that enclosure is a defect. Plain data.
///
/// The evaluation that a `contract` describes, for one query row and one split (all arithmetic f32 unless said):
///
///   T = ceil(seqlens_k / tile_keys), c = ceil(T / num_splits); split s takes tiles [s*c, min((s+1)*c, T)).
///   State: m = -inf, l = 0, O = 0; with a sink, split 0 starts from m = sink * log2(e), l = 1.
///   For each tile in ascending order that has a key visible to the row (others leave the state as it is):
///     a_j = dot(q, k_j) by matrix atoms along the head dimension, ascending, from 0 (model `qk`; exact for int8)
///     y_j = base-2 logit. Without soft cap and bias: a_j * c2, c2 = f32(scale*q_scale*k_scale*log2e).
///           Otherwise t = a_j * c1, x = soft_cap * tanh(t / soft_cap), x += bias, y = x * log2e; each f32
///           operation rounds once, each constant has at most `constant_roundings` roundings.
///     m' = max(m, max_j y_j)                                       exact
///     p_j = exp2(y_j - m'), so p_j <= 1; hidden keys have p_j = 0
///         A key is void where y_j is -inf: by its bias, its data, or because an operation overflows to it (a bias of
///         -3.4e38 times log2e). It takes no part in the maximum, and p_j = 0. While a row has seen void keys alone
///         (m' = -inf), O and l stay as they are: exp2(-inf - -inf) is not formed.
///     alpha = exp2(m - m'), exactly 1 when m did not move
///     l = l * alpha + sum_j p_j   in any order, of the p_j before their rounding to p_type; a term passes
///         through at most `sum_roundings` rounded additions, the rescale included
///     P_j = round_to_nearest_even(p_type, p_j)
///     O = O * alpha (one rounding, none when alpha == 1), then O += P V by matrix atoms along the tile's keys,
///         ascending from the tile's first key position (model `pv`); hidden keys contribute exact zeros
///   o_partial = l > 0 ? O * (v_scale / l) : 0, with at most `normalise_roundings` roundings;  v_scale = 1 costs none
///   lse_partial = l > 0 ? m * ln2 + log(l) : -inf
///   A NaN among the row's query, its visible keys or their bias makes l NaN, which counts as l > 0: O and LSE are NaN.
///   A NaN in V makes its column NaN where P_j > 0. Where P_j = 0 (void or hidden keys, underflow) 0 * NaN and 0 * inf
///   may be formed or left out; keys that only other rows of the sequence see count as hidden ones, since one matrix
///   atom takes several rows.
///   sink * log2e may overflow: m = -inf is as no sink, m = inf weighs all keys 0, and lse is then sink, inf or NaN.
///   Zeros: O starts from +0. Sums and products round to nearest as IEEE says, so that an O with no negative term is
///   not -0; the last rounding keeps the sign. A kernel may make +0 of -0 before that rounding.
///   With `states` S above 1 a split has S states, each evaluated as above: tile t of the sequence belongs to state t
///   mod S, and a sink to state 0. They are joined at the end: M = max m_s, f_s = exp2(m_s - M), exactly 1 where m_s =
///   M; l = sum f_s l_s and O = sum f_s O_s, in any order, m = M. A term of either sum passes through at most
///   `state_roundings` roundings; one state that weighs 1 beside states of zeros through none. Where m_s is -inf, f_s
///   is 0, and 0 * NaN and 0 * inf may be formed or left out. There are no per-page descales then. Before that, or at
///   the end of a split with one state, a term of l passes through up to `sum_join_roundings` additions (the parts of l
///   that lanes hold); an l of one term passes through none. Kernels that quantise P or have descales differ in this,
///   each by its own field of `contract`:
///   - per-page descales: c2 (or c1) of a tile is f32(c2 * kd), kd that of the tile's page: one more rounding, which
///     `constant_roundings` does not count. Tiles do not cross pages then (page_size is a multiple of tile_keys).
///   - `fuses_logits` (only without soft cap and bias; c2 > 0): y_j is not rounded where p_j needs it. The running
///     maximum takes f32(c2 * max_j a_j) for max_j y_j, and the argument below is one fused multiply-add. Where
///     |m'| >= `least_rounded_maximum` > 0 y_j is rounded all the same: else p_j might exceed 1 without bound.
///   - `p_shift`: base = f32(m' - p_shift), p_j = exp2(f32(y_j - base)), so p_j is at most 2^p_shift up to roundings,
///     which p_type holds; l sums these p_j; lse = base * ln2 + log(l). P_j saturates at p_type's largest value.
///   - per-page v descales, kept in the accumulator: O is held in units of the vd of the last tile. At each tile that
///     the row's block visits (see `tile_rows`) after the first of them O = O * f32(alpha * f32(vd_before / vd)), one
///     rounding where the factor is not 1, and the ratio of equal descales is exactly 1; `merge_roundings` bounds the
///     roundings of that factor beside alpha's. o_partial = O * (v_scale * vd_last / l), in any order of the factors.
///     There are no splits then; a block visits the tiles from the first to the last that one of its rows sees.
///   - with `p_shift` there is no sink.
///   With one split, o = o_partial and lse = lse_partial. Else combine:
///     M = max_s lse_s;  w_s = exp(lse_s - M);  W = sum w_s;  lse = M + log(W)
///     o = sum w_s o_s / W (f32, splits ascending); all splits empty: o = 0, lse = -inf
///   o is stored by round_to_nearest_even(o_type).
///
/// The order of the evaluation is declared by `order`:
/// - ascending: as above. descending: the tiles of a split in descending order; all else as above.
/// - any: keys in any order and grouping, in any number of states (per split, wave or lane) that are merged in any tree
///   of depth at most 4, by their LSEs at most at one level of it, each with a reference of its own. Partials of splits
///   are not bounded. int8 products are exact, and scaled as dot products. Arguments of exp or exp2 pass up to four
///   roundings. `fuses_logits` and `tile_rows` mean nothing. Other operations round as stated, and fields are bounds:
///   tile_keys           least keys between two moves of a state's reference, but at its ends; 1 is always true
///   qk, pv              a term passes ceil(head_dim_qk / products) joins, or one per `products` keys of a tile, in any
///                       tree. products = 1: one multiply-add, fused or not, per element
///   sum_roundings       per tile, but no more than one per key
///   constant_roundings  the scales and log2(e) may be applied to q, to k, to the dot product, or to parts of them
///   p_shift             P is at most 2^(p_shift + rescale_slack)
///   These bound what only such kernels do, and are neutral (f32, 0) for other orders:
///   rescale_slack       the reference may stand so far below the maximum (lazy rescaling, as in FlashAttention 4)
///   query_type          q times scales is rounded to it before QK; f32: not, or as f32
///   cache_type          k and v times their scales are rounded to it before they are multiplied; f32: not, or as f32.
///                       Both, and p_type, may be tf32; query_type FP8, too
///   product_type        products of P and V, and sums of a few, pass `product_roundings` roundings to it before they
///                       join f32 sums (packed arithmetic of f16 and bf16, as in vLLM's paged attention)
///   partial_type        the normalised O of a split or a wave is rounded to it, once, before it is merged
///   normalises_p        1: P may be divided by l before it is rounded to p_type
///   sum_epsilon         O is divided by l + e with 0 <= e <= sum_epsilon, l in units where the largest p is 1
/// `base_of_lse` and `lse_without_keys` hold for every order.
///
/// mqa_logits: a_h = dot(q_h, k_j) by matrix atoms along the head dimension, ascending, from 0 (model `qk`);
///   logit = k_row_scale_j * sum over h of weights_h * max(0, a_h), f32.
///   With head_rows = 0: factors and sums in any order; the term of a head passes through at most `sum_roundings`
///   roundings, both products included.
///   With head_rows = R > 0: head h is row r = h mod R of atom h / R. Each row has a sum, from 0, to which the atoms'
///   terms are added in ascending order: S_r = fma(weights_h, max(0, a_h), S_r), or with fuses_logits = 0
///   S_r = f32(S_r + f32(weights_h * max(0, a_h))). Then the rows are joined pairwise: for each stride b of
///   `head_tree`, rows whose numbers differ in b alone, S_r = f32(S_r + S_{r + b}). logit = f32(S_0 * k_row_scale_j).
///   With `order` any the dot products are joined in any order; head_rows may still state the order of heads.
///   The other fields have no meaning there.
///
/// append_kv (problem.hpp has the definitions; all arithmetic f32, where a result that underflows is off by 2^-149
/// more):
/// - each rotated element is off by at most `rotary_roundings` * 2^-24 * (|a c| + |b s|); of the pair's second element,
///   by the same with (|b c| + |a s|)
/// - D' = A / F has at most `scale_roundings` roundings; the maxima in A and D' are exact
/// - y = x / k_scale, or x / D', has at most `quantise_roundings` roundings; the code of y is the nearest one of its
///   type, ties to even, saturated
/// - the new value of an old code is its value times D / D', with at most `rescale_roundings` roundings; its code is
///   found like that of y
#pragma once

#include <cstdint>

#include "kernels/matrix_atom.hpp"
#include "kernels/tensor.hpp"

namespace assay {

/// In which order a kernel takes the tiles of a split; see the head of this file.
enum class tile_order : std::int32_t { ascending, descending, any };

/// What a split is a part of: the tiles of its own sequence, or those of the longest sequence of the problem (max_k),
/// so that splits of short sequences are empty.
enum class split_rule : std::int32_t { of_sequence, of_longest };

/// The logarithm of lse. lse_partial, where it is bounded, is natural.
enum class lse_base : std::int32_t { natural, two };

/// lse of a row without keys.
enum class empty_lse : std::int32_t { minus_infinity, plus_infinity };

/// Error model of one matrix atom: a group of `products` exact products (ascending in the reduction index) joined
/// with the accumulator c. With e_max the largest power of two not above the largest of |c| and the |products|, where
/// an operand that is subnormal in its type counts as its type's smallest normal number (matrix units align it so),
///   |result - exact| <= alignment_terms * 2^(e_max - alignment_bits) + result_roundoff * |exact|  (+ flush).
/// The constants of each platform, with their proofs or sources, stand in kernels/device/mma.
struct accumulation {
  std::int32_t products = 16;
  std::int32_t alignment_bits = 48;
  float alignment_terms = 1.0F;
  /// Relative. 2^-24: round to nearest, that is, the result is the f32 next to a number that the alignment error allows
  /// (ties either way). 2^-23: directed.
  float result_roundoff = 0x1p-24F;
  float flush = 0.0F;  ///< absolute: results (or inputs) below this magnitude may become 0
};

/// Declared by the library for a problem; see the head of this file for the meaning of each step.
struct contract {
  std::int32_t tile_keys = 64;
  accumulation qk;
  accumulation pv;
  dtype p_type = dtype::f16;      ///< type of P at the matrix unit; f32 = not rounded
  float p_flush = 0.0F;           ///< rounded P below this magnitude may also become 0 (matrix units that flush)
  std::int32_t p_shift = 0;       ///< 2^p_shift is at most p_type's largest finite value
  std::int32_t fuses_logits = 0;  ///< 1: see above; with mqa_logits see head_rows
  /// Query rows of a block, counted from the sequence's first row, of one head: rows [b * tile_rows, (b+1) * tile_rows)
  /// visit the same tiles. Used only with per-page v descales.
  std::int32_t tile_rows = 0;
  std::int32_t merge_roundings = 0;
  std::int32_t head_rows = 0;  ///< mqa_logits: 0, or a power of two up to 64; see above
  /// mqa_logits with head_rows: the powers of two below it, in the order in which they join rows; then zeros.
  std::int32_t head_tree[6] = {};
  std::int32_t constant_roundings = 4;
  std::int32_t sum_roundings = 8;
  std::int32_t normalise_roundings = 3;
  float exp2_relative_error = 0x1p-23F;  ///< of exp2 and exp, on f32 results that are not subnormal
  float exp2_flush = 0x1p-126F;          ///< exp2 results below this may become 0
  float log_absolute_error = 0x1p-24F;   ///< |log(x) - ln x| <= absolute + relative * |ln x|, for x in [1, 2^31]
  float log_relative_error = 0x1p-23F;
  float tanh_relative_error = 0x1p-22F;
  std::int32_t rotary_roundings = 3;  ///< these four: append_kv only; see above
  std::int32_t scale_roundings = 1;
  std::int32_t quantise_roundings = 2;
  std::int32_t rescale_roundings = 3;
  tile_order order = tile_order::ascending;
  split_rule splits = split_rule::of_sequence;
  lse_base base_of_lse = lse_base::natural;
  empty_lse lse_without_keys = empty_lse::minus_infinity;
  dtype query_type = dtype::f32;  ///< from here on: with order == any; see above
  dtype cache_type = dtype::f32;
  dtype product_type = dtype::f32;
  dtype partial_type = dtype::f32;
  std::int32_t product_roundings = 0;  ///< at most 64
  std::int32_t rescale_slack = 0;      ///< at most 16
  std::int32_t normalises_p = 0;       ///< 0 or 1
  float sum_epsilon = 0.0F;            ///< at most 2^-10
  /// What the matrix unit computes, exactly, where that is known and the order is declared: then `qk` and `pv` bound
  /// only what other readers of the contract ask.
  matrix_atom qk_atom;
  matrix_atom pv_atom;
  std::int32_t states = 1;              ///< of a split; see above. 0 is as 1. These three: with a declared order
  std::int32_t state_roundings = 0;     ///< of a term, where states are joined
  std::int32_t sum_join_roundings = 0;  ///< of a term of l, where its parts are joined
  float least_rounded_maximum = 0.0F;   ///< with fuses_logits: see above. 0: there is none, else at least 1
};

}  // namespace assay
