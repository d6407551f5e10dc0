#include "properties/generate/choice.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace assay {
namespace {

std::uint64_t total_weight(std::span<const alternative> alternatives) {
  std::uint64_t total = 0;
  for (const alternative& a : alternatives) total += static_cast<std::uint64_t>(a.weight);
  assert(total >= 1 && total <= 256);
  return total;
}

const alternative& at_weight(std::span<const alternative> alternatives, std::uint64_t weight) {
  for (const alternative& a : alternatives) {
    if (weight < static_cast<std::uint64_t>(a.weight)) return a;
    weight -= static_cast<std::uint64_t>(a.weight);
  }
  return alternatives.front();
}

/// Values in the range; ranges are far below 2^63 wide.
std::uint64_t width(const alternative& a) {
  return static_cast<std::uint64_t>(a.hi - a.lo) + 1;
}

int bytes_for(std::uint64_t values) {
  int count = 0;
  for (std::uint64_t most = values - 1; most > 0; most >>= 8) ++count;
  return count;
}

}  // namespace

std::int64_t random_source::choose(std::span<const alternative> alternatives, std::int64_t) {
  constexpr std::uint64_t most_levelled = 30;
  const std::uint64_t total = total_weight(alternatives), drawn = next_();
  const bool is_level = levels_ && alternatives.size() == 2 && total <= most_levelled &&
                        std::ranges::all_of(alternatives, [](const alternative& a) { return a.weight > 0; });
  const alternative& a = is_level ? alternatives[drawn % 2] : at_weight(alternatives, drawn % total);
  return a.lo + static_cast<std::int64_t>(next_() % width(a));
}

std::uint64_t byte_source::take(int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count && !bytes_.empty(); ++i, bytes_ = bytes_.subspan(1))
    value |= std::uint64_t{bytes_.front()} << (8 * i);
  return value;
}

std::int64_t byte_source::choose(std::span<const alternative> alternatives, std::int64_t) {
  const std::uint64_t weight = alternatives.size() > 1 ? take(1) % total_weight(alternatives) : 0;
  const alternative& a = at_weight(alternatives, weight);
  return a.lo + static_cast<std::int64_t>(take(bytes_for(width(a))) % width(a));
}

std::int64_t byte_recorder::choose(std::span<const alternative> alternatives, std::int64_t current) {
  std::uint64_t weight = 0;
  for (const alternative& a : alternatives) {
    if (a.weight > 0 && current >= a.lo && current <= a.hi) {
      if (alternatives.size() > 1) bytes_.push_back(static_cast<std::uint8_t>(weight));
      const auto offset = static_cast<std::uint64_t>(current - a.lo);
      for (int i = 0; i < bytes_for(width(a)); ++i) bytes_.push_back(static_cast<std::uint8_t>(offset >> (8 * i)));
      return current;
    }
    weight += static_cast<std::uint64_t>(a.weight);
  }
  throw case_error(fmt::format("the case is outside the case space: a field holds {}", current));
}

std::int64_t exhaustive_source::choose(std::span<const alternative> alternatives, std::int64_t) {
  // Overlapping alternatives are one set of values here.
  std::vector<std::int64_t> values;
  for (const alternative& a : alternatives)
    for (std::int64_t v = a.lo; v <= a.hi; ++v)
      if (std::ranges::find(values, v) == values.end()) values.push_back(v);
  if (depth_ == steps_.size()) steps_.push_back({0, static_cast<std::int64_t>(values.size()) - 1});
  return values[static_cast<std::size_t>(steps_[depth_++].at)];
}

bool exhaustive_source::next() {
  depth_ = 0;
  while (!steps_.empty() && steps_.back().at == steps_.back().last) steps_.pop_back();
  if (steps_.empty()) return false;
  ++steps_.back().at;
  return true;
}

}  // namespace assay
