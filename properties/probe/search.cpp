#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/matrix_atoms.hpp"
#include "oracle/decode.hpp"
#include "oracle/exact_atoms.hpp"
#include "properties/probe/probe.hpp"

namespace assay::probe {
namespace {

constexpr std::size_t rows_of_tile = 16;

double element(const tiles& t, const std::vector<std::uint8_t>& of, std::size_t at) {
  const std::size_t bytes = static_cast<std::size_t>(size_bytes(t.type));
  std::uint32_t bits = 0;
  std::memcpy(&bits, of.data() + at * bytes, bytes);
  return oracle::decode(t.type, bits);
}

/// Tiles in the form of the oracle: rows of A, and B as lanes. Made once for all candidates.
struct decoded {
  std::size_t depth;
  std::vector<double> a;  ///< [tile][row][k]
  std::vector<double> b;  ///< [tile][k][column]
};
decoded decode_all(const tiles& t) {
  decoded d{static_cast<std::size_t>(t.depth), {}, {}};
  const std::size_t count = static_cast<std::size_t>(t.count) * rows_of_tile * d.depth;
  d.a.resize(count);
  d.b.resize(count);
  for (std::size_t at = 0; at < count; ++at) {
    const std::size_t k = at % d.depth, column = at / d.depth % rows_of_tile, tile = at / d.depth / rows_of_tile;
    d.a[at] = element(t, t.a, at);
    d.b[(tile * d.depth + k) * rows_of_tile + column] = element(t, t.b, at);
  }
  return d;
}

/// Rows go in an order in which neighbours are of different tiles, so that a wrong candidate ends soon.
comparison compare(const tiles& t, const decoded& d, const matrix_atom& atom, std::int64_t most) {
  comparison sum;
  for (std::size_t row = 0; row < rows_of_tile; ++row)
    for (std::size_t tile = 0; tile < static_cast<std::size_t>(t.count); ++tile) {
      const std::size_t at = tile * rows_of_tile + row;
      double mid[rows_of_tile], radius[rows_of_tile] = {};
      for (std::size_t n = 0; n < rows_of_tile; ++n) mid[n] = static_cast<double>(t.c[at * rows_of_tile + n]);
      const double* const a = d.a.data() + at * d.depth;
      oracle::multiply_exactly(a, a, d.b.data() + tile * d.depth * rows_of_tile, 0, t.depth, t.depth, rows_of_tile,
                               atom, mid, radius);
      for (std::size_t n = 0; n < rows_of_tile; ++n) {
        const bool is_bounded = std::isfinite(radius[n]);
        sum.misses += is_bounded && static_cast<double>(t.d[at * rows_of_tile + n]) != mid[n] ? 1 : 0;
        ++(is_bounded ? sum.compared : sum.unbounded);
      }
      if (sum.misses >= most) return sum;
    }
  return sum;
}

/// Ways to cut the products of one call into groups.
void add_groupings(const matrix_atom& like, std::int32_t depth, std::vector<matrix_atom>& to) {
  for (std::int32_t products = depth; products >= std::max(4, depth / 4); products /= 2)
    for (std::int32_t group = products; group >= 2; group /= 2)
      for (std::int32_t run = group; run >= 1; run = run > 2 ? 2 : run - 1) {
        if (group == products && run != group) continue;  // one group: the same
        if (group % run != 0) continue;
        matrix_atom a = like;
        a.products = products;
        a.group = group;
        a.run = run;
        to.push_back(a);
      }
}

void add_aligned(matrix_atom a, std::int32_t depth, std::vector<matrix_atom>& to) {
  a.sum = atom_sum::aligned;
  for (std::int32_t bits = 10; bits <= 31; ++bits)
    for (const product_exponent exponent : {product_exponent::of_factors, product_exponent::of_product})
      for (const cut alignment : {cut::toward_zero, cut::down})
        for (const cut result : {cut::toward_zero, cut::nearest_even, cut::down})
          for (const std::int32_t result_bits : {23, 13}) {
            if (result_bits == 13 && result == cut::nearest_even) continue;
            a.fraction_bits = bits;
            a.exponent = exponent;
            a.alignment = alignment;
            a.result = result;
            a.result_bits = result_bits;
            a.joins_c_later = 0, a.sum_bits = 0, a.parts = 1, a.c_reach = 0;
            add_groupings(a, depth, to);
            a.adds_c_last = 1;
            add_groupings(a, depth, to);
            a.adds_c_last = 0;
            if (result_bits == 13 || bits < 20) continue;
            for (const std::int32_t parts : {1, 2})
              for (const std::int32_t reach : {0, 25}) {
                a.joins_c_later = 1, a.sum_bits = 31, a.parts = parts, a.c_reach = reach;
                add_groupings(a, depth, to);
              }
          }
}

/// The family, the likely first: what is known, then all that differs.
std::vector<matrix_atom> candidates(dtype type, std::int32_t depth) {
  std::vector<matrix_atom> all;
  for (const matrix_atom& known :
       {hopper_atom(type), ampere_atom(type), turing_atom(type), hopper_fp8_atom(type), hopper_fp8_mma_atom(type),
        ada_fp8_atom(type), cdna3_atom(type), cdna3_fp8_atom(type), cdna2_atom(type), cdna1_atom(type),
        rdna3_atom(type), ieee_atom(type)})
    if (depth % known.products == 0) all.push_back(known);
  std::vector<std::int32_t> least = {least_exponent_of(type)};
  if (is_fp8(type)) least.push_back(least_exponent_of(dtype::f16));
  for (const std::int32_t exponent : least)
    for (const std::int32_t flushes : {0, 1}) {
      matrix_atom a;
      a.least_exponent = exponent;
      a.flushes_inputs = a.flushes_results = flushes;
      a.products = a.group = a.run = depth;
      a.result = cut::nearest_even;
      a.sum = atom_sum::fused;
      all.push_back(a);
      a.sum = atom_sum::pairwise;
      add_groupings(a, depth, all);
      add_aligned(a, depth, all);
    }
  return all;
}

}  // namespace

comparison compare(const tiles& t, const matrix_atom& atom, std::int64_t most) {
  return compare(t, decode_all(t), atom, most);
}

search_result search(const tiles& t) {
  const decoded d = decode_all(t);
  search_result result;
  for (const matrix_atom& a : candidates(t.type, static_cast<std::int32_t>(t.depth))) {
    ++result.tried;
    const comparison c = compare(t, d, a, 1);
    const bool is_first = result.tried == 1, fits = c.misses == 0;
    if (is_first || (result.fitting == 0 && c.compared - c.misses > result.of_best.compared - result.of_best.misses))
      result.best = a, result.of_best = c;
    result.fitting += fits ? 1 : 0;
  }
  if (result.fitting == 0) result.of_best = compare(t, d, result.best, t.count * 256 + 1);
  return result;
}

std::string to_text(const matrix_atom& a) {
  constexpr const char* sums[] = {"undeclared", "aligned", "fused", "pairwise"};
  constexpr const char* cuts[] = {"toward_zero", "down", "nearest_even"};
  const auto at = [](auto e) { return static_cast<std::size_t>(e); };
  std::string text = fmt::format("{{.sum = {}, .products = {}", sums[at(a.sum)], a.products);
  if (a.sum != atom_sum::fused) text += fmt::format(", .group = {}, .run = {}", a.group, a.run);
  text += fmt::format(", .least_exponent = {}", a.least_exponent);
  if (a.sum == atom_sum::aligned) {
    if (a.parts != 1) text += fmt::format(", .parts = {}", a.parts);
    text += fmt::format(", .exponent = {}, .fraction_bits = {}, .alignment = {}",
                        a.exponent == product_exponent::of_factors ? "of_factors" : "of_product", a.fraction_bits,
                        cuts[at(a.alignment)]);
    if (a.joins_c_later != 0)
      text += fmt::format(", .joins_c_later = 1, .sum_bits = {}, .c_reach = {}", a.sum_bits, a.c_reach);
    text += fmt::format(", .result = {}, .result_bits = {}", cuts[at(a.result)], a.result_bits);
  }
  return text + fmt::format(", .flushes_inputs = {}, .flushes_results = {}, .adds_c_last = {}}}", a.flushes_inputs,
                            a.flushes_results, a.adds_c_last);
}

}  // namespace assay::probe
