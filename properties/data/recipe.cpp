#include "properties/data/recipe.hpp"

#include <algorithm>
#include <cmath>

#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/slots.hpp"

namespace assay {
namespace {

constexpr std::int64_t tagged_sequence_stride = 1021;  // a prime: neighbouring sequences' tags differ

/// |x| of a finite pattern of a float type.
double magnitude_of(dtype type, std::uint32_t bits) {
  const number_format f = format_of(type);
  const std::uint32_t magnitude = bits & (f.sign - 1), fraction = magnitude & ((1U << f.mantissa_bits) - 1);
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const double hidden = exponent == 0 ? 0 : std::ldexp(1.0, f.mantissa_bits);
  return std::ldexp(hidden + fraction, std::max(exponent, 1) - f.bias - f.mantissa_bits);
}

/// The pages of the last keys that the sequence's rows see, and its last page.
void insert_last_pages(const attention_case& c, const sequence& s, std::unordered_set<std::int64_t>& pages) {
  if (s.pages.empty()) return;
  pages.insert(s.pages.back());
  const visibility rule = visibility_of(c);
  for (std::int64_t row = 0; row < s.q; ++row) {
    const key_range seen = rule.seen(first_position(s) + row, s.k);
    if (seen.first == seen.end) continue;
    const auto page = static_cast<std::size_t>((seen.end - 1) / c.page_size);
    if (page < s.pages.size()) pages.insert(s.pages[page]);
  }
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
  for (const sequence& s : c.sequences) insert_last_pages(c, s, last_pages_);
  for (std::uint64_t tensor = 0; tensor < stream_count; ++tensor) keys_.push_back(mix(c.data.seed ^ (tensor << 56)));
}

std::uint64_t recipe::noise(noise_stream tensor, const place& at) const {
  return row(tensor, at)(at.dim);
}

row_noise recipe::row(noise_stream tensor, const place& at) const {
  const auto part = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t key = keys_[tensor] ^ (part(at.sequence) << 32) ^ part(at.index);
  return {mix(key) ^ (part(at.head) << 32)};
}

double recipe::normal(noise_stream tensor, const place& at) const {
  return normal_of(noise(tensor, at));
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

double recipe::usual_descale(noise_stream tensor, const place& at, std::int64_t level) const {
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
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(is_k ? case_.head_dim_qk : case_.head_dim_v));
  double largest = 0;
  for (std::int64_t row = first; row < end; ++row) {
    if (slot_of(case_, s, row) < 0) continue;
    row_of_any_size({at.sequence, row, at.head}, is_k ? 0 : 1, bits);
    for (const std::uint32_t one : bits) largest = std::max(largest, magnitude_of(case_.q_type, one));
  }
  const dtype type = is_k ? case_.kv_type : v_type(case_);
  return largest / magnitude_of(type, format_of(type).last_finite);
}

std::uint32_t recipe::descale(bool is_k, const place& at) const {
  const noise_stream tensor = is_k ? k_descale_stream : v_descale_stream;
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
      // A row of O ends in units of the last page's that it sees, be it another sequence's first: there a subnormal
      // one would leave it undecided.
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
