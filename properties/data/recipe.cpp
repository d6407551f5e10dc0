#include "properties/data/recipe.hpp"

#include <algorithm>
#include <cmath>

#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/slots.hpp"

namespace assay {
namespace {

constexpr std::int64_t tile_keys = 64;
constexpr double even_deviation = 0.7;                 // of logits
constexpr double tail_query = 0.75;                    // of q's amplitude: all types hold it
constexpr std::int64_t tagged_sequence_stride = 1021;  // a prime: neighbouring sequences' tags differ

enum stream : std::uint64_t {
  q_stream = 1,
  k_stream,
  v_stream,
  bias_stream,
  sink_stream,
  dim_stream,
  star_stream,
  k_descale_stream,
  v_descale_stream,
  weight_stream,
  key_scale_stream,
  tail_stream,
  far_stream,
  stream_count
};

/// SplitMix64's finalizer (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

double uniform_of(std::uint64_t noise) {
  return static_cast<double>(noise >> 40) * 0x1p-24;
}  // [0, 1)

/// Irwin-Hall: 8 uniforms on [0, 65535] have variance 8 * (2^32 - 1) / 12, so sqrt(12 / 8) / 2^16 makes it one.
double normal_of(std::uint64_t noise) {
  std::int64_t sum = 0;
  const std::uint64_t more = mix(noise);
  for (int shift = 0; shift < 64; shift += 16)
    sum += static_cast<std::int64_t>((noise >> shift) & 0xFFFF) + static_cast<std::int64_t>((more >> shift) & 0xFFFF);
  return static_cast<double>(2 * sum - 8 * 65535) * (1.2247448713915890 / 131072);
}

double signed_by(std::uint64_t noise, double value) {
  return (noise & 1) != 0 ? value : -value;
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

std::uint32_t largest_bits(dtype type, double magnitude, std::uint64_t noise) {
  const double value = signed_by(noise, magnitude);
  // round_to_bits saturates, for int8 at -127; -128 is a legal key, and the one whose negation is none.
  return type == dtype::i8 && value < 0 ? 0x80U : round_to_bits(type, value);
}

std::uint32_t random_subnormal(dtype type, std::uint64_t noise) {
  if (type == dtype::i8) return round_to_bits(type, static_cast<double>(noise % 3) - 1);
  const number_format f = format_of(type);
  const auto bits = static_cast<std::uint32_t>(1 + (noise >> 1) % ((1U << f.mantissa_bits) - 1));
  return (noise & 1) != 0 ? bits | f.sign : bits;
}

/// |x| of a finite pattern of a float type.
double magnitude_of(dtype type, std::uint32_t bits) {
  const number_format f = format_of(type);
  const std::uint32_t magnitude = bits & (f.sign - 1), fraction = magnitude & ((1U << f.mantissa_bits) - 1);
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const double hidden = exponent == 0 ? 0 : std::ldexp(1.0, f.mantissa_bits);
  return std::ldexp(hidden + fraction, std::max(exponent, 1) - f.bias - f.mantissa_bits);
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

double amplitude(dtype type) {
  switch (type) {
    case dtype::e4m3fn:
    case dtype::e5m2: return 32;
    case dtype::e4m3fnuz:
    case dtype::e5m2fnuz: return 16;
    case dtype::i8: return 40;
    default: return 1;
  }
}

recipe::recipe(const attention_case& c)
    : case_(c),
      q_amplitude_(amplitude(c.q_type)),
      k_amplitude_(amplitude(c.kv_type)),
      v_amplitude_(amplitude(v_type(c))) {
  for (const sequence& s : c.sequences)
    if (!s.pages.empty()) last_pages_.insert(s.pages.back());
  for (std::uint64_t tensor = 0; tensor < stream_count; ++tensor) keys_.push_back(mix(c.data.seed ^ (tensor << 56)));
}

std::uint64_t recipe::noise(std::uint64_t tensor, const place& at) const {
  const auto part = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t key = keys_[tensor] ^ (part(at.sequence) << 32) ^ part(at.index);
  return mix(mix(key) ^ (part(at.head) << 32) ^ part(at.dim));
}

double recipe::normal(std::uint64_t tensor, const place& at) const {
  return normal_of(noise(tensor, at));
}

double recipe::sign_of_dim(std::int64_t dim) const {
  return signed_by(noise(dim_stream, {0, 0, 0, dim}), 1);
}

double recipe::pointed_key(const place& at, double large, double small, bool is_pointed) const {
  return is_pointed ? large * sign_of_dim(at.dim) : small * normal(k_stream, at);
}

bool recipe::is_above_tail(const place& at) const {
  const std::int64_t keys = std::min<std::int64_t>(case_.sequences[static_cast<std::size_t>(at.sequence)].k, tile_keys);
  const std::uint64_t drawn = noise(tail_stream, {at.sequence, 0, 0, 0});
  return at.index == static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(std::max<std::int64_t>(keys, 1)));
}

double recipe::logit_factor() const {
  return static_cast<double>(case_.scale) * static_cast<double>(case_.q_scale) * static_cast<double>(case_.k_scale);
}

double recipe::tail_key(const place& at) const {
  constexpr double log2_e = 1.4426950408889634;
  constexpr std::int64_t of_the_head = -1, of_the_key = 0;
  const bool is_narrow = noise(tail_stream, {at.sequence, 0, at.head, of_the_head}) % 2 == 0;
  const double drawn = uniform_of(noise(tail_stream, {at.sequence, at.index, at.head, of_the_key}));
  const double octaves = is_narrow ? 25.1 + 0.9 * drawn : 25 + 15 * drawn;
  const double factor = logit_factor() * log2_e;
  const double per_unit = factor * tail_query * q_amplitude_ * static_cast<double>(case_.head_dim_qk);
  return per_unit == 0 ? 0 : -octaves / per_unit * sign_of_dim(at.dim);
}

double recipe::even_key(const place& at) const {
  const double factor = std::fabs(logit_factor()) * q_amplitude_ * std::sqrt(static_cast<double>(case_.head_dim_qk));
  return (factor == 0 ? k_amplitude_ : even_deviation / factor) * normal(k_stream, at);
}

double recipe::far_query(const place& at) const {
  constexpr std::int64_t of_the_row = -1;
  const std::uint64_t drawn = noise(far_stream, {at.sequence, at.index, at.head, of_the_row});
  const double size = tail_query * (drawn % 2 == 0 ? 1 : 0.5);
  return (drawn >> 1) % 8 == 0 ? -size : size;
}

double recipe::far_key(const place& at) const {
  constexpr std::int64_t of_the_head = -2;
  const double per_unit = logit_factor() * tail_query * q_amplitude_;
  if (per_unit == 0) return k_amplitude_ * normal(k_stream, at);
  const auto dims = static_cast<double>(case_.head_dim_qk);
  const double level = std::exp2(4 + 7 * uniform_of(noise(far_stream, {at.sequence, 0, at.head, of_the_head})));
  const double spread = even_deviation / (std::fabs(per_unit) * std::sqrt(dims));
  return -level / (per_unit * dims) * sign_of_dim(at.dim) + spread * normal(k_stream, at);
}

std::uint32_t recipe::q(place at, int draw) const {
  at.index += std::int64_t{draw} << 31;  // no sequence has so many rows
  const double a = q_amplitude_;
  const auto rounded = [this](double value) { return round_to_bits(case_.q_type, value); };
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded(a * (2 * uniform_of(noise(q_stream, at)) - 1));
    case fill_kind::constant: return rounded(a / 2);
    case fill_kind::saturating:
    case fill_kind::ascending_maxima:
    case fill_kind::heavy_tail_tile:
      return rounded(a * sign_of_dim(at.dim) * (0.5 + uniform_of(noise(q_stream, at)) / 2));
    case fill_kind::cancelling: {
      place pair = at;
      pair.dim = at.dim / 2;
      const bool is_last = at.dim >= case_.head_dim_qk - 2;
      return rounded((is_last ? 1 : 3) * a * normal(q_stream, is_last ? at : pair));
    }
    case fill_kind::long_tail: return rounded(tail_query * a * sign_of_dim(at.dim));
    case fill_kind::far_logits: return rounded(far_query(at) * a * sign_of_dim(at.dim));
    case fill_kind::largest: return largest_bits(case_.q_type, largest_query(case_), noise(q_stream, at));
    default: return rounded(a * normal(q_stream, at));
  }
}

std::uint32_t recipe::row_of_any_size(place at, int draw) const {
  if (case_.data.fill != fill_kind::subnormal) return q(at, draw);
  constexpr std::int64_t of_the_head = -1;
  at.index += std::int64_t{draw} << 31;
  const std::uint64_t size = noise(q_stream, {at.sequence, at.index, at.head, of_the_head});
  if (size % 4 == 0) return 0;
  if (size % 4 == 1 || (case_.q_type != dtype::bf16 && case_.q_type != dtype::f32))
    return random_subnormal(case_.q_type, noise(q_stream, at));
  const int exponent = -40 - static_cast<int>((size >> 8) % 40);
  return round_to_bits(case_.q_type, std::ldexp(normal(q_stream, at), exponent));
}

std::uint32_t recipe::k(const place& at) const {
  const double a = k_amplitude_;
  const auto rounded = [this](double value) { return round_to_bits(case_.kv_type, value); };
  const std::int64_t keys = case_.sequences[static_cast<std::size_t>(at.sequence)].k;
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded(a * (2 * uniform_of(noise(k_stream, at)) - 1));
    case fill_kind::constant: return rounded(a / 4);
    case fill_kind::saturating:
      return rounded(pointed_key(at, 2 * a, a / 4, at.index == dominant_key(case_, at.sequence)));
    case fill_kind::ascending_maxima: {
      const double large = level(case_.kv_type, at.index / tile_keys);
      return rounded(pointed_key(at, large, large / 8, at.index % tile_keys == 0));
    }
    case fill_kind::heavy_tail_tile:
      return rounded(pointed_key(at, a, a / 8, at.index / tile_keys == (keys - 1) / tile_keys));
    case fill_kind::cancelling: {
      place pair{at.sequence, at.index / 2, at.head, at.dim / 2};
      if (at.dim < case_.head_dim_qk - 2) return rounded((at.dim % 2 == 0 ? 3 : -3) * a * normal(k_stream, pair));
      pair.dim = at.dim;
      return rounded(a * normal(k_stream, pair));
    }
    case fill_kind::largest:
      return largest_bits(case_.kv_type, largest_magnitude(case_.kv_type, false), noise(k_stream, at));
    case fill_kind::subnormal: return random_subnormal(case_.kv_type, noise(k_stream, at));
    case fill_kind::rounding_ties: return 0;
    case fill_kind::long_tail: return is_above_tail(at) ? 0 : rounded(tail_key(at));
    case fill_kind::even_weights: return rounded(even_key(at));
    case fill_kind::far_logits: return rounded(far_key(at));
    default: return rounded(a * normal(k_stream, at));
  }
}

std::uint32_t recipe::v(const place& at) const {
  const double a = v_amplitude_;
  const dtype type = v_type(case_);
  const auto rounded = [type](double value) { return round_to_bits(type, value); };
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded(a * (2 * uniform_of(noise(v_stream, at)) - 1));
    case fill_kind::constant: return rounded(1.5 * a);
    case fill_kind::page_tagged: return page_tag(type, at.sequence, at.index);
    case fill_kind::cancelling: {
      const place pair{at.sequence, at.index / 2, at.head, at.dim};
      return rounded((at.index % 2 == 0 ? a : -a) * normal(v_stream, pair));
    }
    case fill_kind::largest: return largest_bits(type, largest_magnitude(type, true), noise(v_stream, at));
    case fill_kind::subnormal: return random_subnormal(type, noise(v_stream, at));
    case fill_kind::rounding_ties: {
      const number_format f = format_of(type);
      const std::uint64_t column = noise(v_stream, {0, 0, at.head, at.dim});
      const std::uint32_t below = round_to_bits(type, 1) + column % ((1U << f.mantissa_bits) - 1);
      return below + static_cast<std::uint32_t>(at.index % 2);
    }
    case fill_kind::long_tail: return is_above_tail(at) ? 0 : rounded(a * normal(v_stream, at));
    case fill_kind::even_weights: {
      const std::uint64_t drawn = noise(v_stream, at);
      return rounded(signed_by(drawn, a * (1 + uniform_of(drawn) / 2)));
    }
    default: return rounded(a * normal(v_stream, at));
  }
}

std::int64_t recipe::padding(std::int64_t sequence) const {
  constexpr std::int64_t of_the_sequence = -1;
  const std::int64_t keys = case_.sequences[static_cast<std::size_t>(sequence)].k;
  const std::int64_t widths[] = {1, 63, 64, 65, 128, keys / 2, keys - 1, 64, 65, keys / 2, 128, 192, 1, 64, 65, keys};
  const std::uint64_t drawn = noise(bias_stream, {sequence, of_the_sequence, of_the_sequence, 0});
  const std::int64_t most = drawn % 16 == 15 ? keys : keys - 1;
  return std::clamp<std::int64_t>(widths[drawn % 16], 0, std::max<std::int64_t>(most, 0));
}

std::uint32_t recipe::bias(std::int64_t sequence, std::int64_t row, std::int64_t key, std::int64_t head) const {
  const place at{sequence, row, key, head};
  const auto rounded = [this](double value) { return round_to_bits(case_.bias_type, value); };
  const number_format format = format_of(case_.bias_type);
  const std::uint32_t lowest = format.sign | format.last_finite, minus_infinity = lowest + 1;
  switch (case_.data.bias) {
    case bias_kind::normal: break;
    case bias_kind::holes:
      if (mix(noise(bias_stream, at)) % 4 == 0) return minus_infinity;
      break;
    case bias_kind::left_padded:
      if (key < padding(sequence)) return minus_infinity;
      break;
    case bias_kind::lowest:
      if (key < padding(sequence)) return lowest;
      break;
    case bias_kind::steep:
      if (const std::uint64_t kind = mix(noise(bias_stream, at)) % 3; kind != 0)
        return rounded(kind == 1 ? 100 : -10'000);
      break;
  }
  return rounded(normal(bias_stream, at));
}

std::uint32_t recipe::sink(std::int64_t head) const {
  constexpr std::uint32_t minus_infinity = 0xFF800000U;
  const std::uint64_t drawn = noise(sink_stream, {0, 0, head, 0});
  if (drawn % 4 == 0) return minus_infinity;
  const std::uint64_t more = mix(drawn);
  const auto rounded = [](double value) { return round_to_bits(dtype::f32, value); };
  switch (case_.data.sinks) {
    case sink_kind::normal: return rounded(2 * normal_of(more));
    case sink_kind::large: {  // by halves of a power of two: libraries differ in a power's last bits
      const auto halves = static_cast<int>(more % 20);
      return rounded(signed_by(mix(more), std::ldexp(halves % 2 == 0 ? 1.0 : 1.5, 4 + halves / 2)));
    }
    case sink_kind::huge: break;
  }
  return rounded(signed_by(more, 2e38));
}

std::uint32_t recipe::weight(const place& at) const {
  const auto rounded = [](double value) { return round_to_bits(dtype::f32, value); };
  switch (case_.data.fill) {
    case fill_kind::uniform: return rounded(2 * uniform_of(noise(weight_stream, at)) - 1);
    case fill_kind::constant: return rounded(0.5);
    case fill_kind::cancelling: {
      place pair = at;
      pair.head = at.head / 2;
      return rounded((at.head % 2 == 0 ? 1 : -1) * normal(weight_stream, pair));
    }
    case fill_kind::saturating:
    case fill_kind::ascending_maxima:
    case fill_kind::heavy_tail_tile: return rounded(std::fabs(normal(weight_stream, at)));
    case fill_kind::largest: return rounded(signed_by(noise(weight_stream, at), 0x1p40));
    case fill_kind::subnormal:  // terms, sums and logits on both sides of 2^-126
      return rounded(std::ldexp(normal(weight_stream, at), -40 - static_cast<int>(noise(weight_stream, at) % 110)));
    default: return rounded(normal(weight_stream, at));
  }
}

std::uint32_t recipe::key_scale(const place& at) const {
  const double unit = 1 / (q_amplitude_ * k_amplitude_);
  const std::uint64_t drawn = noise(key_scale_stream, at);
  const auto rounded = [](double value) { return round_to_bits(dtype::f32, value); };
  switch (case_.data.fill) {
    case fill_kind::constant: return rounded(unit);
    case fill_kind::page_tagged: {
      constexpr std::int64_t tags = 8192;
      const std::int64_t tag = (at.index + tagged_sequence_stride * at.sequence) % tags;
      return rounded((1 + static_cast<double>(tag) / tags) * unit);
    }
    case fill_kind::uniform: return rounded(drawn % 4 == 0 ? 0 : (1 + uniform_of(drawn)) / 2 * unit);
    case fill_kind::largest: return rounded(0x1p40);
    case fill_kind::subnormal: return rounded(std::ldexp(1 + uniform_of(drawn), -static_cast<int>(drawn % 100)));
    default: return rounded((1 + uniform_of(drawn)) / 2 * unit);
  }
}

double recipe::usual_descale(std::uint64_t tensor, const place& at, std::int64_t level) const {
  const double given = case_.data.descale_ratio;
  const double ratio = std::max(given, 1 / given);
  constexpr std::int64_t of_the_page = 0;
  const double spread = std::min(ratio - 1, 1.0) / 4;
  const double own = 1 + spread * uniform_of(noise(tensor, {at.sequence, at.index, at.head, of_the_page}));
  return own / (level == 0 ? 1 : level == 1 ? ratio : ratio * ratio);
}

double recipe::needed_descale(bool is_k, const place& at) const {
  const sequence& s = case_.sequences[static_cast<std::size_t>(at.sequence)];
  const std::int64_t first = std::max<std::int64_t>(0, at.index * case_.page_size - first_position(s));
  const std::int64_t end = std::min<std::int64_t>(s.q, (at.index + 1) * case_.page_size - first_position(s));
  double largest = 0;
  for (std::int64_t row = first; row < end; ++row) {
    if (slot_of(case_, s, row) < 0) continue;
    for (std::int64_t dim = 0; dim < (is_k ? case_.head_dim_qk : case_.head_dim_v); ++dim) {
      const std::uint32_t bits = row_of_any_size({at.sequence, row, at.head, dim}, is_k ? 0 : 1);
      largest = std::max(largest, magnitude_of(case_.q_type, bits));
    }
  }
  const dtype type = is_k ? case_.kv_type : v_type(case_);
  return largest / magnitude_of(type, format_of(type).last_finite);
}

std::uint32_t recipe::descale(bool is_k, const place& at) const {
  const std::uint64_t tensor = is_k ? k_descale_stream : v_descale_stream;
  constexpr std::int64_t of_all_pages = -1, of_the_size = 1;
  const std::uint64_t walk = noise(tensor, {at.sequence, 0, at.head, of_all_pages});
  const std::uint64_t drawn = noise(tensor, {at.sequence, at.index, at.head, of_the_size});
  auto turn = static_cast<std::int64_t>((walk >> 8) % 3);
  if (case_.data.descales == descale_size::tiny && turn == 2) turn = 0;  // the first page is where kernels begin
  const std::int64_t step = at.index % 3;
  const std::int64_t level = ((walk & 1) != 0 ? turn + step : turn + 3 - step) % 3;
  const double usual = usual_descale(tensor, at, level);
  const auto rounded = [](double value) { return round_to_bits(dtype::f32, value); };
  switch (case_.data.descales) {
    case descale_size::near_1: break;
    case descale_size::least: return rounded(level == 0 ? 0x1p-64 : usual);
    case descale_size::tiny:
      if (is_k) break;
      // O ends in units of the last page's, be it another sequence's first: there a subnormal one would leave it
      // undecided.
      if (level != 0 ||
          last_pages_.contains(
              case_.sequences[static_cast<std::size_t>(at.sequence)].pages[static_cast<std::size_t>(at.index)]))
        return rounded(usual * 0x1p-60);
      return rounded(std::ldexp(1 + uniform_of(drawn) / 2, -129 - static_cast<int>(drawn % 21)));
    case descale_size::near_new_rows: {
      constexpr double least_needed = 0x1p-60;
      const bool is_rotated = is_k && case_.rotary != rotary_kind::none;
      const double needed = is_rotated ? 0 : needed_descale(is_k, at);
      if (needed < least_needed) break;
      // The same for all sequences: a case shrinks to the one that fails.
      const std::uint64_t factor = noise(tensor, {0, at.index, at.head, of_the_size});
      const double near = 1 + std::ldexp(1.0, -3 - static_cast<int>((factor >> 1) % 8));
      return rounded(factor % 2 == 0 ? needed / near : needed * near);
    }
  }
  return rounded(usual);
}

std::uint32_t page_tag(dtype type, std::int64_t sequence, std::int64_t key) {
  if (type == dtype::f32) return page_tag(dtype::bf16, sequence, key) << 16;  // tags that f32 arithmetic tells apart
  const number_format f = format_of(type);
  const std::uint32_t first = size_bytes(type) == 1 ? 1U << f.mantissa_bits : round_to_bits(type, 1);
  // bf16 ends at 2^16: further codes grow beyond any use, and finite sums of them are not in f32's range.
  const std::uint32_t codes = type == dtype::bf16 ? 16U << f.mantissa_bits : f.last_finite + 1 - first;
  const auto tag = static_cast<std::uint64_t>(key + tagged_sequence_stride * sequence);
  const std::uint32_t bits = first + static_cast<std::uint32_t>(tag % codes);
  return tag / codes % 2 != 0 ? bits | f.sign : bits;
}

std::int64_t dominant_key(const attention_case& c, std::int64_t sequence) {
  const auto keys = static_cast<std::uint64_t>(std::max(c.sequences[static_cast<std::size_t>(sequence)].k, 1));
  return static_cast<std::int64_t>(mix(mix(c.data.seed ^ (star_stream << 56U)) ^ static_cast<std::uint64_t>(sequence)) %
                                   keys);
}

}  // namespace assay
