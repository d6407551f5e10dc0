#include "properties/run/accuracy.hpp"
#include "properties/data/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "oracle/decode.hpp"
#include "oracle/interval.hpp"
#include "properties/data/edit.hpp"

namespace assay {
namespace {

/// A NaN is infinitely far from everything; infinities of one sign are no distance apart.
double distance(double value, double from) {
  if (value == from) return 0;
  const double apart = std::fabs(value - from);
  return std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
}

double middle(const oracle::interval& e) {
  return e.lo == e.hi ? e.lo : e.lo / 2 + e.hi / 2;
}

}  // namespace

accuracy measure_accuracy(const inputs& given, const execution& ran, const verdict& judged) {
  const oracle::enclosure solution = oracle::evaluate_in_binary64(ran.planned, given.tensors());
  const oracle::enclosed_tensor& exact = solution.tensors.front();  // the problem's result comes first
  const buffer* result = find_buffer(ran.written.buffers, exact.name);
  if (result == nullptr) throw std::invalid_argument("accuracy: output " + exact.name + " is missing");

  accuracy a;
  a.tensor = exact.name;
  std::int64_t flat = 0;
  for_each_index(result->view(), [&](const std::vector<std::int64_t>& index) {
    const std::int64_t at = flat++;
    const oracle::interval& e = exact.elements[static_cast<std::size_t>(at)];
    if (exact.keeps(at) || oracle::is_everything(e)) return;
    const double value = value_at(result->view(), offset_of(result->view(), index));
    // In a case that passed NaN is due, or admitted: it has no distance.
    if (judged.result == outcome::pass && std::isnan(value)) return;
    ++a.elements;
    const double from = middle(e), far = distance(value, from);
    const double rounded = oracle::round_to_nearest(exact.type, from);
    a.largest_rounded = std::max(a.largest_rounded, distance(value, rounded));
    if (far <= a.largest) return;
    a.largest = far;
    a.largest_ulp = far / oracle::ulp(exact.type, from);
  });
  for (const oracle::judgement& j : judged.judgements) {
    if (j.tensor != exact.name) continue;
    a.worst_factor = j.worst_factor;
    a.outside_share = j.elements == 0 ? 0 : static_cast<double>(j.outside) / static_cast<double>(j.elements);
  }
  return a;
}

std::string accuracy_text(const accuracy& a) {
  if (a.elements == 0) return fmt::format("no element of {} has an exact value to compare with", a.tensor);
  return fmt::format(
      "max |{} - exact| {:.3g} ({:.3g} ulp); worst element at {:.4g} times its enclosure's radius, {:.1f}% "
      "of elements outside",
      a.tensor, a.largest, a.largest_ulp, a.worst_factor, 100 * a.outside_share);
}

}  // namespace assay
