#include "properties/explain/exact_distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/decode.hpp"
#include "properties/data/difference.hpp"
#include "properties/explain/covered.hpp"

namespace assay {

std::vector<double> distances_to_exact(const buffer& b, const oracle::enclosed_tensor& exact) {
  std::vector<double> distances;
  const tensor& out = b.view();
  for_each_index(b, [&](const std::vector<std::int64_t>& index) {
    const std::optional<std::int64_t> covered = flat_of(exact, index);
    if (!covered || exact.keeps(*covered)) return;  // the kernel does not write it
    const double truth = middle(exact.elements[static_cast<std::size_t>(*covered)]);
    const double value = value_at(out, offset_of(out, index));
    const double distance = value == truth ? 0.0 : std::fabs(value - truth) / oracle::ulp(out.type, truth);
    distances.push_back(std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance);
  });
  std::ranges::sort(distances);
  return distances;
}

ulp_histogram count_ulps(const std::string& tensor, const std::vector<double>& distances) {
  constexpr double largest = 1e300;
  ulp_histogram made{tensor, {0.5, 1, 2, 4, 16, 64, 256, 1024, 65536}, {}, 0, 0};
  made.counts.assign(made.ends.size() + 2, 0);
  for (const double d : distances) {
    const auto bin = static_cast<std::size_t>(std::ranges::lower_bound(made.ends, d) - made.ends.begin());
    ++made.counts[std::isfinite(d) ? bin : made.ends.size() + 1];
  }
  made.median = std::min(largest, distances[distances.size() / 2]);
  made.largest = std::min(largest, distances.back());
  return made;
}

}  // namespace assay
