/// What append_kv writes and where, for any arithmetic: covered pages; kept, copied and new elements.
///
/// `Numbers` is the arithmetic, of the contract or of the definition. It has the types number (a finite value) and
/// scale (what codes are divided by), and as members
///   number exactly(double x);                          of a row's element
///   optional<number> rotated(a, c, b, s);              a c + b s; nothing: undecided
///   number largest(number before, number x);           max(before, |x|)
///   interval stored(number x);                         before it is rounded to the rows' type
///   optional<scale> of_tensor(double s);               nothing: undecided
///   optional<scale> of_page(number largest, double f, bool is_fresh, double before);
///   interval descale(scale), bool grows(scale)         whether D' > D is possible
///   interval code(number x, scale), interval rescaled(double value, scale)
#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "oracle/append_view.hpp"
#include "oracle/decode.hpp"
#include "oracle/interval.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {

template <class Numbers>
class append_walk {
 public:
  append_walk(const problem& stated, std::span<const named_tensor> inputs, const Numbers& numbers)
      : view_(stated, inputs), numbers_(numbers) {}

  enclosure run() const {
    enclosure bounds;
    std::vector<enclosed_tensor> descales;
    for (const append_pool* pool : {&view_.k(), &view_.v()}) {
      bounds.tensors.push_back(covered(pool->name, *pool->pool));
      enclosed_tensor& codes = bounds.tensors.back();
      enclosed_tensor* const scales =
          pool->descale == nullptr ? nullptr : &descales.emplace_back(covered(pool->descale_name, *pool->descale));
      for (std::size_t nth = 0; nth < view_.pages().size(); ++nth) write_page(*pool, nth, codes, scales);
    }
    for (enclosed_tensor& t : descales) bounds.tensors.push_back(std::move(t));
    return bounds;
  }

 private:
  using number = typename Numbers::number;
  using scale = typename Numbers::scale;
  using row_values = std::vector<std::optional<number>>;  ///< x of one row and head

  /// All elements as before the call, at the pages that receive a row.
  enclosed_tensor covered(const char* name, const tensor& before) const {
    enclosed_tensor t{name, before.type, {before.shape, before.shape + before.rank}, {}};
    t.indices.emplace();
    std::size_t of_page = 1;
    for (int axis = 1; axis < before.rank; ++axis) of_page *= static_cast<std::size_t>(before.shape[axis]);
    t.held.reserve(view_.pages().size() * of_page);
    t.elements.reserve(t.held.capacity());
    held_row row;
    for (const appended_page& p : view_.pages()) {
      t.indices->push_back(p.page);
      hold(before, before.offset(p.page), 1, row, t);
    }
    t.kept.assign(t.held.size(), static_cast<std::uint8_t>(element_rule::kept));
    return t;
  }

  /// What one row holds. It is taken over as a whole: pools have millions of elements, and most of them are kept.
  struct held_row {
    std::vector<double> values;
    std::vector<std::uint32_t> bits;
    std::vector<interval> intervals;
  };

  /// Takes over the bits from axis `axis` on. `row` is scratch.
  static void hold(const tensor& before, std::int64_t offset, int axis, held_row& row, enclosed_tensor& t) {
    if (axis < before.rank - 1) {
      for (std::int64_t i = 0; i < before.shape[axis]; ++i)
        hold(before, offset + i * before.stride[axis], axis + 1, row, t);
      return;
    }
    const std::int64_t count = axis < before.rank ? before.shape[axis] : 1;
    const std::int64_t stride = axis < before.rank ? before.stride[axis] : 1;
    const auto size = static_cast<std::size_t>(count);
    row.values.resize(size), row.bits.resize(size), row.intervals.resize(size);
    if (stride == 1) {
      load_contiguous(before, offset, count, row.values.data());
      load_contiguous_bits(before, offset, count, row.bits.data());
    } else {
      for (std::size_t i = 0; i < size; ++i) {
        const std::int64_t at = offset + static_cast<std::int64_t>(i) * stride;
        row.values[i] = load(before, at), row.bits[i] = load_bits(before, at);
      }
    }
    for (std::size_t i = 0; i < size; ++i)
      row.intervals[i] = std::isnan(row.values[i]) ? everything : point(row.values[i]);
    t.held.insert(t.held.end(), row.bits.begin(), row.bits.end());
    t.elements.insert(t.elements.end(), row.intervals.begin(), row.intervals.end());
  }

  static void set(enclosed_tensor& t, std::size_t at, const interval& e, element_rule rule = element_rule::enclosed) {
    t.elements[at] = e;
    t.kept[at] = static_cast<std::uint8_t>(rule);
  }

  /// Index of the first element of a slot and head among those covered.
  std::size_t index_of(const append_pool& pool, std::size_t nth, std::int64_t slot, std::int64_t head) const {
    const problem& p = view_.stated();
    const std::int64_t before = static_cast<std::int64_t>(nth) * p.page_size + slot;
    return static_cast<std::size_t>((before * p.heads_kv + head) * pool.dim);
  }

  void write_page(const append_pool& pool, std::size_t nth, enclosed_tensor& codes, enclosed_tensor* scales) const {
    const appended_page& page = view_.pages()[nth];
    for (std::int64_t head = 0; head < view_.stated().heads_kv; ++head) {
      if (!pool.is_quantised) {
        for (const appended_row& r : page.rows) store(pool, r, head, index_of(pool, nth, r.slot, head), codes);
        continue;
      }
      std::vector<row_values> added;
      added.reserve(page.rows.size());
      for (const appended_row& r : page.rows) added.push_back(values_of(pool, r, head));
      std::optional<scale> divisor;
      if (scales == nullptr) {
        divisor = numbers_.of_tensor(pool.scale);
      } else {
        divisor = page_scale(pool, page, head, added);
        const auto at = nth * static_cast<std::size_t>(view_.stated().heads_kv) + static_cast<std::size_t>(head);
        set(*scales, at, divisor ? numbers_.descale(*divisor) : everything);
        if (!page.is_fresh()) rescale(pool, nth, head, divisor, codes);
      }
      for (std::size_t r = 0; r < added.size(); ++r)
        quantise(added[r], divisor, index_of(pool, nth, page.rows[r].slot, head), codes);
    }
  }

  /// A row's head in the rows' own type.
  void store(const append_pool& pool, const appended_row& r, std::int64_t head, std::size_t at,
             enclosed_tensor& t) const {
    const row_values x = values_of(pool, r, head);
    for (std::size_t d = 0; d < x.size(); ++d, ++at) {
      set(t, at, x[d] ? numbers_.stored(*x[d]) : everything);
      if (pool.is_rotated) continue;
      t.held[at] = load_bits(*pool.added, pool.added->offset(r.row, head, static_cast<std::int64_t>(d)));
      t.kept[at] = static_cast<std::uint8_t>(element_rule::copied);
    }
  }

  void quantise(const row_values& x, const std::optional<scale>& divisor, std::size_t at, enclosed_tensor& t) const {
    for (const std::optional<number>& value : x)
      set(t, at++, value && divisor ? numbers_.code(*value, *divisor) : everything);
  }

  std::optional<scale> page_scale(const append_pool& pool, const appended_page& page, std::int64_t head,
                                  const std::vector<row_values>& added) const {
    number most = numbers_.exactly(0);
    for (const row_values& row : added)
      for (const std::optional<number>& x : row) {
        if (!x) return std::nullopt;
        most = numbers_.largest(most, *x);
      }
    const bool is_fresh = page.is_fresh();
    const double before = is_fresh ? 0.0 : load(*pool.descale, pool.descale->offset(page.page, head));
    if (!is_fresh && !is_descale(before)) return std::nullopt;
    return numbers_.of_page(most, largest(pool.pool->type), is_fresh, before);
  }

  /// The old contents of the page and head, in units of the new descale. NaN keeps its bits.
  void rescale(const append_pool& pool, std::size_t nth, std::int64_t head, const std::optional<scale>& divisor,
               enclosed_tensor& t) const {
    if (divisor && !numbers_.grows(*divisor)) return;
    for (std::int64_t slot = 0; slot < view_.stated().page_size; ++slot) {
      std::size_t at = index_of(pool, nth, slot, head);
      for (std::int64_t d = 0; d < pool.dim; ++d, ++at) {
        const double value = decode(t.type, t.held[at]);
        if (!std::isnan(value)) set(t, at, divisor ? numbers_.rescaled(value, *divisor) : everything);
      }
    }
  }

  row_values values_of(const append_pool& pool, const appended_row& r, std::int64_t head) const {
    std::vector<double> x(static_cast<std::size_t>(pool.dim));
    for (std::size_t d = 0; d < x.size(); ++d)
      x[d] = load(*pool.added, pool.added->offset(r.row, head, static_cast<std::int64_t>(d)));
    row_values values(x.size());
    if (!pool.is_rotated) {
      for (std::size_t d = 0; d < x.size(); ++d)
        if (std::isfinite(x[d])) values[d] = numbers_.exactly(x[d]);
      return values;
    }
    const bool is_half = view_.stated().rotary == rotary_kind::half;
    for (std::size_t pair = 0; pair < x.size() / 2; ++pair) {
      const std::size_t i = is_half ? pair : 2 * pair, j = is_half ? pair + x.size() / 2 : 2 * pair + 1;
      const double c = view_.cosine(r.position, static_cast<std::int64_t>(pair));
      const double s = view_.sine(r.position, static_cast<std::int64_t>(pair));
      if (!std::isfinite(x[i]) || !std::isfinite(x[j]) || !std::isfinite(c) || !std::isfinite(s)) continue;
      values[i] = numbers_.rotated(x[i], c, -x[j], s);
      values[j] = numbers_.rotated(x[j], c, x[i], s);
    }
    return values;
  }

  append_view view_;
  Numbers numbers_;
};

}  // namespace assay::oracle
