#include "properties/relations/beyond_support.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "properties/generate/choice.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/support_table.hpp"

namespace assay::relations {
namespace {

using s_ = assay_support;

/// A host cannot refuse these: they are in the data, which may be on a device. Or they are no matter of a call.
constexpr std::array<std::int32_t s_::*, 14> unseen_by_hosts{
    &s_::no_infinite_bias,
    &s_::no_spare_table_entries,
    &s_::no_padding_rows,
    &s_::no_sequences_without_rows,
    &s_::no_sequences_without_keys,
    &s_::no_rows_without_keys,
    &s_::no_dead_nan,
    &s_::no_live_nan,
    &s_::no_live_infinity,
    &s_::no_wave_32,
    &s_::no_wave_64,
    &s_::no_far_strides,
    &s_::no_extreme_scale,
    &s_::no_nonpositive_scale,
};

bool is_seen(const supported_feature& f) {
  return std::ranges::find(unseen_by_hosts, f.lacks) == unseen_by_hosts.end();
}

/// A drawn case that has the feature, and else is within the support; nothing if none of a few draws has it.
std::optional<attention_case> with_feature(const attention_case& c, const supported_feature& f,
                                           const assay_support& takes) {
  constexpr int most_draws = 8;
  space_limits small;
  small.cost_class = 0;
  small.high_pages = small.dear_cases = small.large_cases = small.empty_cases = false;
  assay_support wider = takes;
  wider.*f.lacks = 0;
  std::mt19937_64 random(c.data.seed);
  random_source source([&] { return random(); }, true);
  const std::array kernel{c.kernel};
  for (int draw = 0; draw < most_draws; ++draw) {
    attention_case made;
    walk(made, source, small, kernel);
    made = fit(made, wider);
    if (!made.sequences.empty() && f.has(made)) return made;
  }
  return std::nullopt;
}

}  // namespace

bool has_unseen_lack(const attention_case& c, const assay_support& takes) {
  return std::ranges::any_of(supported_features(), [&](const supported_feature& f) {
    return (f.operations & operation_of(c)) != 0 && takes.*f.lacks != 0 && !is_seen(f) && f.has(c);
  });
}

std::vector<case_beyond> cases_beyond_support(const attention_case& c, const assay_support& takes) {
  constexpr std::size_t most = 3;
  std::vector<const supported_feature*> lacking;
  for (const supported_feature& f : supported_features())
    if ((f.operations & operation_of(c)) != 0 && takes.*f.lacks != 0 && is_seen(f)) lacking.push_back(&f);
  std::vector<case_beyond> all;
  for (std::size_t i = 0; i < std::min(most, lacking.size()); ++i) {
    const supported_feature& f = *lacking[(c.data.seed * most + i) % lacking.size()];
    if (std::optional<attention_case> made = with_feature(c, f, takes))
      all.push_back({f.name, *made, fit(*made, takes)});
  }
  return all;
}

}  // namespace assay::relations
