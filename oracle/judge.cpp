#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/float_environment.hpp"
#include "oracle/interval.hpp"
#include "oracle/width.hpp"

namespace assay::oracle {
namespace {

/// Calls visit(flat, offset, value) for each element, row major over the logical shape. The index is kept by counting;
/// rows that lie together are decoded together.
template <class Visit>
void for_each_element(const tensor& t, Visit visit) {
  if (t.size() == 0) return;
  const std::int64_t columns = t.rank > 0 ? t.shape[t.rank - 1] : 1, stride = t.rank > 0 ? t.stride[t.rank - 1] : 1;
  std::vector<double> values(static_cast<std::size_t>(columns));
  std::int64_t index[max_rank] = {}, flat = 0;
  for (std::int64_t row = 0; row < t.size() / columns; ++row) {
    const std::int64_t first = t.offset(index[0], index[1], index[2], index[3]);
    if (stride == 1)
      load_contiguous(t, first, columns, values.data());
    else
      for (std::int64_t c = 0; c < columns; ++c) values.data()[c] = load(t, first + c * stride);
    for (std::int64_t c = 0; c < columns; ++c) visit(flat++, first + c * stride, values.data()[c]);
    for (int d = t.rank - 2; d >= 0 && ++index[d] == t.shape[d]; --d) index[d] = 0;
  }
}

std::vector<std::int64_t> unflatten(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; flat /= shape[d]) index[d] = flat % shape[d];
  return index;
}

/// Distance from the middle in units of the radius, by the ends as the type holds them. A missed point: in half ulps.
double factor_of(double value, const interval& rounded, dtype type) {
  if (std::isnan(value)) return infinity;
  if (value == rounded.lo && value == rounded.hi) return 0;
  if (contains(rounded, value)) {
    if (!std::isfinite(rounded.lo) || !std::isfinite(rounded.hi)) return 1;
    const double radius = rounded.hi / 2 - rounded.lo / 2;
    return std::fabs(value - (rounded.lo + radius)) / radius;
  }
  if (!std::isfinite(value) || !std::isfinite(rounded.lo) || !std::isfinite(rounded.hi)) return infinity;
  const double middle = rounded.lo / 2 + rounded.hi / 2;
  const double radius = std::max(rounded.hi / 2 - rounded.lo / 2, ulp(type, middle) / 2);
  // Next to a binade's end a miss may be nearer than half an ulp of the middle: outside is still above 1.
  return std::max(std::fabs(value - middle) / radius, 1 + 0x1p-20);
}

const tensor& matching(const enclosed_tensor& bounds, std::span<const named_tensor> outputs) {
  const tensor* t = find(outputs, bounds.name.c_str());
  if (t == nullptr) throw std::invalid_argument("oracle: output " + bounds.name + " is missing");
  bool fits = t->type == bounds.type && static_cast<std::size_t>(t->rank) == bounds.shape.size();
  for (int d = 0; fits && d < t->rank; ++d) fits = t->shape[d] == bounds.shape[static_cast<std::size_t>(d)];
  fits = fits && (bounds.kept.empty() || bounds.kept.size() == bounds.elements.size());
  if (!fits || static_cast<std::size_t>(t->size()) != bounds.elements.size())
    throw std::invalid_argument("oracle: output " + bounds.name + " does not have the type and shape of its enclosure");
  return *t;
}

std::uint32_t bits_at(const tensor& t, std::int64_t offset) {
  const std::int64_t bytes = size_bytes(t.type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(t.data) + offset * bytes, static_cast<std::size_t>(bytes));
  return bits;
}

/// What an element holds that nobody wrote.
std::uint32_t unwritten_bits(dtype type) {
  return static_cast<std::uint32_t>((unwritten_byte * std::uint64_t{0x01010101}) >> (32 - 8 * size_bytes(type)));
}

judgement judge_tensor(const enclosed_tensor& bounds, const tensor& output) {
  judgement j;
  j.tensor = bounds.name;
  std::int64_t worst = -1;
  const auto rank = [&](std::int64_t flat, std::int64_t offset, double value, double factor) {
    if (worst >= 0 && !(factor > j.worst_factor)) return;
    worst = flat;
    j.worst_factor = factor;
    j.worst_value = value;
    j.worst_bits = bits_at(output, offset);
    j.worst_enclosure = bounds.elements[static_cast<std::size_t>(flat)];
    j.worst_had_to_stay = bounds.keeps(flat);
  };
  for_each_element(output, [&](std::int64_t flat, std::int64_t offset, double value) {
    ++j.elements;
    if (bounds.keeps(flat)) {
      const bool is_kept = bits_at(output, offset) == unwritten_bits(bounds.type);
      j.outside += is_kept ? 0 : 1;
      j.overwritten += is_kept ? 0 : 1;
      rank(flat, offset, value, is_kept ? 0 : infinity);
      return;
    }
    const interval& e = bounds.elements[static_cast<std::size_t>(flat)];
    if (!(e.lo <= e.hi)) throw std::logic_error("oracle: the enclosure of " + bounds.name + " is no interval");
    if (is_everything(e)) {
      ++j.unbounded;
      return;
    }
    const double lo = round_to_nearest(bounds.type, e.lo);
    const interval rounded{lo, e.lo == e.hi ? lo : round_to_nearest(bounds.type, e.hi)};
    if (e.lo != e.hi) {
      ++j.uncertain;
      j.sharp += holds_two_at_most(rounded, bounds.type) ? 1 : 0;
    }
    const bool is_inside = value >= rounded.lo && value <= rounded.hi;  // false for NaN
    if (!is_inside) ++j.outside;
    rank(flat, offset, value, factor_of(value, rounded, bounds.type));
  });
  if (worst >= 0) j.worst_index = unflatten(worst, bounds.shape);
  return j;
}

}  // namespace

std::vector<judgement> judge(const enclosure& bounds, std::span<const named_tensor> outputs) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  std::vector<judgement> verdicts;
  verdicts.reserve(bounds.tensors.size());
  for (const enclosed_tensor& t : bounds.tensors) verdicts.push_back(judge_tensor(t, matching(t, outputs)));
  return verdicts;
}

}  // namespace assay::oracle
