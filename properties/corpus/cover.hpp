/// A small set of members that has all features, found greedily.
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

/// Whether a member is in the set, and what for.
struct placement {
  bool is_kept = false;
  std::vector<std::uint32_t> adds;  ///< features that no other kept member has; empty if not kept
};

/// Takes the pinned members, then repeatedly the member that adds most features (of equals the cheaper, then the
/// earlier one), and finally drops members that later ones made superfluous, the most expensive first. The kept members
/// together have all features.
std::vector<placement> cover(std::span<const member> members);

}  // namespace assay::corpus
