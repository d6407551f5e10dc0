#include "properties/generate/turns.hpp"

#include <algorithm>
#include <tuple>

#include "properties/generate/kernel_space.hpp"
#include "properties/generate/large.hpp"

namespace assay {
namespace {

constexpr std::int64_t one_of = 11;
constexpr std::int32_t empty_ways = 3;

/// A way to be large or empty, and how often it was taken: by all properties, and by each.
struct way {
  case_turn turn;
  std::vector<bool> is_open_to;  ///< by property
  std::int64_t taken = 0;
  std::vector<std::int64_t> taken_by = {};
};

std::vector<way> all_ways(turn_kind kind, std::span<const std::vector<std::string>> kernels,
                          const std::vector<std::string>& types) {
  const std::int32_t count = kind == turn_kind::large ? large_ways : empty_ways;
  std::vector<way> ways;
  for (const kernel_space* kernel : kernel_spaces()) {
    std::vector<bool> is_open_to;
    for (const std::vector<std::string>& names : kernels)
      is_open_to.push_back(std::ranges::find(names, kernel->name) != names.end());
    for (const std::string& its_types : types_of_the_space(*kernel)) {
      if (!types.empty() && std::ranges::find(types, its_types) == types.end()) continue;
      for (std::int32_t nth = 0; nth < count; ++nth)
        ways.push_back({{kernel->name, its_types, nth}, is_open_to, 0, std::vector<std::int64_t>(kernels.size())});
    }
  }
  return ways;
}

/// Takes the way that was taken least; of these the one that this property took least, and then the next in order
/// after the last one. The last one, where none is open to the property.
std::size_t take(std::vector<way>& ways, std::size_t property, std::size_t last) {
  std::size_t best = ways.size();
  const auto rank = [&](std::size_t i) {
    return std::tuple(ways[i].taken, ways[i].taken_by[property], (i + ways.size() - last - 1) % ways.size());
  };
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!ways[i].is_open_to[property]) continue;
    if (best == ways.size() || rank(i) < rank(best)) best = i;
  }
  if (best == ways.size()) return last;
  ++ways[best].taken;
  ++ways[best].taken_by[property];
  return best;
}

}  // namespace

turn_kind turn_of(std::int64_t index, std::int64_t properties) {
  constexpr std::int64_t place_step = 7, due_large = 2, due_empty = 5;
  const std::int64_t place = (index / properties + index % properties * place_step) % one_of;
  return place == due_large ? turn_kind::large : place == due_empty ? turn_kind::empty : turn_kind::none;
}

case_turn way_of_turn(std::int64_t index, std::span<const std::vector<std::string>> kernels,
                      const std::vector<std::string>& types) {
  const auto properties = static_cast<std::int64_t>(kernels.size());
  const turn_kind kind = turn_of(index, properties);
  std::vector<way> ways = all_ways(kind, kernels, types);
  // Long enough for every property to take most ways; then it begins anew.
  const std::int64_t cycle = properties * one_of * 64;
  std::size_t last = ways.size() - 1;
  for (std::int64_t i = 0; i <= index % cycle; ++i)
    if (turn_of(i, properties) == kind) last = take(ways, static_cast<std::size_t>(i % properties), last);
  case_turn turn = ways[last].turn;
  const auto before = static_cast<std::int32_t>(ways[last].taken - 1);
  turn.way += before * (kind == turn_kind::large ? large_ways : empty_ways);
  return turn;
}

}  // namespace assay
