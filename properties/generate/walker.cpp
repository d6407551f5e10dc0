#include "properties/generate/walker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/data/recipe.hpp"

namespace assay {
namespace {

constexpr std::int32_t cost_classes = 6;
constexpr std::int64_t cost_of_class[cost_classes] = {1 << 16, 1 << 18, 1 << 20, 2 << 20, 5 << 20, 20'000'000};

std::int64_t row_cost(const attention_case& c) {
  return describe(c).pair_cost(c);
}

std::int64_t cost_class_of(const attention_case& c) {
  // A walk gives every sequence the same share, so the dearest one decides.
  std::int64_t dearest = 0;
  for (const sequence& s : c.sequences)
    dearest = std::max(dearest, std::int64_t{std::max(s.q, 1)} * std::max(s.k, c.max_model_len) * row_cost(c));
  const std::int64_t needed = dearest * static_cast<std::int64_t>(c.sequences.size());
  std::int64_t least = 0;
  while (least + 1 < cost_classes && cost_of_class[least] < needed) ++least;
  return least;
}

}  // namespace

std::vector<float> distinct(std::span<const float> values) {
  std::vector<float> kept;
  for (const float v : values)
    if (std::ranges::find(kept, v) == kept.end()) kept.push_back(v);
  return kept;
}

bool space_walker::flag(bool current, std::int32_t no_weight, std::int32_t yes_weight) {
  return pick(options(0, 1).add(no_weight, 0).add(yes_weight, 1), current ? 1 : 0) != 0;
}

void space_walker::heads() {
  static constexpr std::int64_t groups[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 32};
  set(c.heads_kv, options(1, 8).add(6, 1).add(3, 2).add(1, 3, 8));
  std::int64_t group = c.heads_q / c.heads_kv;
  const auto last = std::ranges::upper_bound(groups, limits.max_heads / c.heads_kv) - groups;
  // Where little may be spent, many heads leave less than a tile of keys.
  const bool is_cheap = limits.cost_class < 2;
  set_one_of<std::int64_t>(group, std::span(groups).first(static_cast<std::size_t>(last)), is_cheap ? 5 : 2);
  c.heads_q = static_cast<std::int32_t>(c.heads_kv * group);
}

void space_walker::head_dim(std::int32_t& field, std::int32_t step, const options& in_steps) {
  field = static_cast<std::int32_t>(step * pick(in_steps, field / step));
}

std::int64_t space_walker::cost_share(std::int64_t sequences) {
  const options classes = options(0, limits.cost_class).add(6, 0).add(8, 1).add(8, 2).add(6, 3).add(3, 4).add(1, 5);
  return cost_of_class[pick(classes, cost_class_of(c))] / sequences;
}

std::int64_t space_walker::dearest_share(std::int64_t sequences) {
  return cost_of_class[cost_classes - 1] / sequences;
}

void space_walker::sequence_count(const options& from) {
  c.sequences.resize(static_cast<std::size_t>(pick(from, static_cast<std::int64_t>(c.sequences.size()))));
}

std::int64_t space_walker::most_keys(std::int64_t share, std::int32_t rows) const {
  return std::min<std::int64_t>(limits.max_k, share / (std::max(rows, 1) * row_cost(c)));
}

std::int64_t space_walker::longest() const {
  std::int64_t most = 0;
  for (const sequence& s : c.sequences) most = std::max<std::int64_t>(most, s.k);
  return most;
}

void space_walker::prefix_offsets() {
  const bool has_offset = !c.sequences.empty() && c.sequences.front().prefix_offset.has_value();
  const bool offset = flag(has_offset, 3, 1);
  for (sequence& s : c.sequences) {
    const std::int64_t k = s.k, q = s.q;
    constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();  // the last row's position is beyond it
    s.prefix_offset = offset ? std::optional(static_cast<std::int32_t>(pick(options(-far, far)
                                                                                .add(2, 0)
                                                                                .add(4, 0, k)
                                                                                .around(2, k - q)
                                                                                .add(2, k, k + q + 66)
                                                                                .add(2, -q - 1, -1)
                                                                                .add(1, k / tile_keys * tile_keys - 1)
                                                                                .add(1, -far)
                                                                                .add(1, far),
                                                                            s.prefix_offset.value_or(0))))
                             : std::nullopt;
  }
}

void space_walker::v_descale(float& field, dtype type) {
  const auto a = static_cast<float>(amplitude(type));
  const float scales[] = {1.0F / a,  0.71F / a,         1.3F / a,          0.03F,   0.5F / a, 2.0F / a, -1.0F / a, 0.0F,
                          -0.6F / a, extreme_scale / a, 1 / extreme_scale, 6e4F / a};
  field = a == 1 ? 1.0F : field;
  if (a != 1) set_one_of<float>(field, scales, 4);
}

void space_walker::descale(float& field, dtype type, float beside) {
  const auto a = static_cast<float>(amplitude(type)) * beside;
  const float scales[] = {1.0F / a, 0.71F / a, 1.3F / a, 0.03F / beside, 0.5F / a, 2.0F / a};
  field = a == 1 ? 1.0F : field;
  if (a != 1) set_one_of<float>(field, scales, 2);
}

void space_walker::logit_descales() {
  const bool is_extreme = std::fabs(c.scale) > 0x1p30F, has_q_scale = amplitude(c.q_type) != 1;
  const bool is_of_q = is_extreme && has_q_scale && flag(std::fabs(c.q_scale) < 0x1p-30F, 1, 1);
  const float beside = is_extreme ? extreme_scale : 1.0F;
  descale(c.q_scale, c.q_type, is_of_q ? beside : 1.0F);
  descale(c.k_scale, c.kv_type, is_of_q ? 1.0F : beside);
}

void space_walker::soft_cap() {
  static constexpr float caps[] = {0.0F, 50.0F, 30.0F, 8.0F, 1.0F};
  set_one_of<float>(c.soft_cap, caps, 12);
}

void space_walker::data() {
  if (!limits.vary_data) return;
  had_long_tail_ = c.data.fill == fill_kind::long_tail && (describe(c).capabilities & has_softmax) != 0;
  had_even_weights_ = c.data.fill == fill_kind::even_weights && (describe(c).capabilities & has_softmax) != 0;
  had_far_logits_ = c.data.fill == fill_kind::far_logits && (describe(c).capabilities & has_softmax) != 0;
  const fill_kind now = had_long_tail_ || had_even_weights_ || had_far_logits_ ? fill_kind::normal : c.data.fill;
  c.data.fill = static_cast<fill_kind>(
      pick(options(0, static_cast<int>(fill_kind::rounding_ties)).add(4, 0).add(10, 1, 10), static_cast<int>(now)));
  c.data.seed = static_cast<std::uint64_t>(
      pick(options(0, 0xFFFFFFFF).add(1, 1).add(15, 0, 0xFFFFFFFF), static_cast<std::int64_t>(c.data.seed)));
  static constexpr poison_kind poisons[] = {poison_kind::nan, poison_kind::inf, poison_kind::huge, poison_kind::zero};
  set_one_of<poison_kind>(c.data.poison, poisons, 6);
}

void space_walker::long_tail() {
  // Often where it shows: where rows see all of many keys, and nothing else has a say in their logits.
  constexpr std::int64_t many_keys = 100;
  const bool is_plain = c.window == 0 && c.soft_cap == 0 && c.bias_type == dtype::none && !c.sinks && c.scale != 0;
  const bool is_apt = is_plain && longest() >= many_keys;
  if (limits.vary_data && flag(had_long_tail_, is_apt ? 48 : 60, is_apt ? 12 : 1)) c.data.fill = fill_kind::long_tail;
}

void space_walker::even_weights() {
  // Often where the residual test has many keys and logits of even size.
  constexpr std::int64_t many_keys = 64;
  const bool is_apt = c.bias_type == dtype::none && c.scale != 0 && longest() >= many_keys;
  if (limits.vary_data && flag(had_even_weights_, 60, is_apt ? 6 : 1)) c.data.fill = fill_kind::even_weights;
}

void space_walker::far_logits() {
  if (!limits.vary_data || (describe(c).capabilities & has_softmax) == 0) return;
  // Often where no sink takes all the weight, above all where a window hides the first tiles from some of the rows.
  const bool is_apt = !c.sinks && c.scale != 0;
  const bool hides_tiles = c.window != 0 && std::ranges::any_of(c.sequences, [&](const sequence& s) {
                             return s.q > 1 && s.k > std::max<std::int64_t>(c.window, tile_keys);
                           });
  const std::int32_t weight = !is_apt ? 1 : hides_tiles ? 60 : 4;
  if (flag(had_far_logits_, 60, weight)) c.data.fill = fill_kind::far_logits;
}

void space_walker::descale_sizes(std::span<const descale_size> sizes, std::int32_t usual_weight) {
  if (!limits.vary_data || c.kv_descale == descale_kind::per_tensor) {
    c.data.descales = descale_size::near_1;
    return;
  }
  set_one_of<descale_size>(c.data.descales, sizes, usual_weight);
  // Makes values of normal size of descales near 2^-60.
  if (c.data.descales == descale_size::tiny) c.v_scale = extreme_scale / static_cast<float>(amplitude(v_type(c)));
}

void space_walker::row_margin() {
  if (!limits.vary_memory) return;
  set(c.row_margin, options(0, 40).add(4, 0).add(4, 1, 16).add(1, 8).add(1, 17, 40));
}

void space_walker::input_margin() {
  if (!limits.vary_memory) return;
  // Pages that were laid around a byte offset of 2^31 or beyond lie there without a margin: mostly they get none.
  attention_case dense = c;
  dense.input_margin = 0;
  const std::vector<planned_tensor> tensors = plan_tensors(dense);
  const bool is_high = std::ranges::any_of(tensors, [](const planned_tensor& t) { return t.is_pool && is_sparse(t); });
  set(c.input_margin, options(0, 40).add(is_high ? 16 : 3, 0).add(3, 1, 16).add(2, 8).add(1, 16).add(1, 17, 40));
}

void space_walker::far_dimension() {
  if (limits.vary_memory) set(c.far_dimension, options(0, max_rank - 1).add(60, 0).add(1, 1, max_rank - 1));
}

void space_walker::padding_rows() {
  if (!limits.vary_memory || describe(c).kind != operation_kind::attention) return;
  // Each writes nothing, but has memory and an enclosure in every split.
  constexpr std::int64_t most_elements = std::int64_t{1} << 18, usual_splits = 16;
  const std::int64_t splits = c.num_splits == 0 ? usual_splits : c.num_splits;
  const std::int64_t most =
      c.batching == q_batching::batch
          ? 0
          : std::clamp<std::int64_t>(most_elements / (std::int64_t{c.heads_q} * c.head_dim_v * splits), 1, 40);
  set(c.padding_rows, options(0, most).add(24, 0).add(1, 1, 4).add(1, 1, most));
}

void space_walker::schedule() {
  if (!limits.vary_schedule) return;
  c.schedule.kind =
      static_cast<schedule_kind>(pick(options(0, 3).add(4, 0).add(4, 1, 3), static_cast<int>(c.schedule.kind)));
  c.schedule.seed = static_cast<std::uint64_t>(
      pick(options(0, 0xFFFF).add(1, 0, 0xFFFF), static_cast<std::int64_t>(c.schedule.seed)));
  set(c.schedule.depth, options(1, 8).add(1, 3).add(1, 1, 8));
  c.schedule.wave_size = flag(c.schedule.wave_size == 32, 1, 1) ? 32 : 64;
}

void space_walker::specials() {
  if (!limits.vary_data) return;
  static constexpr special_kind kinds[] = {special_kind::none, special_kind::nans, special_kind::infinities,
                                           special_kind::both};
  const std::size_t count = has_infinities(c.q_type) || has_infinities(v_type(c)) ? 4 : 2;
  set_one_of<special_kind>(c.data.specials, std::span(kinds).first(count), 40);
}

}  // namespace assay
