/// The smallest set that keeps all features, as near as greed comes to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::corpus {

/// A candidate for the set.
struct member {
  std::vector<std::uint32_t> features;
  std::int64_t cost = 0;   ///< among members that add as much, the cheaper is taken
  bool is_pinned = false;  ///< is in the set, whatever it adds
};

/// What became of a member.
struct placement {
  bool is_kept = false;
  std::vector<std::uint32_t> adds;  ///< features that no other kept member has; of one not kept: empty
};

/// Takes the pinned members, then time and again the one that adds most features (the cheaper one, the earlier one
/// among equals), and then lets go of those that later ones made superfluous, dearest first. The union of the kept
/// ones' features is that of all.
std::vector<placement> cover(std::span<const member> members);

}  // namespace assay::corpus
