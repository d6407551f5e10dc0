#include <fmt/format.h>

#include <array>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

constexpr std::array<std::int32_t, 7> counts{1, 2, 3, 4, 7, 16, 128};

// Splits divide the context between blocks and never divide a sum. So, unlike splits of attention, they change no bit.
verdict check(const library& lib, const attention_case& c) {
  relation r(context_splits, lib, c);
  for (std::uint64_t n = 0; n < 3 && !r.decided(); ++n) {
    inputs other = clone(r.given());
    const assay_support& takes = lib.support_of(c.kernel);
    const bool is_variable = takes.no_fixed_contexts != 0 || (n % 2 == 0 && takes.no_variable_contexts == 0);
    other.stated.num_splits = counts[(c.data.seed + 2 * n) % counts.size()];
    if (takes.most_splits != 0 && other.stated.num_splits > takes.most_splits)
      other.stated.num_splits = static_cast<std::int32_t>(takes.most_splits);
    other.stated.split_contexts = is_variable ? context_split::variable : context_split::fixed;
    const std::string change =
        fmt::format("cutting contexts into {} {} parts", other.stated.num_splits, is_variable ? "variable" : "fixed");
    const execution ran = execute(lib, c, other);
    if (const auto v = verdict_of(ran)) {
      r.fail("after " + change + ": " + v->what);
      break;
    }
    r.compare(r.base().written, ran.written, change);
  }
  return r.conclude();
}

}  // namespace

const property context_splits{"context_splits", "the split of contexts does not change any output bit", check, nullptr,
                              has_columns | takes_split_counts};

}  // namespace assay::relations
