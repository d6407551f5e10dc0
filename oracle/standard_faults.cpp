#include "oracle/standard_faults.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "oracle/decode.hpp"
#include "oracle/effects.hpp"
#include "oracle/encode.hpp"
#include "oracle/float_environment.hpp"
#include "oracle/interval.hpp"
#include "oracle/operations.hpp"

namespace assay::oracle {
namespace {

/// The offset in the tensor of a covered element.
std::int64_t offset_of(const enclosed_tensor& bounds, const tensor& t, std::int64_t flat) {
  std::int64_t offset = 0;
  for (std::size_t d = bounds.shape.size(); d-- > 1; flat /= bounds.shape[d])
    offset += flat % bounds.shape[d] * t.stride[d];
  if (bounds.shape.empty()) return 0;
  return offset + (bounds.indices ? (*bounds.indices)[static_cast<std::size_t>(flat)] : flat) * t.stride[0];
}

/// The elements of an enclosed tensor that a fault reaches, as a tensor of one axis.
enclosed_tensor reached(const enclosed_tensor& bounds, const changed_tensor& changed) {
  enclosed_tensor part{bounds.name, bounds.type, {static_cast<std::int64_t>(changed.elements.size())}, {}};
  for (const changed_element& e : changed.elements) {
    const auto at = static_cast<std::size_t>(e.flat);
    part.elements.push_back(bounds.elements[at]);
    if (!bounds.kept.empty()) part.kept.push_back(bounds.kept[at]);
    if (!bounds.held.empty()) part.held.push_back(bounds.held[at]);
  }
  return part;
}

/// The changed elements' bytes, next to each other.
std::vector<std::uint8_t> bytes_of(const changed_tensor& changed, dtype type) {
  const auto width = static_cast<std::size_t>(size_bytes(type));
  std::vector<std::uint8_t> bytes(width * changed.elements.size());
  for (std::size_t i = 0; i < changed.elements.size(); ++i)
    std::memcpy(bytes.data() + i * width, &changed.elements[i].bits, width);
  return bytes;
}

/// See fault_sighting::size.
double size_of_change(const changed_tensor& changed, const results& written) {
  const dtype type = written.bounds(changed.tensor).type;
  double change = 0, before = 0;
  for (const changed_element& e : changed.elements) {
    const double was = written.value(changed.tensor, e.flat), is = decode(type, e.bits);
    if (!std::isfinite(was) || !std::isfinite(is)) {
      if (written.bits(changed.tensor, e.flat) != e.bits) return 1;
      continue;
    }
    change = std::max(change, std::fabs(is - was));
    before = std::max(before, std::fabs(was));
  }
  return before > 0 ? change / before : change > 0 ? 1 : 0;
}

/// The number of the type next to `value` towards zero, or `value` itself.
double toward_zero(dtype type, double value) {
  return value < 0 ? round_up(type, value) : round_down(type, value);
}

}  // namespace

std::uint64_t dice::next() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

results::results(const enclosure& bounds, std::span<const named_tensor> outputs) : bounds_(bounds) {
  for (const enclosed_tensor& t : bounds.tensors) {
    outputs_.push_back(find(outputs, t.name.c_str()));
    if (outputs_.back() == nullptr) throw std::invalid_argument("oracle: output " + t.name + " is missing");
  }
}

std::uint32_t results::bits(std::size_t tensor, std::int64_t flat) const {
  const assay::tensor& t = *outputs_[tensor];
  return load_bits(t, offset_of(bounds(tensor), t, flat));
}

double results::value(std::size_t tensor, std::int64_t flat) const {
  return decode(outputs_[tensor]->type, bits(tensor, flat));
}

double results::unrounded(std::size_t tensor, std::int64_t flat) const {
  const interval& e = bounds(tensor).elements[static_cast<std::size_t>(flat)];
  const double held = value(tensor, flat);
  return std::isnan(held) || is_everything(e) ? held : std::clamp(held, e.lo, e.hi);
}

changed_element results::shifted(std::size_t tensor, std::int64_t flat, double difference) const {
  const double value = unrounded(tensor, flat) + difference;
  if (!std::isfinite(value) || difference == 0) return {flat, bits(tensor, flat)};
  const dtype type = bounds(tensor).type;
  return {flat, encode(type, round_to_nearest(type, value))};
}

changed_element results::truncated(std::size_t tensor, std::int64_t flat, bool went_up) const {
  const dtype type = bounds(tensor).type;
  const double held = value(tensor, flat), computed = unrounded(tensor, flat);
  const interval& e = bounds(tensor).elements[static_cast<std::size_t>(flat)];
  if (!std::isfinite(held) || held == 0) return {flat, bits(tensor, flat)};
  if (computed != held) return {flat, encode(type, toward_zero(type, computed))};
  if (!went_up || e.lo == e.hi) return {flat, bits(tensor, flat)};
  return {flat, encode(type, held < 0 ? next_up(type, held) : next_down(type, held))};
}

std::span<const standard_fault> standard_faults(operation_kind kind) {
  return operation_of(kind).standard_faults();
}

std::vector<fault_effect> fault_effects(const problem& planned, std::span<const named_tensor> inputs,
                                        const contract& declared, const enclosure& bounds,
                                        std::span<const named_tensor> outputs, std::uint64_t seed) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  const results written(bounds, outputs);
  dice chance(seed);
  return operation_of(planned.operation).fault_effects({planned, inputs, declared, written, chance});
}

std::optional<fault_effect> spread(const problem& planned, std::span<const named_tensor> inputs,
                                   const contract& declared, const enclosure& bounds,
                                   std::span<const named_tensor> outputs, const fault_effect& of_row,
                                   std::int64_t budget) {
  const auto spread_of_operation = operation_of(planned.operation).spread;
  if (!of_row.place || spread_of_operation == nullptr) return std::nullopt;
  const ieee_arithmetic arithmetic_of_the_proofs;
  const results written(bounds, outputs);
  dice chance(of_row.place->seed);
  return spread_of_operation({planned, inputs, declared, written, chance}, of_row, budget);
}

fault_sighting ask_judge(const fault_effect& effect, const enclosure& bounds, std::span<const named_tensor> outputs) {
  const results written(bounds, outputs);
  fault_sighting sighting;
  for (const changed_tensor& changed : effect.tensors) {
    for (const changed_element& e : changed.elements)
      sighting.changes = sighting.changes || written.bits(changed.tensor, e.flat) != e.bits;
    const enclosure part{{reached(bounds.tensors[changed.tensor], changed)}};
    const enclosed_tensor& only = part.tensors.front();
    std::vector<std::uint8_t> bytes = bytes_of(changed, only.type);
    tensor view{bytes.data(), only.type, 1, {only.shape[0]}, {1}};
    const named_tensor faulty[] = {{only.name.c_str(), view}};
    sighting.is_seen = sighting.is_seen || judge(part, faulty).front().outside > 0;
    sighting.size = std::max(sighting.size, size_of_change(changed, written));
  }
  return sighting;
}

}  // namespace assay::oracle
