#include "properties/accuracy.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "oracle/decode.hpp"
#include "properties/transform.hpp"

namespace assay {

accuracy measure_accuracy(const inputs& given, const execution& ran, const verdict& judged) {
  accuracy a;
  contract unquantised = ran.declared;
  unquantised.p_type = dtype::f32;
  const oracle::enclosure exact = oracle::enclose(ran.planned, given.tensors(), unquantised);
  const tensor& o = find_buffer(ran.written.buffers, "o")->view();
  std::size_t flat = 0;
  for_each_index(o, [&](const std::vector<std::int64_t>& index) {
    const oracle::interval e = exact.tensors.front().elements[flat++];
    const double middle = e.lo / 2 + e.hi / 2;
    double distance = std::fabs(value_at(o, offset_of(o, index)) - middle);
    if (!std::isfinite(distance)) distance = std::numeric_limits<double>::infinity();
    if (distance <= a.largest) return;
    a.largest = distance;
    a.largest_ulp = distance / oracle::ulp(o.type, middle);
  });
  for (const oracle::judgement& j : judged.judgements) {
    if (j.tensor != "o") continue;
    a.worst_factor = j.worst_factor;
    a.outside_share = j.elements == 0 ? 0 : static_cast<double>(j.outside) / static_cast<double>(j.elements);
  }
  return a;
}

std::string accuracy_text(const accuracy& a) {
  return fmt::format(
      "max |o - exact| {:.3g} ({:.3g} ulp); worst element at {:.4g} times its enclosure's radius, {:.1f}% "
      "of elements outside",
      a.largest, a.largest_ulp, a.worst_factor, 100 * a.outside_share);
}

}  // namespace assay
