/// append_kv in plain scalar f32 that follows the contract and takes its freedoms. With a fault planted it breaks one
/// rule. Shares no code with the oracle.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/oracle/append_setting.hpp"

namespace assay::testing {

enum class append_fault {
  none,
  neighbours_scale,  ///< codes in units of the descale of the next page
  not_rescaled,      ///< old codes stay where the descale grows
  slot_off_by_one,
  skipped_written,  ///< a negative slot counts from the pool's first page that some row goes to
  truncates,        ///< codes are cut towards 0
  wrong_head,
  nan_changed,        ///< NaN among old codes becomes another code
  stays_changed,      ///< one bit of a slot that this call does not write
  descale_off,        ///< one ulp above the largest that is allowed
  wrong_pairs,        ///< the other kind of rotation
  fresh_keeps_scale,  ///< a fresh page's descale takes the old one into account
};

/// Which of the contract's freedoms a run takes, and how many roundings they are.
struct append_style {
  bool divides_scale = true;    ///< A / F, else A times 1 / F
  bool divides_x = true;        ///< x / D', else x times 1 / D'
  int rescales = 0;             ///< 0: (c D) / D', 1: c (D / D'), 2: c (D (1 / D')), 3: (c (1 / D')) D
  bool fuses_rotation = false;  ///< fma(a, c, -(b s))

  contract declared() const {
    contract c;
    c.rotary_roundings = 3;
    c.scale_roundings = divides_scale ? 1 : 2;
    c.quantise_roundings = divides_x ? 1 : 2;
    c.rescale_roundings = rescales < 2 ? 2 : 3;
    return c;
  }
};

/// Bits of the number of the type nearest to an f32, ties to even; 8-bit types saturate, also from infinity.
inline std::uint32_t code_of(dtype type, float y, bool truncates = false) {
  if (!is_code(type)) return encode(type, static_cast<double>(y));
  if (std::isnan(y)) return type == dtype::e4m3fn ? 0x7FU : 0x80U;  // a planted fault reads dead memory
  const double size = std::min(std::fabs(static_cast<double>(y)), 4 * largest_of(type));
  if (type == dtype::i8) {
    const double whole = truncates ? std::trunc(size) : std::nearbyint(size);
    const double limited = y < 0 ? std::max(-whole, -128.0) : std::min(whole, 127.0);
    return static_cast<std::uint8_t>(static_cast<std::int8_t>(limited));
  }
  const bool fnuz = type == dtype::e4m3fnuz;
  const int bias = fnuz ? 8 : 7, least = 1 - bias;
  int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  const double steps = std::ldexp(size, 3 - exponent);
  double whole = truncates ? std::floor(steps) : std::nearbyint(steps);
  if (whole == 16) whole = 8, ++exponent;
  const double value = std::min(std::ldexp(whole, exponent - 3), largest_of(type));
  if (value < largest_of(type) && whole < 8) exponent = least - 1;  // subnormal: no leading bit
  std::uint32_t bits = static_cast<std::uint32_t>((exponent + bias) << 3) + (static_cast<std::uint32_t>(whole) & 7U);
  if (value >= largest_of(type)) bits = fnuz ? 0x7FU : 0x7EU;
  return bits == 0 && fnuz ? 0U : bits | (std::signbit(y) ? 0x80U : 0U);
}

class append_scalar_kernel {
 public:
  append_scalar_kernel(const setting& s, append_style style, append_fault planted = append_fault::none)
      : s_(s), p_(s.stated), style_(style), fault_(planted) {}

  /// k, v and the descales, as they are after the call.
  std::vector<memory> run() {
    std::vector<memory> outputs;
    std::vector<memory> descales;
    for (const char* name : {"k", "v"}) {
      outputs.push_back(copy_of(s_[name]));
      if (p_.kv_descale == descale_kind::per_page) descales.push_back(copy_of(s_[std::string(name) + "_descale"]));
      append(name[0], outputs.back(), descales.empty() ? nullptr : &descales.back());
    }
    outputs.insert(outputs.end(), descales.begin(), descales.end());
    return outputs;
  }

  /// Slots that the fault moves or adds are not counted.
  std::int64_t rows_stored() const { return rows_stored_; }

 private:
  static constexpr float least_descale = 0x1p-64F;

  void append(char which, const memory& pool, const memory* descale) {
    const bool is_quantised = p_.q_type != pool.view.type;
    for (std::int64_t head = 0; head < p_.heads_kv; ++head) {
      if (descale != nullptr)
        for (std::int64_t page = 0; page < p_.num_pages; ++page) update_page(which, page, head, pool, *descale);
      for (std::int64_t row = 0; row < p_.total_q; ++row) {
        const std::int64_t slot = target(row);
        if (slot < 0) continue;
        const float per_tensor = which == 'k' ? p_.k_scale : p_.v_scale;
        const float s = descale == nullptr ? per_tensor : divisor(slot / p_.page_size, head, *descale);
        const std::int64_t from = fault_ == append_fault::wrong_head ? (head + 1) % p_.heads_kv : head;
        const memory& added = s_[std::string(1, which) + "_new"];
        for (std::int64_t d = 0; d < pool.view.shape[3]; ++d) {
          const std::int64_t to = pool.view.offset(slot / p_.page_size, slot % p_.page_size, head, d);
          float x = element(which, row, from, d);
          // A skipped row is dead and may be NaN, as may the slot: of a number it can be seen that it was written.
          if (fault_ == append_fault::skipped_written && std::isnan(x)) x = 1.0F;
          if (is_quantised)
            pool.set_bits(to, code_of(pool.view.type, quotient(x, s), fault_ == append_fault::truncates));
          else if (is_rotated(which))
            pool.set_bits(to, code_of(pool.view.type, x));
          else
            pool.set_bits(to, bits_of(added, added.view.offset(row, from, d)));
        }
        ++rows_stored_;
      }
    }
    if (fault_ == append_fault::stays_changed) change_a_bit(pool);
  }

  std::int64_t target(std::int64_t row) const {
    const std::int64_t slot = slot_at(s_["slots"], row);
    if (slot < 0 && fault_ == append_fault::skipped_written) return first_page() * p_.page_size + p_.page_size - 1;
    if (slot >= 0 && fault_ == append_fault::slot_off_by_one)
      return slot / p_.page_size * p_.page_size + (slot + 1) % p_.page_size;
    return slot;
  }

  std::int64_t first_page() const {
    for (std::int64_t row = 0; row < p_.total_q; ++row)
      if (slot_at(s_["slots"], row) >= 0) return slot_at(s_["slots"], row) / p_.page_size;
    return 0;
  }

  bool is_rotated(char which) const { return which == 'k' && p_.rotary != rotary_kind::none; }

  bool writes(std::int64_t slot) const {
    for (std::int64_t row = 0; row < p_.total_q; ++row)
      if (slot_at(s_["slots"], row) == slot) return true;
    return false;
  }

  /// x of the contract.
  float element(char which, std::int64_t row, std::int64_t head, std::int64_t d) const {
    const memory& added = s_[std::string(1, which) + "_new"];
    const auto at = [&](std::int64_t i) { return float_at(added, added.view.offset(row, head, i)); };
    if (!is_rotated(which)) return at(d);
    const std::int64_t pairs = p_.head_dim_qk / 2;
    const bool is_half = (p_.rotary == rotary_kind::half) != (fault_ == append_fault::wrong_pairs);
    const std::int64_t pair = is_half ? d % pairs : d / 2;
    const float a = at(is_half ? pair : 2 * pair), b = at(is_half ? pair + pairs : 2 * pair + 1);
    // A skipped row has none; with skipped_written any will do.
    const std::int64_t position = std::int64_t{bits_of(s_["positions"], row)} % s_["rope_cos"].view.shape[0];
    const float c = float_at(s_["rope_cos"], position * pairs + pair);
    const float s = float_at(s_["rope_sin"], position * pairs + pair);
    const bool is_first = is_half ? d < pairs : d % 2 == 0;
    const float x = is_first ? a : b, y = is_first ? -b : a;
    if (style_.fuses_rotation) return std::fma(x, c, y * s);
    const float left = x * c, right = y * s;
    return left + right;
  }

  float quotient(float x, float s) const { return style_.divides_x ? x / s : x * (1.0F / s); }

  float divisor(std::int64_t page, std::int64_t head, const memory& descale) const {
    if (fault_ == append_fault::neighbours_scale) {
      const float next = float_at(s_[descale.name], (page + 1) % p_.num_pages * p_.heads_kv + head);
      return std::isfinite(next) ? next : 1.0F;
    }
    return float_at(descale, page * p_.heads_kv + head);
  }

  void update_page(char which, std::int64_t page, std::int64_t head, const memory& pool, const memory& descale) {
    float most = 0;
    bool is_touched = false;
    for (std::int64_t row = 0; row < p_.total_q; ++row) {
      const std::int64_t slot = slot_at(s_["slots"], row);
      if (slot < 0 || slot / p_.page_size != page) continue;
      is_touched = true;
      for (std::int64_t d = 0; d < pool.view.shape[3]; ++d)
        most = std::max(most, std::fabs(element(which, row, head, d)));
    }
    if (!is_touched) return;
    const auto f = static_cast<float>(largest_of(pool.view.type));
    const std::int64_t at = page * p_.heads_kv + head;
    const float grown = style_.divides_scale ? most / f : most * (1.0F / f), before = float_at(descale, at);
    const bool is_fresh = writes(page * p_.page_size);
    float after = std::max(grown, is_fresh ? least_descale : before);
    if (is_fresh && fault_ == append_fault::fresh_keeps_scale && before > after) after = before;
    descale.set_bits(at, std::bit_cast<std::uint32_t>(after) + (fault_ == append_fault::descale_off ? 1U : 0U));
    if (!is_fresh && after > before) rescale(page, head, before, after, pool);
  }

  void rescale(std::int64_t page, std::int64_t head, float before, float after, const memory& pool) const {
    if (fault_ == append_fault::not_rescaled) return;
    for (std::int64_t slot = 0; slot < p_.page_size; ++slot)
      for (std::int64_t d = 0; d < pool.view.shape[3]; ++d) {
        if (writes(page * p_.page_size + slot)) continue;
        const std::int64_t at = pool.view.offset(page, slot, head, d);
        const std::uint32_t code = bits_of(pool, at);
        const bool is_nan = is_nan_code(pool.view.type, code);
        if (is_nan && fault_ == append_fault::nan_changed) pool.set_bits(at, code ^ 0x81U);
        if (!is_nan)
          pool.set_bits(at, code_of(pool.view.type, rescaled(value_of(pool.view.type, code), before, after)));
      }
  }

  float rescaled(float c, float before, float after) const {
    switch (style_.rescales) {
      case 0: return c * before / after;
      case 1: return c * (before / after);
      case 2: return c * (before * (1.0F / after));
      default: return c * (1.0F / after) * before;
    }
  }

  /// Of the first slot beside those written in a page that some row goes to.
  void change_a_bit(const memory& pool) const {
    for (std::int64_t slot = 0; slot < p_.page_size; ++slot)
      if (!writes(first_page() * p_.page_size + slot)) {
        const std::int64_t at = pool.view.offset(first_page(), slot, 0, 1);
        pool.set_bits(at, bits_of(pool, at) ^ 1U);
        return;
      }
  }

  const setting& s_;
  const problem& p_;
  append_style style_;
  append_fault fault_;
  std::int64_t rows_stored_ = 0;
};

}  // namespace assay::testing
