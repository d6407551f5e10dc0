#include "properties/corpus/cover.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace assay::corpus {
namespace {

/// How many kept members have each feature.
class tally {
 public:
  explicit tally(std::span<const member> members) {
    for (const member& m : members)
      for (const std::uint32_t f : m.features) times_.resize(std::max<std::size_t>(times_.size(), f + 1U), 0);
  }
  void add(const member& m, int by) {
    for (const std::uint32_t f : m.features) times_[f] += by;
  }
  /// Features of m that exactly so many kept members have.
  std::vector<std::uint32_t> with(const member& m, int times) const {
    std::vector<std::uint32_t> found;
    std::ranges::copy_if(m.features, std::back_inserter(found), [&](std::uint32_t f) { return times_[f] == times; });
    return found;
  }

 private:
  std::vector<int> times_;
};

}  // namespace

std::vector<placement> cover(std::span<const member> members) {
  std::vector<placement> placed(members.size());
  tally kept(members);
  const auto take = [&](std::size_t i) {
    placed[i].is_kept = true;
    kept.add(members[i], 1);
  };
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].is_pinned) take(i);

  for (bool more = true; more;) {
    std::size_t best = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (placed[i].is_kept) continue;
      const std::size_t adds = kept.with(members[i], 0).size();
      if (adds > most || (adds == most && adds > 0 && members[i].cost < members[best].cost)) {
        best = i;
        most = adds;
      }
    }
    more = most > 0;
    if (more) take(best);
  }

  std::vector<std::size_t> dearest_first(members.size());
  std::iota(dearest_first.begin(), dearest_first.end(), std::size_t{0});
  std::ranges::sort(dearest_first, {}, [&](std::size_t i) { return std::pair(-members[i].cost, i); });
  for (const std::size_t i : dearest_first) {
    if (!placed[i].is_kept || members[i].is_pinned || !kept.with(members[i], 1).empty()) continue;
    placed[i].is_kept = false;
    kept.add(members[i], -1);
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    if (placed[i].is_kept) placed[i].adds = kept.with(members[i], 1);
  return placed;
}

}  // namespace assay::corpus
