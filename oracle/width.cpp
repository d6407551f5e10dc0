#include "oracle/width.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/interval.hpp"

namespace assay::oracle {

double radius_ulp(const interval& e, dtype type) {
  if (e.lo == e.hi) return 0;
  if (!std::isfinite(e.lo) || !std::isfinite(e.hi)) return infinity;
  const double middle = std::clamp(e.lo / 2 + e.hi / 2, -largest(type), largest(type));
  return (e.hi / 2 - e.lo / 2) / ulp(type, middle);
}

bool is_sharp(const interval& e, dtype type) {
  if (is_everything(e)) return false;
  return holds_two_at_most({round_to_nearest(type, e.lo), round_to_nearest(type, e.hi)}, type);
}

width_statistics measure_width(const enclosed_tensor& t) {
  width_statistics s;
  s.elements = static_cast<std::int64_t>(t.elements.size());
  if (t.elements.empty()) return s;
  std::vector<double> radii;
  radii.reserve(t.elements.size());
  std::int64_t sharp = 0;
  for (const interval& e : t.elements) {
    radii.push_back(radius_ulp(e, t.type));
    sharp += is_sharp(e, t.type) ? 1 : 0;
  }
  std::ranges::sort(radii);
  s.median_radius_ulp = radii[radii.size() / 2];
  s.p99_radius_ulp = radii[(radii.size() - 1) * 99 / 100];
  s.sharp_share = static_cast<double>(sharp) / static_cast<double>(t.elements.size());
  return s;
}

}  // namespace assay::oracle
