#include "properties/run/teeth.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <span>

#include "oracle/encode.hpp"
#include "oracle/residual.hpp"
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

/// Numbers of K and V that a fault may cost, spread over rows. In larger cases the residual test is not asked.
constexpr std::int64_t most_numbers = std::int64_t{1} << 21;

/// Asks the residual test, once for each fault of a case: what it says of one place, it says of the others.
class residual_test {
 public:
  residual_test(const inputs& in, const execution& ran, const oracle::enclosure& bounds,
                std::span<const named_tensor> written)
      : read_(in.tensors()), ran_(ran), bounds_(bounds), written_(written) {}

  bool sees(const oracle::fault_effect& e) {
    const auto [at, is_new] = seen_.try_emplace(e.fault, false);
    if (!is_new || !e.place) return at->second;
    const auto all = oracle::spread(ran_.planned, read_, ran_.declared, bounds_, written_, e, most_numbers);
    if (!all) return false;
    std::vector<std::vector<std::uint8_t>> bytes;
    std::vector<named_tensor> faulty;
    for (const oracle::changed_tensor& t : all->tensors)
      if (!is_left_out(ran_.written, bounds_.tensors[t.tensor].name)) faulty.push_back(changed(t, bytes));
    return at->second = oracle::test_residuals(ran_.planned, read_, faulty, ran_.declared, e.place->sequence)
                            .finding.has_value();
  }

 private:
  /// A copy, row major, whose memory is added to `bytes`.
  named_tensor changed(const oracle::changed_tensor& t, std::vector<std::vector<std::uint8_t>>& bytes) const {
    const oracle::enclosed_tensor& bounds = bounds_.tensors[t.tensor];
    tensor copy = *find(written_, bounds.name.c_str());
    const tensor from = copy;
    std::int64_t count = 1;
    for (std::int32_t d = copy.rank; d-- > 0; count *= copy.shape[d]) copy.stride[d] = count;
    bytes.emplace_back(static_cast<std::size_t>(count * size_bytes(copy.type)));
    copy.data = bytes.back().data();
    for_each_index(copy, [&](const std::vector<std::int64_t>& index) {
      set_bits(copy, offset_of(copy, index), bits_at(from, offset_of(from, index)));
    });
    for (const oracle::changed_element& e : t.elements) set_bits(copy, e.flat, e.bits);
    return {bounds.name.c_str(), copy};
  }

  std::vector<named_tensor> read_;
  const execution& ran_;
  const oracle::enclosure& bounds_;
  std::span<const named_tensor> written_;
  std::map<const oracle::standard_fault*, bool> seen_;
};

}  // namespace

bite& bite::operator+=(const bite& other) {
  asked += other.asked;
  seen += other.seen;
  smallest = std::min(smallest, other.smallest);
  return *this;
}

std::vector<named_bite> measure_teeth(const inputs& in, const execution& ran, const oracle::enclosure& bounds,
                                      std::uint64_t seed, bool has_residuals) {
  const std::vector<named_tensor> read = in.tensors();
  std::vector<named_tensor> written = ran.written.tensors();
  const std::vector<buffer> others = stand_ins(ran, bounds);
  for (const buffer& b : others) written.push_back({b.name().c_str(), b.view()});
  std::vector<named_bite> bites;
  residual_test residuals(in, ran, bounds, written);
  for (oracle::fault_effect& e : fault_effects(ran.planned, read, ran.declared, bounds, written, seed)) {
    leave_out(e, bounds, ran.written);
    const oracle::fault_sighting sighting = ask_judge(e, bounds, written);
    if (!sighting.changes) continue;
    auto at = std::ranges::find(bites, e.fault->name, &named_bite::fault);
    if (at == bites.end()) at = bites.insert(bites.end(), {e.fault->name, {}});
    at->counts +=
        sighting.is_seen || (has_residuals && residuals.sees(e)) ? bite{1, 1, sighting.size} : bite{.asked = 1};
  }
  return bites;
}

}  // namespace assay
