#include "properties/run/teeth.hpp"

#include <algorithm>

#include "oracle/standard_faults.hpp"

namespace assay {

bite& bite::operator+=(const bite& other) {
  asked += other.asked;
  seen += other.seen;
  smallest = std::min(smallest, other.smallest);
  return *this;
}

std::vector<named_bite> measure_teeth(const inputs& in, const execution& ran, const oracle::enclosure& bounds,
                                      std::uint64_t seed) {
  const std::vector<named_tensor> read = in.tensors(), written = ran.written.tensors();
  std::vector<named_bite> bites;
  for (const oracle::fault_effect& e : fault_effects(ran.planned, read, ran.declared, bounds, written, seed)) {
    const oracle::fault_sighting sighting = ask_judge(e, bounds, written);
    if (!sighting.changes) continue;
    auto at = std::ranges::find(bites, e.fault->name, &named_bite::fault);
    if (at == bites.end()) at = bites.insert(bites.end(), {e.fault->name, {}});
    at->counts += sighting.is_seen ? bite{1, 1, sighting.size} : bite{.asked = 1};
  }
  return bites;
}

}  // namespace assay
