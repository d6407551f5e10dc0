#include "oracle/tiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "oracle/clones.hpp"
#include "oracle/decode.hpp"

namespace assay::oracle {
namespace {

constexpr std::int64_t together = 8;

/// The largest magnitude of values that may not be finite. NaN is passed over: it shows in every sum anyway.
double largest_finite(const double* values, std::int64_t count) {
  double bound = 0;
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(values[i])) bound = std::max(bound, std::fabs(values[i]));
  return bound;
}

/// The largest magnitude; not finite if one of them is not. Bits of positive numbers are ordered as they are, and
/// integers are compared in any order.
ASSAY_CLONES
double largest_magnitude(const double* values, std::int64_t count) {
  std::int64_t bits = 0;
  for (std::int64_t i = 0; i < count; ++i)
    bits = std::max(bits, std::bit_cast<std::int64_t>(values[i]) & std::numeric_limits<std::int64_t>::max());
  return std::bit_cast<double>(bits);
}

/// Takes what is not finite out of a row of V, and returns the bound of the rest.
double take_specials(std::int64_t key, std::int64_t count, double* values, std::vector<special_value>& specials) {
  const double bound = largest_magnitude(values, count);
  if (std::isfinite(bound)) return bound;
  for (std::int64_t c = 0; c < count; ++c)
    if (!std::isfinite(values[c])) specials.push_back({key, c, std::exchange(values[c], 0.0)});
  return largest_magnitude(values, count);
}

/// Whether the values have a sign bit, or did so before.
ASSAY_CLONES
void gather_signs(const double* values, std::int64_t count, char* is_negative) {
  for (std::int64_t c = 0; c < count; ++c)
    is_negative[c] |= static_cast<char>(std::bit_cast<std::uint64_t>(values[c]) >> 63);
}

/// Eight rows of `dim` become columns, `lanes` apart.
ASSAY_CLONES
void transpose_rows(const double* rows, std::int64_t dim, std::int64_t lanes, double* to) {
  for (std::int64_t d = 0; d < dim; ++d)
    for (std::int64_t n = 0; n < together; ++n) to[d * lanes + n] = rows[n * dim + d];
}

}  // namespace

split_plan plan_of(const problem_view& view, const contract& declared, std::int64_t seq) {
  const std::int64_t splits = std::max(1, view.stated().num_splits), size = declared.tile_keys;
  const auto tiles_of = [size](std::int64_t keys) { return (keys + size - 1) / size; };
  const std::int64_t own = tiles_of(view.key_count(seq));
  const std::int64_t planned =
      declared.splits == split_rule::of_longest ? std::max(own, tiles_of(view.stated().max_k)) : own;
  return {own, (planned + splits - 1) / splits};
}

void decode_tile(const problem_view& view, std::int64_t seq, std::int64_t head_kv, std::int64_t first, key_range range,
                 decoded_tile& tile) {
  const std::int64_t dim = view.stated().head_dim_qk, dim_v = view.stated().head_dim_v;
  double* const value_bounds = tile.value_bounds.data();
  double* const key_bounds = tile.key_bounds.data();
  // Eight keys at a time: the transposition then writes whole cache lines.
  std::vector<double> rows(static_cast<std::size_t>(together * dim));
  const std::int64_t begin = range.begin - first, end = range.end - first;
  tile.least_query = least_normal(view.stated().q_type);
  tile.least_key = least_normal(view.stated().k_type);
  tile.least_value = least_normal(view.stated().v_type);
  tile.specials.clear();
  std::ranges::fill(tile.is_negative, static_cast<char>(0));
  if (view.has_page_descales()) {
    const std::int64_t page = view.place(seq, range.begin).page;
    tile.key_descale = view.k_descale(page, head_kv);
    tile.value_descale = view.v_descale(page, head_kv);
  }
  for (std::int64_t j = begin; j < end;) {
    const std::int64_t count = std::min(together - j % together, end - j);
    for (std::int64_t n = 0; n < count; ++n) {
      const key_place at = view.place(seq, first + j + n);
      double* const key = rows.data() + n * dim;
      view.load_key(at, head_kv, key);
      const double key_bound = largest_magnitude(key, dim);
      key_bounds[j + n] = std::isfinite(key_bound) ? key_bound : largest_finite(key, dim);
      double* const value = tile.values.data() + (j + n) * tile.columns;
      view.load_value(at, head_kv, value);
      value_bounds[j + n] = take_specials(j + n, dim_v, value, tile.specials);
      gather_signs(value, dim_v, tile.is_negative.data());
    }
    double* const to = tile.keys.data() + j;
    if (count == together) {
      transpose_rows(rows.data(), dim, tile.lanes, to);
    } else {
      for (std::int64_t d = 0; d < dim; ++d)
        for (std::int64_t n = 0; n < count; ++n) to[d * tile.lanes + n] = rows.data()[n * dim + d];
    }
    j += count;
  }
}

}  // namespace assay::oracle
