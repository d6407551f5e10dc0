#include "properties/relations/agreement.hpp"
#include "properties/data/difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "oracle/decode.hpp"
#include "properties/data/edit.hpp"

namespace assay::relations {
namespace {

/// Unit roundoff and half the smallest subnormal.
struct rounding {
  double relative;
  double absolute;
};

rounding rounding_of(dtype type) {
  switch (type) {
    case dtype::f16: return {0x1p-11, 0x1p-25};
    case dtype::bf16: return {0x1p-8, 0x1p-134};
    case dtype::tf32: return {0x1p-10, 0x1p-126};  // cut, and subnormals to zero
    case dtype::e4m3fn: return {0x1p-4, 0x1p-10};
    case dtype::e4m3fnuz: return {0x1p-4, 0x1p-11};
    case dtype::e5m2: return {0x1p-3, 0x1p-17};
    case dtype::e5m2fnuz: return {0x1p-3, 0x1p-18};
    case dtype::f32:
    case dtype::i8:
    case dtype::i32:
    case dtype::i64:
    case dtype::none: break;
  }
  return {0x1p-24, 0x1p-150};
}

/// How far rounding P moves O, in units of the largest |v|.
double moved_by_p_of(const contract& declared, std::int64_t keys) {
  const rounding p = rounding_of(declared.p_type);
  const double tiny = std::ldexp(std::max(p.absolute, static_cast<double>(declared.p_flush)), -declared.p_shift);
  return p.relative + static_cast<double>(keys) * tiny;
}

/// Only over keys of sequences; the rest of the pool does not matter.
double largest_live_v(const inputs& in) {
  const tensor& v = find_buffer(in.buffers, "v")->view();
  double largest = 0;
  for (std::int64_t s = 0; s < in.stated.num_seqs; ++s)
    for (std::int64_t j = 0; j < keys_of(in, s); ++j) {
      const std::int64_t page = page_entry(in, s, j / in.stated.page_size);
      for (std::int64_t h = 0; h < v.shape[2]; ++h)
        for (std::int64_t d = 0; d < v.shape[3]; ++d) {
          const double magnitude = std::fabs(value_at(v, v.offset(page, j % in.stated.page_size, h, d)));
          if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);  // hidden keys may hold anything
        }
    }
  return largest * std::fabs(in.stated.v_scale);
}

bool has_exact_atoms(const contract& c) {
  return c.qk_atom.sum != atom_sum::undeclared || c.pv_atom.sum != atom_sum::undeclared;
}

/// By the bounds of the atoms' errors, those of Q K^T where its atoms are not the other's.
oracle::enclosure enclosure_by_bounds(const enclosed_run& run, const contract& other) {
  contract bounded = run.ran.declared;
  bounded.pv_atom = {};
  if (bounded.qk_atom != other.qk_atom) bounded.qk_atom = {};
  return oracle::enclose(run.ran.planned, run.given.tensors(), bounded);
}

const oracle::enclosed_tensor* find_bounds(const oracle::enclosure& e, const std::string& name) {
  const auto at = std::ranges::find(e.tensors, name, &oracle::enclosed_tensor::name);
  return at == e.tensors.end() ? nullptr : &*at;
}

/// See first_disagreement; w is that of the given enclosures.
std::optional<std::string> first_difference(const inputs& in, const enclosed_run& a, const enclosed_run& b) {
  const double moved_by_p = largest_live_v(in) * (moved_by_p_of(a.ran.declared, in.stated.max_k) +
                                                  moved_by_p_of(b.ran.declared, in.stated.max_k));
  std::optional<std::string> found;
  for (const char* name : {"o", "lse"}) {
    if (find_buffer(a.ran.written.buffers, name) == nullptr) continue;
    const tensor& x = find_buffer(a.ran.written.buffers, name)->view();
    const tensor& y = find_buffer(b.ran.written.buffers, name)->view();
    const oracle::enclosed_tensor* x_bounds = find_bounds(a.bounds, name);
    const oracle::enclosed_tensor* y_bounds = find_bounds(b.bounds, name);
    if (x_bounds == nullptr || y_bounds == nullptr) return fmt::format("{} has no enclosure", name);
    const bool is_o = std::string_view(name) == "o";
    std::size_t flat = 0;
    for_each_index(x, [&](const std::vector<std::int64_t>& index) {
      const bool may_be_special = oracle::admits_nan(x_bounds->rule(static_cast<std::int64_t>(flat))) ||
                                  oracle::admits_nan(y_bounds->rule(static_cast<std::int64_t>(flat)));
      const oracle::interval e = x_bounds->elements[flat];
      const oracle::interval f = y_bounds->elements[flat++];
      const double u = value_at(x, offset_of(x, index));
      const double v = value_at(y, offset_of(y, index));
      if (found || u == v) return;
      if (may_be_special && !(std::isfinite(u) && std::isfinite(v))) return;  // each enclosure has judged its own
      if (std::isnan(u) && std::isnan(v)) return;
      const double allowed = (e.hi - e.lo) + (f.hi - f.lo) + (is_o ? moved_by_p : 0.0);
      if (may_be_rounded(x.type, u, v, allowed)) return;
      found = fmt::format("{}[{}] is {} with {} and {} with {}: more than {} apart", name, fmt::join(index, ", "), u,
                          a.how, v, b.how, allowed);
    });
    if (found) break;
  }
  return found;
}

}  // namespace

double half_spacing(dtype type, double x) {
  return oracle::ulp(type, x) / 2;
}

bool may_be_rounded(dtype type, double u, double v, double apart) {
  if (apart == std::numeric_limits<double>::infinity()) return !std::isnan(u) && !std::isnan(v);
  if (std::isinf(u)) std::swap(u, v);
  // Of opposite infinities each is of a number past half a spacing beyond the largest, the one on either side of 0.
  const double overflows_from = oracle::largest(type) + half_spacing(type, oracle::largest(type));
  if (std::isinf(u) && u == -v) return apart >= 2 * overflows_from;
  return may_be_stored(type, v, u, std::isinf(u) ? apart : apart + half_spacing(type, u));
}

bool may_be_stored(dtype type, double stored, double value, double error) {
  if (stored == value) return true;
  if (std::isnan(stored) || !std::isfinite(value)) return false;
  if (std::isinf(stored)) return oracle::round_to_nearest(type, value + std::copysign(error, stored)) == stored;
  const double largest = oracle::largest(type);
  return std::fabs(stored - value) <= error + half_spacing(type, std::clamp(value, -largest, largest)) ||
         std::fabs(stored - value) <= error + half_spacing(type, stored);
}

std::optional<std::string> first_outside(const oracle::enclosure& bounds, const outputs& written) {
  for (const oracle::judgement& j : judge_written(bounds, written))
    if (j.outside > 0) return describe(j);
  return std::nullopt;
}

std::optional<std::string> first_disagreement(const inputs& in, const enclosed_run& a, const enclosed_run& b) {
  std::optional<std::string> found = first_difference(in, a, b);
  if (!found || !(has_exact_atoms(a.ran.declared) || has_exact_atoms(b.ran.declared))) return found;
  const oracle::enclosure of_a = enclosure_by_bounds(a, b.ran.declared), of_b = enclosure_by_bounds(b, a.ran.declared);
  return first_difference(in, {a.given, a.ran, of_a, a.how}, {b.given, b.ran, of_b, b.how});
}

}  // namespace assay::relations
