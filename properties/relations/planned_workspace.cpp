#include <fmt/format.h>

#include <array>
#include <limits>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

constexpr std::array<std::int32_t, 6> split_counts{1, 2, 3, 7, 64, 128};
/// Up to where rows, heads and splits leave 32 bits, and the grid.
constexpr std::array<std::int32_t, 7> factors{1, 3, 100, 4096, 65'536, 1 << 22, 1 << 28};

/// The case's problem with so many times its sequences, or its rows in each; false where an extent would leave 32 bits.
bool enlarge(problem& p, std::int32_t factor, bool in_sequences) {
  std::int32_t& other = in_sequences ? p.num_seqs : p.max_q;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (std::int64_t{other} * factor > most || std::int64_t{p.total_q} * factor > most) return false;
  other *= factor;
  p.total_q *= factor;
  return true;
}

/// What is wrong with the plan of a valid problem; empty if nothing is, or if it is too large for the library.
std::string fault_of_plan(const assay_kernel& kernel, const problem& stated) {
  problem planned;
  const assay_status status = plan_problem(kernel, stated, std::numeric_limits<std::int64_t>::max(), &planned);
  if (status.code == ASSAY_OK || status.code == ASSAY_UNSUPPORTED) return {};
  return fmt::format("of {} sequences with {} rows in {} splits: {}", stated.num_seqs, stated.total_q,
                     stated.num_splits, status.message);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(planned_workspace, lib, c);
  for (const std::int32_t factor : factors)
    for (const std::int32_t splits : split_counts)
      for (const bool in_sequences : {true, false}) {
        if (r.decided()) return r.conclude();
        problem stated = r.given().stated;
        stated.num_splits = splits;
        if (!enlarge(stated, factor, in_sequences)) continue;
        if (const std::string fault = fault_of_plan(*lib.find(c.kernel), stated); !fault.empty())
          r.fail("plan() " + fault);
      }
  return r.conclude();
}

}  // namespace

const property planned_workspace{"planned_workspace",
                                 "a plan's workspace holds the partials of its splits, for any number of rows", check,
                                 nullptr, has_splits};

}  // namespace assay::relations
