#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "oracle/decode.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/descales.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

constexpr int exponents[] = {1, -2};

/// Both runs replace values of V by 1 if scaling would make them inexact. In wide types they also replace values
/// outside [2^-low, 2^low], so that scaled outputs are normal numbers of every type here.
constexpr int range_log2 = 4;

bool is_tame(dtype type, std::uint32_t bits, double magnitude) {
  for (const int exponent : exponents)
    if (!scaled_bits(type, bits, exponent)) return false;
  return size_bytes(type) == 1 || std::fabs(std::log2(magnitude)) <= range_log2;
}

/// Results nearer to zero than this are not compared: the smallest normal f16 is 2^-14, and a scaled result must not be
/// rounded as a subnormal.
constexpr double smallest_compared = 0x1p-10;
/// Far below f16's 65504, and below every f32.
constexpr double largest_compared = 0x1p14;

/// The descale that replaces a smaller one in both runs: scaled, it and its products with small codes stay normal.
constexpr double smallest_descale = 0x1p-100;

void tame_descales(inputs& in) {
  buffer* descales = find_buffer(in.buffers, "v_descale");
  if (descales == nullptr) return;
  const tensor& t = descales->view();
  for_each_index(*descales, [&](const std::vector<std::int64_t>& index) {
    const std::int64_t at = offset_of(t, index);
    const double value = value_at(t, at);
    if (value > 0 && value < smallest_descale)
      set_bits(t, at, std::bit_cast<std::uint32_t>(static_cast<float>(smallest_descale)));
  });
}

void tame(inputs& in) {
  tame_descales(in);
  const buffer& pool = *find_buffer(in.buffers, "v");
  const dtype type = pool.view().type;
  change_bits(pool, [type](std::uint32_t bits) {
    const double magnitude = std::fabs(oracle::decode(type, bits));
    // Dead memory keeps its NaNs and infinities.
    if (!std::isfinite(magnitude) || magnitude == 0 || is_tame(type, bits, magnitude)) return bits;
    return one_bits(type);
  });
}

void scale_v(inputs& in, int exponent) {
  const buffer& pool = *find_buffer(in.buffers, "v");
  const dtype type = pool.view().type;
  change_bits(pool, [=](std::uint32_t bits) { return scaled_bits(type, bits, exponent).value_or(bits); });
}

/// Equal, or both NaN: what is NaN stays NaN when V is scaled.
bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// The first element of o or o_partial that did not scale exactly.
std::optional<std::string> first_unscaled(const outputs& before, const outputs& after, int exponent) {
  std::optional<std::string> found;
  for (const buffer& b : before.buffers) {
    const tensor& x = b.view();
    const tensor& y = find_buffer(after.buffers, b.name())->view();
    const bool is_lse = b.name().starts_with("lse");
    for_each_index(x, [&](const std::vector<std::int64_t>& index) {
      if (found) return;
      const double was = value_at(x, offset_of(x, index));
      const double is = value_at(y, offset_of(y, index));
      const double wanted = is_lse ? was : std::ldexp(was, exponent);
      const bool tiny = std::fabs(was) < smallest_compared && std::fabs(is) < std::ldexp(smallest_compared, exponent);
      if (!is_lse && (tiny || std::fabs(was) > largest_compared)) return;
      if (is_same(is, wanted)) return;
      std::string at;
      for (const std::int64_t i : index) at += (at.empty() ? "" : ", ") + std::to_string(i);
      found = fmt::format("{}[{}] went from {} to {} instead of {}", b.name(), at, was, is, wanted);
    });
  }
  return found;
}

/// f16 of products or partials has subnormals where the output has none: then each run must be in its enclosure, no
/// more.
bool rounds_within(const contract& c) {
  return c.order == tile_order::any && (c.product_type == dtype::f16 || c.partial_type == dtype::f16);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(v_scaling, lib, c, other_runs::unchecked);
  if (r.decided()) return r.conclude();
  inputs tamed = clone(r.given());
  tame(tamed);
  const auto before = r.run(tamed, c, "taking extremes out of V");
  if (!before) return r.conclude();

  const int exponent = exponents[c.data.seed % 2];
  inputs scaled = clone(tamed);
  // A descale that costs a multiplication anyway may carry the factor; one that is 1 may be skipped by the kernel.
  const bool by_scale = c.v_scale != 1.0F && c.data.seed % 4 < 2;  // a kernel that takes no v_scale has 1
  const bool by_descales = !by_scale && c.kv_descale == descale_kind::per_page && c.data.seed % 8 < 6;
  if (by_scale)
    scaled.stated.v_scale = std::ldexp(c.v_scale, exponent);
  else if (by_descales)
    scale_descale(scaled, "v_descale", exponent, [](std::int64_t) { return true; });
  else
    scale_v(scaled, exponent);
  const std::string change = fmt::format("scaling {} by 2^{}",
                                         by_scale      ? "v_scale"
                                         : by_descales ? "v_descale"
                                                       : "V",
                                         exponent);
  const auto after = r.run(scaled, c, change);
  if (!after) return r.conclude();
  if (!r.compares_bits() || rounds_within(after->declared)) {
    const verdict judged = judge_execution(scaled, *after);
    if (judged.result == outcome::fail) r.fail("after " + change + ": " + judged.what);
    return r.conclude();
  }
  const auto wrong = first_unscaled(before->written, after->written, exponent);
  verdict judged = r.conclude();
  if (!wrong || judged.result == outcome::fail) return judged;  // a wrong value says more than its scaling
  r.fail("after " + change + " " + *wrong);
  return r.conclude();
}

}  // namespace

const property v_scaling{"v_scaling", "scaling V by a power of two scales the output exactly", check, nullptr,
                         has_softmax};

}  // namespace assay::relations
