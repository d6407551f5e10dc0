#include "properties/run/teeth.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "oracle/encode.hpp"
#include "oracle/standard_faults.hpp"
#include "properties/data/difference.hpp"

namespace assay {
namespace {

bool is_left_out(const outputs& written, const std::string& name) {
  return std::ranges::find(written.left_out, name) != written.left_out.end();
}

/// Outputs in the places of those that the kernel does not write, each element an end of its enclosure: the effects of
/// faults are computed for all outputs together.
std::vector<buffer> stand_ins(const execution& ran, const oracle::enclosure& bounds) {
  std::vector<buffer> all;
  for (const oracle::enclosed_tensor& t : bounds.tensors) {
    if (!is_left_out(ran.written, t.name)) continue;
    buffer& b = all.emplace_back(t.name, t.type, t.shape);
    std::size_t flat = 0;
    for_each_index(b.view(), [&](const std::vector<std::int64_t>& index) {
      const double lo = t.elements[flat++].lo;
      set_bits(b.view(), offset_of(b.view(), index), oracle::encode(t.type, std::isnan(lo) ? 0 : lo));
    });
  }
  return all;
}

/// The fault as outputs show it that the kernel writes.
void leave_out(oracle::fault_effect& e, const oracle::enclosure& bounds, const outputs& written) {
  std::erase_if(e.tensors,
                [&](const oracle::changed_tensor& t) { return is_left_out(written, bounds.tensors[t.tensor].name); });
}

}  // namespace

bite& bite::operator+=(const bite& other) {
  asked += other.asked;
  seen += other.seen;
  smallest = std::min(smallest, other.smallest);
  return *this;
}

std::vector<named_bite> measure_teeth(const inputs& in, const execution& ran, const oracle::enclosure& bounds,
                                      std::uint64_t seed) {
  const std::vector<named_tensor> read = in.tensors();
  std::vector<named_tensor> written = ran.written.tensors();
  const std::vector<buffer> others = stand_ins(ran, bounds);
  for (const buffer& b : others) written.push_back({b.name().c_str(), b.view()});
  std::vector<named_bite> bites;
  for (oracle::fault_effect& e : fault_effects(ran.planned, read, ran.declared, bounds, written, seed)) {
    leave_out(e, bounds, ran.written);
    const oracle::fault_sighting sighting = ask_judge(e, bounds, written);
    if (!sighting.changes) continue;
    auto at = std::ranges::find(bites, e.fault->name, &named_bite::fault);
    if (at == bites.end()) at = bites.insert(bites.end(), {e.fault->name, {}});
    at->counts += sighting.is_seen ? bite{1, 1, sighting.size} : bite{.asked = 1};
  }
  return bites;
}

}  // namespace assay
