// Rows of Q, K and V: nearly all elements of a case. What does not depend on the dim is computed once for a row, and a
// row's numbers are rounded together.
#include <algorithm>
#include <cmath>
#include <span>

#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/data/noise.hpp"
#include "properties/data/recipe.hpp"

namespace assay {
namespace {

constexpr std::int64_t tile_keys = 64;
constexpr double even_deviation = 0.7;  // of logits
constexpr double tail_query = 0.75;     // of q's amplitude: all types hold it

void fill_row(std::span<std::uint32_t> row, std::uint32_t bits) {
  std::ranges::fill(row, bits);
}

/// Calls set(bits of the element, its dim) for each of a row.
template <typename Set>
void for_each_dim(std::int64_t first_dim, std::span<std::uint32_t> bits, Set&& set) {
  for (std::size_t i = 0; i < bits.size(); ++i) set(bits[i], first_dim + static_cast<std::int64_t>(i));
}

/// Elements of which each is the type's nearest to value(dim).
template <typename Value>
void round_each(dtype type, std::int64_t first_dim, std::span<std::uint32_t> bits, Value&& value) {
  constexpr std::size_t most = 128;
  double values[most];
  for (std::size_t begin = 0; begin < bits.size(); begin += most) {
    const std::span part = bits.subspan(begin, std::min(most, bits.size() - begin));
    const std::int64_t dim = first_dim + static_cast<std::int64_t>(begin);
    for (std::size_t i = 0; i < part.size(); ++i) values[i] = value(dim + static_cast<std::int64_t>(i));
    round_to_bits(type, {values, part.size()}, part);
  }
}

/// See the fill `largest` in recipe.hpp. f32 keeps away from its ends, where errors of kernels in any order overflow.
/// Types with less range saturate.
double largest_magnitude(dtype type, bool is_v) {
  constexpr double ones = 255.0 / 128;
  if (type == dtype::f16) return 65504;
  if (type == dtype::bf16) return ones * (is_v ? 0x1p106 : 0x1p57);
  if (type == dtype::f32) return ones * (is_v ? 0x1p90 : 0x1p50);
  return 1e9;
}

/// Kernels may round a query of f32 to the type of K.
double largest_query(const attention_case& c) {
  const double largest = largest_magnitude(c.q_type, false);
  return c.q_type == dtype::f32 ? std::min(largest, largest_magnitude(c.kv_type, false)) : largest;
}

void largest_row(dtype type, double magnitude, const row_noise& drawn, std::int64_t first_dim,
                 std::span<std::uint32_t> bits) {
  const std::uint32_t positive = round_to_bits(type, magnitude);
  // round_to_bits saturates, for int8 at -127; -128 is a legal key, and the one whose negation is none.
  const std::uint32_t negative = type == dtype::i8 ? 0x80U : round_to_bits(type, -magnitude);
  for_each_dim(first_dim, bits,
               [&](std::uint32_t& b, std::int64_t dim) { b = (drawn(dim) & 1) != 0 ? positive : negative; });
}

std::uint32_t random_subnormal(dtype type, std::uint64_t noise) {
  if (type == dtype::i8) return round_to_bits(type, static_cast<double>(noise % 3) - 1);
  const number_format f = format_of(type);
  const auto bits = static_cast<std::uint32_t>(1 + (noise >> 1) % ((1U << f.mantissa_bits) - 1));
  return (noise & 1) != 0 ? bits | f.sign : bits;
}

void subnormal_row(dtype type, const row_noise& drawn, std::int64_t first_dim, std::span<std::uint32_t> bits) {
  for_each_dim(first_dim, bits, [&](std::uint32_t& b, std::int64_t dim) { b = random_subnormal(type, drawn(dim)); });
}

/// Strictly ascending for t in [0, 68), and small enough for logits of a few hundred at most.
double level(dtype type, std::int64_t t) {
  if (type == dtype::i8) return static_cast<double>(std::min<std::int64_t>(t + 20, 127));
  if (size_bytes(type) > 1) return 0.25 * static_cast<double>(std::min<std::int64_t>(t, 200) + 1);
  // t counts codes upwards from 2^0 (e4m3fn) or 2^-8 (e5m2), with 8 or 4 of them an octave, fnuz types from half of
  // that; 68 of them stay below the largest of e4m3, and below 2^10.
  const std::int64_t steps = std::min<std::int64_t>(t, 68), codes = std::int64_t{1} << format_of(type).mantissa_bits;
  const int first = (codes == 8 ? 0 : -8) - (is_fnuz(type) ? 1 : 0);
  const double octave = std::ldexp(1.0, static_cast<int>(steps / codes) + first);
  return octave * (1 + static_cast<double>(steps % codes) / static_cast<double>(codes));
}

}  // namespace

/// Whether a key is its sequence's one of `long_tail` that is not in the tail.
bool recipe::is_above_tail(const place& at) const {
  const std::int64_t keys = std::min<std::int64_t>(case_.sequences[static_cast<std::size_t>(at.sequence)].k, tile_keys);
  const std::uint64_t drawn = noise(tail_stream, {at.sequence, 0, 0, 0});
  return at.index == static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(std::max<std::int64_t>(keys, 1)));
}

double recipe::logit_factor() const {
  return static_cast<double>(case_.scale) * static_cast<double>(case_.q_scale) * static_cast<double>(case_.k_scale);
}

/// What the signs of the dims are multiplied by.
double recipe::tail_size(const place& at) const {
  constexpr double log2_e = 1.4426950408889634;
  constexpr std::int64_t of_the_head = -1, of_the_key = 0;
  const bool is_narrow = noise(tail_stream, {at.sequence, 0, at.head, of_the_head}) % 2 == 0;
  const double drawn = uniform_of(noise(tail_stream, {at.sequence, at.index, at.head, of_the_key}));
  const double octaves = is_narrow ? 25.1 + 0.9 * drawn : 25 + 15 * drawn;
  const double factor = logit_factor() * log2_e;
  const double per_unit = factor * tail_query * q_amplitude_ * static_cast<double>(case_.head_dim_qk);
  return per_unit == 0 ? 0 : -octaves / per_unit;
}

double recipe::even_size() const {
  const double factor = std::fabs(logit_factor()) * q_amplitude_ * std::sqrt(static_cast<double>(case_.head_dim_qk));
  return factor == 0 ? k_amplitude_ : even_deviation / factor;
}

double recipe::far_query(const place& at) const {
  constexpr std::int64_t of_the_row = -1;
  const std::uint64_t drawn = noise(far_stream, {at.sequence, at.index, at.head, of_the_row});
  const double size = tail_query * (drawn % 2 == 0 ? 1 : 0.5);
  return (drawn >> 1) % 8 == 0 ? -size : size;
}

void recipe::far_key(const place& at, std::span<std::uint32_t> bits) const {
  constexpr std::int64_t of_the_head = -2;
  const row_noise drawn = row(k_stream, at), signs = row(dim_stream, {});
  const auto rounded = [&](auto&& value) { round_each(case_.kv_type, at.dim, bits, value); };
  const double per_unit = logit_factor() * tail_query * q_amplitude_;
  if (per_unit == 0) return rounded([&](std::int64_t dim) { return k_amplitude_ * normal_of(drawn(dim)); });
  const auto dims = static_cast<double>(case_.head_dim_qk);
  const double level = std::exp2(4 + 7 * uniform_of(noise(far_stream, {at.sequence, 0, at.head, of_the_head})));
  const double spread = even_deviation / (std::fabs(per_unit) * std::sqrt(dims));
  const double size = -level / (per_unit * dims);
  rounded([&](std::int64_t dim) { return size * signed_by(signs(dim), 1) + spread * normal_of(drawn(dim)); });
}

void recipe::q(place at, int draw, std::span<std::uint32_t> bits) const {
  at.index += std::int64_t{draw} << 31;  // no sequence has so many rows
  const double a = q_amplitude_;
  const row_noise drawn = row(q_stream, at), signs = row(dim_stream, {});
  const auto rounded = [&](auto&& value) { round_each(case_.q_type, at.dim, bits, value); };
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded([&](std::int64_t dim) { return a * (2 * uniform_of(drawn(dim)) - 1); });
    case fill_kind::constant: return fill_row(bits, round_to_bits(case_.q_type, a / 2));
    case fill_kind::saturating:
    case fill_kind::ascending_maxima:
    case fill_kind::heavy_tail_tile:
      return rounded(
          [&](std::int64_t dim) { return a * signed_by(signs(dim), 1) * (0.5 + uniform_of(drawn(dim)) / 2); });
    case fill_kind::cancelling:
      return rounded([&](std::int64_t dim) {
        const bool is_last = dim >= case_.head_dim_qk - 2;
        return (is_last ? 1 : 3) * a * normal_of(drawn(is_last ? dim : dim / 2));
      });
    case fill_kind::long_tail:
      return rounded([&](std::int64_t dim) { return tail_query * a * signed_by(signs(dim), 1); });
    case fill_kind::largest: return largest_row(case_.q_type, largest_query(case_), drawn, at.dim, bits);
    case fill_kind::far_logits: {
      const double size = far_query(at) * a;
      return rounded([&](std::int64_t dim) { return size * signed_by(signs(dim), 1); });
    }
    default: return rounded([&](std::int64_t dim) { return a * normal_of(drawn(dim)); });
  }
}

void recipe::row_of_any_size(place at, int draw, std::span<std::uint32_t> bits) const {
  if (case_.data.fill != fill_kind::subnormal) return q(at, draw, bits);
  constexpr std::int64_t of_the_head = -1;
  at.index += std::int64_t{draw} << 31;
  const row_noise drawn = row(q_stream, at);
  const std::uint64_t size = drawn(of_the_head);
  if (size % 4 == 0) return fill_row(bits, 0U);
  if (size % 4 == 1 || (case_.q_type != dtype::bf16 && case_.q_type != dtype::f32))
    return subnormal_row(case_.q_type, drawn, at.dim, bits);
  const int exponent = -40 - static_cast<int>((size >> 8) % 40);
  round_each(case_.q_type, at.dim, bits, [&](std::int64_t dim) { return std::ldexp(normal_of(drawn(dim)), exponent); });
}

void recipe::k(const place& at, std::span<std::uint32_t> bits) const {
  const double a = k_amplitude_;
  const dtype type = case_.kv_type;
  const std::int64_t keys = case_.sequences[static_cast<std::size_t>(at.sequence)].k;
  const row_noise drawn = row(k_stream, at), signs = row(dim_stream, {});
  const auto rounded = [&](auto&& value) { round_each(type, at.dim, bits, value); };
  const auto normal = [&](double size) { rounded([&](std::int64_t dim) { return size * normal_of(drawn(dim)); }); };
  const auto along_signs = [&](double size) {
    rounded([&](std::int64_t dim) { return size * signed_by(signs(dim), 1); });
  };
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded([&](std::int64_t dim) { return a * (2 * uniform_of(drawn(dim)) - 1); });
    case fill_kind::constant: return fill_row(bits, round_to_bits(type, a / 4));
    case fill_kind::saturating:
      return at.index == dominant_key(case_, at.sequence) ? along_signs(2 * a) : normal(a / 4);
    case fill_kind::ascending_maxima: {
      const double large = level(type, at.index / tile_keys);
      return at.index % tile_keys == 0 ? along_signs(large) : normal(large / 8);
    }
    case fill_kind::heavy_tail_tile:
      return at.index / tile_keys == (keys - 1) / tile_keys ? along_signs(a) : normal(a / 8);
    case fill_kind::cancelling: {
      const row_noise of_pair = row(k_stream, {at.sequence, at.index / 2, at.head});
      return rounded([&](std::int64_t dim) {
        if (dim < case_.head_dim_qk - 2) return (dim % 2 == 0 ? 3 : -3) * a * normal_of(of_pair(dim / 2));
        return a * normal_of(of_pair(dim));
      });
    }
    case fill_kind::largest: return largest_row(type, largest_magnitude(type, false), drawn, at.dim, bits);
    case fill_kind::subnormal: return subnormal_row(type, drawn, at.dim, bits);
    case fill_kind::rounding_ties: return fill_row(bits, 0U);
    case fill_kind::long_tail:
      if (const double size = is_above_tail(at) ? 0 : tail_size(at); size != 0) return along_signs(size);
      return fill_row(bits, 0U);  // not -0
    case fill_kind::even_weights: return normal(even_size());
    case fill_kind::far_logits: return far_key(at, bits);
    default: return normal(a);
  }
}

void recipe::v(const place& at, std::span<std::uint32_t> bits) const {
  const double a = v_amplitude_;
  const dtype type = v_type(case_);
  const row_noise drawn = row(v_stream, at);
  const auto rounded = [&](auto&& value) { round_each(type, at.dim, bits, value); };
  const auto normal = [&](double size, const row_noise& noise) {
    rounded([&](std::int64_t dim) { return size * normal_of(noise(dim)); });
  };
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded([&](std::int64_t dim) { return a * (2 * uniform_of(drawn(dim)) - 1); });
    case fill_kind::constant: return fill_row(bits, round_to_bits(type, 1.5 * a));
    case fill_kind::page_tagged: return fill_row(bits, page_tag(type, at.sequence, at.index));
    case fill_kind::cancelling:
      return normal(at.index % 2 == 0 ? a : -a, row(v_stream, {at.sequence, at.index / 2, at.head}));
    case fill_kind::largest: return largest_row(type, largest_magnitude(type, true), drawn, at.dim, bits);
    case fill_kind::subnormal: return subnormal_row(type, drawn, at.dim, bits);
    case fill_kind::rounding_ties: {
      const std::uint32_t one = round_to_bits(type, 1), units = (1U << format_of(type).mantissa_bits) - 1;
      const row_noise column = row(v_stream, {0, 0, at.head});
      return for_each_dim(at.dim, bits, [&](std::uint32_t& b, std::int64_t dim) {
        b = static_cast<std::uint32_t>(one + column(dim) % units) + static_cast<std::uint32_t>(at.index % 2);
      });
    }
    case fill_kind::long_tail: return is_above_tail(at) ? fill_row(bits, 0U) : normal(a, drawn);
    case fill_kind::even_weights:
      return rounded([&](std::int64_t dim) {
        const std::uint64_t noise = drawn(dim);
        return signed_by(noise, a * (1 + uniform_of(noise) / 2));
      });
    default: return normal(a, drawn);
  }
}

}  // namespace assay
