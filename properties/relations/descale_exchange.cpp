#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/walker.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/agreement.hpp"
#include "properties/relations/descales.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// One descale, and the values that it belongs to.
struct exchanged {
  std::string values;  ///< "k" or "v"
  std::int64_t page = 0;
  std::int64_t head = 0;
  int exponent = 0;
};

/// Whether the descale can be used, also after it has taken the exponent, which must cost it no bit.
bool can_take(double descale, int exponent) {
  const double scaled = std::ldexp(descale, exponent);
  return is_usable_descale(descale) && is_usable_descale(scaled) &&
         static_cast<double>(static_cast<float>(scaled)) == scaled;
}

/// Nothing if no live page has such a descale.
std::optional<exchanged> choose(inputs& in, const attention_case& c) {
  exchanged x;
  x.values = c.data.seed % 2 == 0 ? "k" : "v";
  x.head = static_cast<std::int64_t>(c.data.seed / 2 % static_cast<std::uint64_t>(c.heads_kv));
  static constexpr int exponents[] = {1, -1, 3, -2};
  x.exponent = exponents[c.data.seed / 4 % 4];
  const tensor& descale = find_buffer(in.buffers, x.values + "_descale")->view();
  std::vector<std::int64_t> pages;
  for_each_page(in, [&](std::int64_t, std::int64_t, std::int32_t& page) {
    if (can_take(value_at(descale, descale.offset(page, x.head)), x.exponent)) pages.push_back(page);
  });
  if (pages.empty()) return std::nullopt;
  x.page = pages[c.data.seed / 16 % pages.size()];
  return x;
}

/// Applies `change` to the bits of each of the values.
void edit_values(inputs& in, const exchanged& x, const std::function<std::uint32_t(dtype, std::uint32_t)>& change) {
  const tensor& t = find_buffer(in.buffers, x.values)->view();
  for (std::int64_t slot = 0; slot < t.shape[1]; ++slot)
    for (std::int64_t d = 0; d < t.shape[3]; ++d) {
      const std::int64_t at = t.offset(x.page, slot, x.head, d);
      if (std::isfinite(value_at(t, at))) set_bits(t, at, change(t.type, bits_at(t, at)));
    }
}

/// Replaces by 1 each value v whose type does not hold 2^-exponent * v exactly.
void tame(inputs& in, const exchanged& x) {
  edit_values(in, x, [&](dtype type, std::uint32_t bits) {
    return scaled_bits(type, bits, -x.exponent) ? bits : one_bits(type);
  });
}

void exchange(inputs& in, const exchanged& x) {
  edit_values(in, x,
              [&](dtype type, std::uint32_t bits) { return scaled_bits(type, bits, -x.exponent).value_or(bits); });
  const tensor& t = find_buffer(in.buffers, x.values + "_descale")->view();
  const std::int64_t at = t.offset(x.page, x.head);
  set_bits(t, at, std::bit_cast<std::uint32_t>(static_cast<float>(std::ldexp(value_at(t, at), x.exponent))));
}

// The exchange moves only powers of two from the values to the descale. Dot products, the accumulator of the page, c2
// times the descale and the ratios of descales all scale by them without rounding. So an output that the contract
// admits after the exchange is also admitted before. The enclosure of the inputs before the exchange judges the
// outputs.
verdict check(const library& lib, const attention_case& c) {
  if (c.kv_descale != descale_kind::per_page) return discarded("descales are per tensor");
  relation r(descale_exchange, lib, c, other_runs::unchecked);
  if (r.decided()) return r.conclude();
  inputs before = clone(r.given());
  const std::optional<exchanged> x = choose(before, c);
  if (!x) r.discard("no live page has a descale that can take the factor");
  if (r.decided()) return r.conclude();

  tame(before, *x);
  const auto ran = r.run(before, c, "taking extremes out of a page");
  if (!ran) return r.conclude();
  oracle::enclosure bounds;
  verdict judged = judge_execution(before, *ran, &bounds);
  if (judged.result != outcome::pass) return judged;

  inputs after = clone(before);
  exchange(after, *x);
  const std::string change = fmt::format("multiplying {}_descale[{}, {}] by 2^{} and its values by the inverse",
                                         x->values, x->page, x->head, x->exponent);
  if (const auto moved = r.run(after, c, change))
    if (const auto outside = first_outside(bounds, moved->written)) r.fail("after " + change + " " + *outside);
  return r.conclude();
}

/// Tiny descales in a sequence of two pages, and values of normal size in spite of them. Drawn cases that have both are
/// rare. With a causal mask rows may end at each page, and then none is tiny.
void make_tiny(attention_case& c) {
  constexpr std::int32_t most_keys = 1024;
  if (c.causal || c.page_size >= most_keys) return;
  ensure_keys(c, 0, c.page_size + 1);
  c.data.descales = descale_size::tiny;
  c.v_scale = space_walker::extreme_scale / static_cast<float>(amplitude(v_type(c)));
}

void adapt(attention_case& c, const assay_support& takes) {
  ensure_per_page_descales(c, takes);
  ensure_sequences(c, 1);
  ensure_rows(c, 0, 1);
  ensure_keys(c, 0, 1);
  if (c.data.seed % 4 != 1) make_tiny(c);
  // A key that some row sees: a row before the first key sees none.
  if (auto& offset = c.sequences.front().prefix_offset; offset && *offset < 0) offset = 0;
}

}  // namespace

const property descale_exchange{
    "descale_exchange", "moving a power of two from a page's values to its descale keeps the output in its enclosure",
    check, adapt, has_page_descales | takes_page_descales};

}  // namespace assay::relations
