#include <fmt/format.h>

#include <array>
#include <span>

#include "properties/generate/kernel_space.hpp"
#include "properties/generate/large.hpp"
#include "properties/relations/agreement.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Few and many, odd and even, more than there are tiles. Kernels join partials some at a time, by powers of two or by
/// 16: none of a step is missing, or a next one has one alone.
constexpr std::array<std::int32_t, 14> counts{1, 2, 3, 4, 5, 8, 16, 17, 32, 33, 48, 64, 65, 128};

std::string splits_of(const detailed_run& run) {
  return fmt::format("{} splits", run.ran.planned.num_splits);
}

/// Of a crowd of sequences, 128 splits are millions of blocks, nearly all of them empty.
std::span<const std::int32_t> counts_for(const attention_case& c) {
  return std::span(counts).first(std::ssize(c.sequences) > most_sequences_of_all ? 4 : counts.size());
}

verdict check(const library& lib, const attention_case& c) {
  const std::span<const std::int32_t> counts_of_case = counts_for(c);
  const detailed_run base = run_in_detail(lib, c);
  if (base.result.result != outcome::pass) return base.result;

  verdict result = base.result;
  int compared = 0;
  for (std::uint64_t n = 0; n < 2; ++n) {
    attention_case other = c;
    other.num_splits = counts_of_case[(c.data.seed + 3 * n) % counts_of_case.size()];
    if (const std::int64_t most = lib.support_of(c.kernel).most_splits; most != 0 && other.num_splits > most)
      other.num_splits = static_cast<std::int32_t>(1 + (n + c.data.seed) % static_cast<std::uint64_t>(most));
    if (other.num_splits == base.ran.planned.num_splits) continue;
    const detailed_run run = run_in_detail(lib, other);
    result.kernel_seconds += run.result.kernel_seconds;
    result.oracle_seconds += run.result.oracle_seconds;
    // More splits need more workspace than may be allowed; else a library that states what it takes must take them.
    if (run.result.result == outcome::discard) {
      if (lib.declares(c.kernel) && c.workspace_budget_bytes == 0 && run.result.origin == refusal_origin)
        return failed(refusal_origin, fmt::format("with {} splits, which it says that it takes: {}", other.num_splits,
                                                  run.result.what));
      continue;
    }
    if (run.result.result == outcome::undecided) return run.result;
    if (run.result.result == outcome::fail) {
      if (run.result.origin != "enclosure") return run.result;
      return failed(split_count.name, fmt::format("{} splits pass, but with {} {}", base.ran.planned.num_splits,
                                                  run.ran.planned.num_splits, run.result.what));
    }
    if (const auto wrong = first_disagreement(base.given, {base.given, base.ran, base.bounds, splits_of(base)},
                                              {run.given, run.ran, run.bounds, splits_of(run)}))
      return failed(split_count.name, *wrong);
    ++compared;
  }
  return compared > 0 ? result : discarded("no other number of splits could be run");
}

}  // namespace

const property split_count{"split_count", "the number of splits does not change the result, within enclosures", check,
                           nullptr, has_splits | takes_split_counts};

}  // namespace assay::relations
