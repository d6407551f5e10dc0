#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "properties/data/difference.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/agreement.hpp"
#include "properties/relations/descales.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

void set_usable(inputs& in, const std::string& name, float value) {
  const buffer& b = *find_buffer(in.buffers, name);
  const tensor& t = b.view();
  for_each_index(b, [&](const std::vector<std::int64_t>& index) {
    const std::int64_t at = offset_of(t, index);
    if (is_usable_descale(value_at(t, at))) set_bits(t, at, std::bit_cast<std::uint32_t>(value));
  });
}

/// The same problem with the descales in k_scale and v_scale.
inputs per_tensor(const inputs& in, float k_descale, float v_descale) {
  inputs plain = clone(in);
  std::erase_if(plain.buffers, [](const buffer& b) { return b.name().ends_with("_descale"); });
  plain.stated.kv_descale = descale_kind::per_tensor;
  plain.stated.k_scale *= k_descale;
  plain.stated.v_scale *= v_descale;
  return plain;
}

/// Whether two contracts are the same but for what only per-page descales use.
bool same_arithmetic(contract a, contract b) {
  using words = std::array<std::uint32_t, sizeof(contract) / sizeof(std::uint32_t)>;
  static_assert(sizeof(words) == sizeof(contract));
  a.tile_rows = b.tile_rows = 0;
  a.merge_roundings = b.merge_roundings = 0;
  return std::bit_cast<words>(a) == std::bit_cast<words>(b);
}

verdict check(const library& lib, const attention_case& c) {
  if (c.kv_descale != descale_kind::per_page) return discarded("descales are per tensor");
  relation r(equal_descales, lib, c);
  if (r.decided()) return r.conclude();

  static constexpr float of_k[] = {0.5F, 4.0F}, of_v[] = {2.0F, 0.25F};
  const float k_descale = of_k[c.data.seed % 2];
  float v_descale = of_v[c.data.seed / 2 % 2];
  // A v_scale of 1 may cost fewer roundings than the same factor from a page.
  if (c.v_scale * v_descale == 1) v_descale *= 8;

  inputs equal = clone(r.given());
  set_usable(equal, "k_descale", k_descale);
  set_usable(equal, "v_descale", v_descale);
  const std::string paged_how = fmt::format("per-page descales {} and {} everywhere", k_descale, v_descale);
  const auto paged = r.run(equal, c, "setting " + paged_how);
  if (!paged) return r.conclude();
  oracle::enclosure paged_bounds;
  if (verdict v = judge_execution(equal, *paged, &paged_bounds); v.result != outcome::pass) return v;

  inputs plain = per_tensor(equal, k_descale, v_descale);
  const std::string plain_how = fmt::format("k_scale times {} and v_scale times {}", k_descale, v_descale);
  const auto ran = r.run(plain, c, "moving equal descales into k_scale and v_scale");
  if (!ran) return r.conclude();
  oracle::enclosure plain_bounds;
  if (verdict v = judge_execution(plain, *ran, &plain_bounds); v.result != outcome::pass) return v;

  if (const auto wrong =
          per_tensor_disagreement({equal, *paged, paged_bounds, paged_how}, {plain, *ran, plain_bounds, plain_how}))
    r.fail(*wrong);
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& takes) {
  ensure_per_page_descales(c, takes);
  ensure_sequences(c, 1);
  ensure_rows(c, 0, 1);
  ensure_keys(c, 0, 1);
}

}  // namespace

std::optional<std::string> per_tensor_disagreement(const enclosed_run& paged, const enclosed_run& plain) {
  if (!same_arithmetic(paged.ran.declared, plain.ran.declared)) return first_disagreement(plain.given, paged, plain);
  if (auto outside = first_outside(plain.bounds, paged.ran.written)) return paged.how + ": " + *outside;
  if (auto outside = first_outside(paged.bounds, plain.ran.written)) return plain.how + ": " + *outside;
  return std::nullopt;
}

const property equal_descales{"equal_descales", "equal per-page descales give the per-tensor result, within enclosures",
                              check, adapt, has_page_descales | takes_page_descales | takes_tensor_descales};

}  // namespace assay::relations
