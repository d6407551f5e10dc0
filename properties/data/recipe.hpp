/// The fills: the value of each live element. A value depends only on the seed and on the element's logical place, not
/// on other shapes, the order of the pool or the page size.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/data/noise.hpp"

namespace assay {

/// Data is keyed by content: a page that several sequences share is filled as its first user's.
struct place {
  std::int64_t sequence = 0;
  std::int64_t index = 0;  ///< query row within the sequence, or key within it
  std::int64_t head = 0;   ///< of q or of k/v
  std::int64_t dim = 0;
};

/// Standard deviation of `normal` data: 1 for floats, and for quantised types a size that uses their range well and
/// leaves 4 sigma representable: e4m3fn and e5m2 32, the fnuz types 16, i8 40.
double amplitude(dtype type);

/// The fills. A is the type's amplitude, N and U[a, b) are normal and uniform draws, s_d is a random sign per dim that
/// Q and K share, tiles are of 64 keys. A tensor that a fill does not name is as in `normal`. Bias and sinks do
/// not depend on the fill.
/// - normal: A * N, where N is a sum of 8 uniform 16-bit numbers with variance 1, so |N| < 4.9.
/// - uniform: A * U[-1, 1).
/// - constant: q is A/2, k is A/4, v is 1.5 A, and so is every output.
/// - page_tagged: v holds a code that names page and slot (page_tag below), the same in all heads and dims.
/// - saturating: q is s_d A U[0.5, 1); one key per sequence is 2 s_d A, the others A/4 * N: one weight is nearly 1.
/// - ascending_maxima: q as in saturating; the first key of tile t is s_d * level(t), strictly ascending for 68 tiles,
///   the tile's others are level(t)/8 * N: the running maximum moves in every tile.
/// - heavy_tail_tile: q as in saturating; keys of the last, possibly partial tile are s_d A, others A/8 * N.
/// - cancelling: q and k come in pairs of dims at 3 A, q equal and k opposite: only the last pair's dot product is
///   left. Keys 2i and 2i+1 are equal with opposite v, so that the weighted sum cancels.
/// - largest: random signs at the largest magnitude for which a contract in f32 stays finite. f16 65504 (a dot product
///   over 1024 dims is below 2^42), e4m3fn 448, e4m3fnuz 240, e5m2 57344, i8 127; bf16 q and k 255/128 * 2^57 (a dot
///   product over 256 dims is below 2^124, which leaves room for log2(e) and a scale up to 8), v 255/128 * 2^106 (2^20
///   keys: below 2^127); f32 q and k 255/128 * 2^50, q no larger than K's type holds, v 255/128 * 2^90.
/// - subnormal: k and v are random subnormals of their type (i8: -1, 0, 1).
/// - rounding_ties: k is 0, so all weights are equal; v of odd keys is one ulp above v of even keys, in [1, 2): with an
///   even number of visible keys and no bias or sink, o lies halfway between two values of v's type.
/// - long_tail: q is 0.75 s_d A. A key of the first tile of a sequence is 0, and its v. All others of the head have
///   softmax terms of 2^-t of its term: k is -s_d times what makes t of the logits' factor, where k's type holds that.
///   t is in [25.1, 26) in half of the heads, in [25, 40) in the others. So the terms that are tiny one by one weigh in
///   the LSE in the former, and they are all of O in both.
/// - even_weights: for the residual test, which finds groups of keys that weigh too much or too little. q is A N, k is
///   N times what gives logits a standard deviation of 0.7, where k's type holds that: no key dominates, and hardly one
///   weighs less than 2^-8 of another. v has random signs and magnitudes A (1 + U[0, 0.5)): nearly orthogonal keys of
///   nearly the same size, so that each page, tile and head has a pattern of its own.
/// - far_logits: no logit of a row is near 0, so that a maximum that starts at 0, or 0 for the logit of a hidden key,
///   shows. q is s_d A times 0.75 or 0.375, by row and head, negated in an eighth of them. k is -s_d times what makes
///   m, in [16, 2048), of the logits' factor with 0.75 A, plus N times what gives logits a standard deviation of 0.7,
///   where k's type holds that; m is drawn for each sequence and kv head. So logits are near -m or -m / 2, above all
///   weights that f16 and, for most m, f32 hold; those of negated rows near m or m / 2.
///
/// Bias, by its kind. The padding of a sequence is one of 1, 63, 64, 65, 128, half of its keys, all but one and,
/// rarely, all, as far as it has so many keys.
/// - normal: N.
/// - holes: a quarter of the keys of a row and head has -inf, the others N.
/// - left_padded: keys in the padding have -inf, in all rows and heads, the others N.
/// - lowest: the same with the type's lowest finite number, as masks of Hugging Face's models have it.
/// - steep: N, 100 or -10,000, a third of the keys each.
/// Sinks, by their kind; a quarter is -inf in each.
/// - normal: 2 N.
/// - large: random signs, 2^4 to 1.5 * 2^13, in halves of a power of two.
/// - huge: random signs at 2e38, whose base-2 logit is the largest that f32 nearly holds.
///
/// Of mqa_logits, weights are N and the scale of a key is (1 + U[0, 1)) / (2 A_q A_k), so that logits have a size near
/// that of dot products of normal data; but:
/// - constant: weights 0.5, scales 1 / (A_q A_k). Every visible logit of a row is the same.
/// - page_tagged: the scale is (1 + tag / 8192) / (A_q A_k), tag = (key + 1021 * sequence) mod 8192: no two keys near
///   each other have the same.
/// - uniform: weights U[-1, 1); the scale of a quarter of the keys is 0.
/// - cancelling: the weight of head 2i+1 is that of head 2i negated.
/// - saturating, ascending_maxima, heavy_tail_tile: weights |N|.
/// - largest: weights +-2^40, scales 2^40: with dot products below 2^28 all sums over 1024 heads stay below 2^118.
/// - subnormal: weights 2^-60 N, scales 2^-60 (1 + U): products of both with small dot products underflow.
///
/// Per-page descales do not depend on the fill. With r = descale_ratio (or its inverse, if that is above 1), the page
/// of ordinal n of a sequence has
///   r^-level(n) * (1 + U[0, 1) * min(r - 1, 1) / 4),   level(n) = (start +- n) mod 3,
/// where U is drawn for each of K and V, sequence, ordinal and head, and start and the sign for each of K and V,
/// sequence and head. So the descales of neighbouring pages, and of pages two apart, differ by about r or r^2, up as
/// well as down, within bounds; pages further apart, heads, and K and V differ by their U. The largest are near 1: of
/// normal data, a third of the pages has logits and values of the size that it has per tensor. r = 1: all are 1.
/// By descale_size:
/// - near_1: as above.
/// - least: the pages of level 0 have exactly 2^-64, the least that append_kv writes.
/// - tiny: V's pages of level 0, but not the last that a row sees, have 2^-149 to 2^-128, whose inverse is beyond f32.
///   All others of V have 2^-60 times the above, so that ratios of neighbours, and products with a v_scale near 2^60,
///   stay in f32's normal range.
/// - near_new_rows: append_kv's page to which new rows go, and not with slot 0, has what these rows' largest value
/// needs,
///   divided or multiplied by 1 + 2^-e, e from 3 to 10. K has the above where rows are rotated.
class recipe {
 public:
  explicit recipe(const attention_case& c);

  /// Elements of a row of dims, from `first.dim` on. Tensors of the same kind differ in `draw`.
  void q(place first, int draw, std::span<std::uint32_t> bits) const;
  /// Of a row for a cache: like q(), but `subnormal` fills heads with zeros, with subnormal numbers or, where the type
  /// has them, with numbers on both sides of those that a page's least descale, 2^-64, suffices for.
  void row_of_any_size(place first, int draw, std::span<std::uint32_t> bits) const;
  void k(const place& first, std::span<std::uint32_t> bits) const;
  void v(const place& first, std::span<std::uint32_t> bits) const;
  std::uint32_t bias(std::int64_t sequence, std::int64_t row, std::int64_t key, std::int64_t head) const;
  std::uint32_t sink(std::int64_t head) const;
  /// Bits (f32) of a row's weight of a head, and of a key's scale.
  std::uint32_t weight(const place& at) const;
  std::uint32_t key_scale(const place& at) const;
  /// Bits (f32) of the descale of K or V of page `at.index` of a sequence, counted in pages; `at.dim` is not used.
  std::uint32_t descale(bool is_k, const place& at) const;

 private:
  row_noise row(noise_stream tensor, const place& at) const;  ///< at.dim is not used
  std::uint64_t noise(noise_stream tensor, const place& at) const;
  double normal(noise_stream tensor, const place& at) const;
  std::int64_t padding(std::int64_t sequence) const;
  double tail_size(const place& at) const;
  double even_size() const;
  double far_query(const place& at) const;
  void far_key(const place& at, std::span<std::uint32_t> bits) const;
  double logit_factor() const;
  bool is_above_tail(const place& at) const;
  double usual_descale(noise_stream tensor, const place& at, std::int64_t level) const;
  double needed_descale(bool is_k, const place& at) const;

  const attention_case& case_;
  double q_amplitude_, k_amplitude_, v_amplitude_;
  std::unordered_set<std::int64_t> last_pages_;  ///< that rows see, and of sequences, be they shared
  std::vector<std::uint64_t> keys_;              ///< of the streams' noise
};

/// The pattern that page_tagged gives to a key of a sequence: tag = key + 1021 * sequence counts upwards through the
/// finite positive values from the type's 1 (FP8: from its smallest normal), then through the negative ones. Tags
/// repeat after 32768 (f16), 4096 (bf16), 238 (e4m3fn), 240 (e4m3fnuz), 240 (e5m2) and 248 (e5m2fnuz) of them.
std::uint32_t page_tag(dtype type, std::int64_t sequence, std::int64_t key);

/// `saturating`: the key of a sequence of k > 0 keys that dominates.
std::int64_t dominant_key(const attention_case& c, std::int64_t sequence);

}  // namespace assay
