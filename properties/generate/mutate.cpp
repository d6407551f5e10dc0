#include "properties/generate/mutate.hpp"

#include <algorithm>
#include <random>

#include "properties/case/fields.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/shrink.hpp"

namespace assay {
namespace {

/// The value in one of the alternatives that is nearest to it.
std::int64_t nearest(std::span<const alternative> alternatives, std::int64_t value) {
  std::int64_t best = alternatives.front().lo, distance = std::abs(best - value);
  for (const alternative& a : alternatives) {
    if (a.weight == 0) continue;
    const std::int64_t at = std::clamp(value, a.lo, a.hi);
    if (std::abs(at - value) < distance) distance = std::abs(at - value), best = at;
  }
  return best;
}

/// The case of the space that shows the same choices; `drawn` makes those at `places`. Returns how many there were.
std::int64_t walk_again(attention_case& c, std::span<const std::string> kernels, std::set<std::int64_t> places = {},
                        choice_source* drawn = nullptr) {
  c.why.clear();
  c.workspace_budget_bytes = 0;
  c.data.overrides.clear();
  repeating_source source(std::move(places), drawn);
  walk(c, source, byte_limits, kernels);
  return source.choices();
}

/// A similar case of another kernel. Fields that the kernels do not share get their defaults: no walk would reset them.
attention_case as_of_kernel(const attention_case& c, const std::string& kernel) {
  attention_case other;
  other.kernel = kernel;
  for (const auto field : {&attention_case::heads_q, &attention_case::heads_kv, &attention_case::head_dim_qk,
                           &attention_case::page_size, &attention_case::num_splits})
    other.*field = c.*field;
  other.pool_pages = c.pool_pages;
  other.q_type = c.q_type;
  other.q_order = c.q_order;
  other.page_table = c.page_table;
  other.sequences = c.sequences;
  other.data = c.data;
  const data_recipe plain;
  other.data.descale_ratio = plain.descale_ratio;
  other.data.descales = plain.descales;
  for (const fill_kind of_attention : {fill_kind::long_tail, fill_kind::even_weights, fill_kind::far_logits})
    if (other.data.fill == of_attention) other.data.fill = plain.fill;
  other.data.bias = plain.bias;
  other.data.sinks = plain.sinks;
  other.schedule = c.schedule;
  return other;
}

/// More than half of a case's choices are page ids. With uniform places, the first and last choices (types, shapes,
/// data, schedule) would hardly ever be drawn anew. So a third of the places is of all, a third of the first, a third
/// of the last choices.
std::int64_t draw_place(std::int64_t count, std::mt19937_64& random) {
  constexpr std::int64_t first_choices = 24, last_choices = 16;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  switch (random() % 3) {
    case 0: return below(count);
    case 1: return below(std::min(count, first_choices));
    default: return count - 1 - below(std::min(count, last_choices));
  }
}

}  // namespace

std::int64_t repeating_source::choose(std::span<const alternative> alternatives, std::int64_t current) {
  return places_.contains(choices_++) ? drawn_->choose(alternatives, current) : nearest(alternatives, current);
}

attention_case nearest_encodable(const attention_case& c, std::span<const std::string> kernels) {
  const std::vector<std::string> all = kernels_of_the_space();
  if (kernels.empty()) kernels = all;
  const bool is_known = std::ranges::find(kernels, c.kernel) != kernels.end();
  attention_case near = is_known ? c : as_of_kernel(c, kernels.front());
  walk_again(near, kernels);
  return near;
}

attention_case mutate_case(const attention_case& c, std::uint64_t seed, std::span<const std::string> kernels) {
  std::mt19937_64 random(seed);
  random_source drawn([&random] { return random(); });
  attention_case mutant = c;
  const std::int64_t count = walk_again(mutant, kernels);
  if (random() % 16 == 0) {  // the shrinker makes all its steps to give one
    const std::vector<attention_case> steps = simpler(mutant);
    if (!steps.empty()) mutant = steps[random() % steps.size()];
    walk_again(mutant, kernels);
    return mutant;
  }
  std::set<std::int64_t> places;
  for (std::uint64_t left = random() % 4 == 0 ? 1 + random() % 4 : 1; left > 0; --left)
    places.insert(draw_place(count, random));
  constexpr std::int64_t place_of_kernel = 0;
  if (places.erase(place_of_kernel) > 0) mutant = as_of_kernel(mutant, kernels[random() % kernels.size()]);
  walk_again(mutant, kernels, std::move(places), &drawn);
  return mutant;
}

attention_case draw_case(std::uint64_t seed, std::span<const std::string> kernels) {
  std::mt19937_64 random(seed);
  random_source drawn([&random] { return random(); });
  attention_case c;
  walk(c, drawn, byte_limits, kernels);
  return c;
}

attention_case cross_cases(const attention_case& a, const attention_case& b, std::uint64_t seed,
                           std::span<const std::string> kernels) {
  std::mt19937_64 random(seed);
  std::size_t fields = 0;
  fields::for_each<attention_case>([&](const char*, auto) { ++fields; });
  const std::size_t begin = random() % fields, end = begin + 1 + random() % (fields - begin);
  attention_case child = a;
  std::size_t at = 0;
  fields::for_each<attention_case>([&](const char*, auto pointer) {
    if (begin <= at && at < end) child.*pointer = b.*pointer;
    ++at;
  });
  if (a.kernel != b.kernel) child = as_of_kernel(child, child.kernel);
  walk_again(child, kernels);
  return child;
}

}  // namespace assay
