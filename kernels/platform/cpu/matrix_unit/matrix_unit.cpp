#include "kernels/platform/cpu/matrix_unit/matrix_unit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace assay::cpu {
namespace {

/// What has no exponent, since it is 0.
constexpr std::int32_t none = -100000;
constexpr std::int32_t f32_least_exponent = -126;

/// mantissa * 2^low. Of a product and of c.
struct scaled {
  std::int64_t mantissa = 0;
  std::int32_t low = 0;
  std::int32_t exponent = none;
};

/// mantissa * 2^shift, cut to a whole number.
std::int64_t moved(std::int64_t mantissa, std::int32_t shift, cut direction) {
  if (shift >= 0) return mantissa << shift;
  if (shift <= -63) return direction == cut::down && mantissa < 0 ? -1 : 0;
  if (direction == cut::down) return mantissa >> -shift;
  const std::int64_t size = std::abs(mantissa) >> -shift;
  return mantissa < 0 ? -size : size;
}

std::int32_t log2_of(std::int64_t mantissa) {
  return 63 - std::countl_zero(static_cast<std::uint64_t>(std::abs(mantissa)));
}

scaled product_of(const matrix_atom& atom, const operand& a, const operand& b) {
  scaled p{std::int64_t{a.significand} * b.significand, a.exponent + b.exponent - 20, none};
  if (p.mantissa == 0) return p;
  p.exponent = atom.exponent == product_exponent::of_factors ? a.exponent + b.exponent : p.low + log2_of(p.mantissa);
  return p;
}

scaled scaled_of(float c) {
  const auto bits = std::bit_cast<std::uint32_t>(c);
  const auto field = static_cast<std::int32_t>(bits >> 23 & 0xFFU);
  std::int64_t mantissa = bits & 0x7FFFFFU;
  if (field != 0) mantissa |= 0x800000;
  const std::int32_t exponent = std::max(field, 1) - 127;
  return {(bits >> 31) != 0 ? -mantissa : mantissa, exponent - 23, mantissa == 0 ? none : exponent};
}

/// sum * 2^low, rounded once.
float rounded(const matrix_atom& atom, std::int64_t sum, std::int32_t low) {
  if (sum == 0) return 0.0F;
  const std::int32_t exponent = std::max(low + log2_of(sum), f32_least_exponent);
  const std::int32_t drop = exponent - atom.result_bits - low;
  if (drop > 0) {
    if (atom.result == cut::nearest_even) {
      const std::int64_t below = moved(sum, -drop, cut::down);
      if (drop > 62) {
        sum = 0;  // far below half of the last place
      } else {
        const std::int64_t rest = sum - (below << drop), half = std::int64_t{1} << (drop - 1);
        sum = below + (rest > half || (rest == half && (below & 1) != 0) ? 1 : 0);
      }
    } else {
      sum = moved(sum, -drop, atom.result);
    }
    low += drop;
  }
  return static_cast<float>(std::ldexp(static_cast<double>(sum), low));  // at most 25 bits
}

float flushed(const matrix_atom& atom, float x) {
  return atom.flushes_results != 0 && std::fabs(x) < 0x1p-126F ? 0.0F : x;
}

struct part_sum {
  std::int64_t sum = 0;  ///< multiples of 2^(exponent - fraction_bits)
  std::int32_t exponent = none;
};

/// Products alone, cut and added.
part_sum sum_of(const matrix_atom& atom, std::span<const scaled> products, std::int32_t part) {
  part_sum s;
  for (std::size_t i = static_cast<std::size_t>(part); i < products.size(); i += static_cast<std::size_t>(atom.parts))
    s.exponent = std::max(s.exponent, products[i].exponent);
  for (std::size_t i = static_cast<std::size_t>(part); i < products.size(); i += static_cast<std::size_t>(atom.parts))
    if (products[i].mantissa != 0)
      s.sum += moved(products[i].mantissa, products[i].low - (s.exponent - atom.fraction_bits), atom.alignment);
  return s;
}

float join_together(const matrix_atom& atom, std::span<const scaled> products, const scaled& c) {
  std::int32_t exponent = c.exponent;
  for (const scaled& p : products) exponent = std::max(exponent, p.exponent);
  if (exponent == none) return 0.0F;
  exponent = std::max(exponent, least_alignment_exponent);
  const std::int32_t low = exponent - atom.fraction_bits;
  std::int64_t sum = c.mantissa == 0 ? 0 : moved(c.mantissa, c.low - low, atom.alignment);
  for (const scaled& p : products)
    if (p.mantissa != 0) sum += moved(p.mantissa, p.low - low, atom.alignment);
  return rounded(atom, sum, low);
}

float join_later(const matrix_atom& atom, std::span<const scaled> products, const scaled& c) {
  part_sum s = sum_of(atom, products, 0);
  if (atom.parts == 2) {
    const part_sum other = sum_of(atom, products, 1);
    const std::int32_t exponent = std::max(s.exponent, other.exponent);
    std::int64_t sum = 0;
    if (s.sum != 0) sum += moved(s.sum, s.exponent - exponent, cut::down);
    if (other.sum != 0) sum += moved(other.sum, other.exponent - exponent, cut::down);
    s = {sum, exponent};
  }
  const std::int32_t exponent = std::max(s.exponent, c.exponent);
  if (exponent == none) return 0.0F;
  const std::int32_t finest = std::max(atom.sum_bits, atom.fraction_bits);
  std::int64_t sum = 0;
  if (s.sum != 0)
    sum += moved(s.sum, s.exponent - exponent + atom.sum_bits - atom.fraction_bits, cut::down)
           << (finest - atom.sum_bits);
  const bool is_left_out = atom.c_reach > 0 && c.exponent < exponent - atom.c_reach;
  if (c.mantissa != 0 && !is_left_out)
    sum += moved(c.mantissa, c.low - (exponent - atom.fraction_bits), cut::down) << (finest - atom.fraction_bits);
  return rounded(atom, sum, exponent - finest);
}

/// The sum of float products over halves.
float sum_of_tree(const matrix_atom& atom, std::span<float> terms) {
  if (terms.size() == 1) return terms[0];
  const std::size_t half = terms.size() / 2;
  return flushed(atom, sum_of_tree(atom, terms.first(half)) + sum_of_tree(atom, terms.subspan(half)));
}

float value_of(const matrix_atom& atom, const operand& x) {
  return atom.flushes_inputs != 0 && x.significand == 0 ? 0.0F : static_cast<float>(x.value);
}

/// The index of place i of a group.
std::int32_t place_of(const matrix_atom& atom, std::int32_t group, std::int32_t i) {
  const std::int32_t groups = atom.products / atom.group;
  return (i / atom.run * groups + group) * atom.run + i % atom.run;
}

float multiply_group(const matrix_atom& atom, std::int32_t group, const operand* a, const operand* b, float c) {
  constexpr int most_products = 64;
  const auto size = static_cast<std::size_t>(atom.group);
  if (atom.flushes_inputs != 0 && std::fabs(c) < 0x1p-126F) c = 0.0F;
  if (atom.sum == atom_sum::pairwise) {
    float terms[most_products];
    for (std::int32_t i = 0; i < atom.group; ++i) {
      const std::int32_t k = place_of(atom, group, i);
      terms[i] = flushed(atom, value_of(atom, a[k]) * value_of(atom, b[k]));
    }
    return flushed(atom, c + sum_of_tree(atom, {terms, size}));
  }
  scaled products[most_products];
  for (std::int32_t i = 0; i < atom.group; ++i) {
    const std::int32_t k = place_of(atom, group, i);
    products[i] = product_of(atom, a[k], b[k]);
  }
  const auto join = atom.joins_c_later != 0 ? join_later : join_together;
  return flushed(atom, join(atom, {products, size}, scaled_of(c)));
}

}  // namespace

operand operand_of(double value, const matrix_atom& atom) {
  if (!std::isfinite(value) || value == 0) return {0, 0, value};
  const std::int32_t exponent = std::max(std::ilogb(value), atom.least_exponent);
  if (atom.flushes_inputs != 0 && std::ilogb(value) < atom.least_exponent) return {0, 0, 0};
  return {static_cast<std::int32_t>(std::ldexp(value, 10 - exponent)), exponent, value};
}

float multiply_add(const matrix_atom& atom, const operand* a, const operand* b, float c) {
  double plain = static_cast<double>(c);
  bool is_finite = std::isfinite(c);
  for (std::int32_t k = 0; k < atom.products; ++k) {
    is_finite &= std::isfinite(a[k].value) && std::isfinite(b[k].value);
    if (!is_finite) plain += a[k].value * b[k].value;
  }
  if (!is_finite) {
    plain = static_cast<double>(c);
    for (std::int32_t k = 0; k < atom.products; ++k) plain += a[k].value * b[k].value;
    return static_cast<float>(plain);
  }
  const float held = c;
  if (atom.adds_c_last != 0) c = 0.0F;
  if (atom.sum == atom_sum::fused)
    for (std::int32_t k = 0; k < atom.products; ++k)
      c = flushed(atom, std::fma(value_of(atom, a[k]), value_of(atom, b[k]), c));
  else
    for (std::int32_t group = 0; group < atom.products / atom.group && std::isfinite(c); ++group)
      c = multiply_group(atom, group, a, b, c);
  return atom.adds_c_last != 0 ? flushed(atom, held + c) : c;
}

const named_atoms* chosen_atoms() {
  static const named_atoms* const chosen = [] {
    const char* const name = std::getenv("ASSAY_ATOMS");
    const named_atoms* const found = name == nullptr ? nullptr : find_atoms(name);
    if (name != nullptr && found == nullptr) {
      std::fprintf(stderr, "ASSAY_ATOMS: no atoms '%s'\n", name);
      std::exit(2);  // NOLINT(concurrency-mt-unsafe): before anything is computed
    }
    return found;
  }();
  return chosen;
}

}  // namespace assay::cpu
