/// The standard faults of attention, at some rows and heads of a case.
#include <algorithm>
#include <cmath>
#include <optional>

#include "oracle/decode.hpp"
#include "oracle/effects.hpp"
#include "oracle/encode.hpp"
#include "oracle/faulty_row.hpp"
#include "oracle/interval.hpp"
#include "oracle/states.hpp"
#include "oracle/tiles.hpp"

namespace assay::oracle {
namespace {

constexpr double log2_e = 0x1.71547652b82fep+0;

/// A row with one fault. Returns false where the row cannot have the fault.
struct attempt {
  const fault_setting& given;
  const faulty_row& right;
  dice& chance;
  std::int64_t& key;  ///< the one that the fault strikes, where it strikes one; the row sees it
  bool may_move;      ///< whether the fault may choose another key, for all rows

  const problem& stated() const { return given.planned; }
  const problem_view& view() const { return right.view(); }
  std::size_t struck_key() const { return static_cast<std::size_t>(key - right.keys.front().key); }
  split_plan plan() const { return plan_of(view(), given.declared, right.sequence()); }
  std::int64_t split_of(const faulty_key& k) const { return plan().split_of(k.key / given.declared.tile_keys); }
};

bool drop_key(const attempt& a, faulty_row& row) {
  row.keys[a.struck_key()].weight_factor = 0;
  return true;
}

bool see_hidden_key(const attempt& a, faulty_row& row) {
  const std::int64_t next = row.keys.back().key + 1;
  if (next >= a.view().key_count(row.sequence())) return false;
  row.add(next);
  return true;
}

/// The mask of the row before it, or of the row behind it.
bool move_mask(const attempt& a, faulty_row& row) {
  const problem& p = a.stated();
  const bool is_later = a.chance.one_in(2);
  bool changed = false;
  if (is_later && p.causal != 0) changed = see_hidden_key(a, row);
  if (!is_later && p.causal != 0 && row.keys.size() > 1) row.keys.back().weight_factor = 0, changed = true;
  const std::int64_t first = row.keys.front().key;
  if (p.window != 0 && is_later && row.keys.size() > 1 && a.right.keys.size() == static_cast<std::size_t>(p.window))
    row.keys.front().weight_factor = 0, changed = true;
  if (p.window != 0 && !is_later && first > 0) row.add(first - 1), changed = true;
  return changed;
}

/// Indices of keys in the page of a key, and the next or previous page that holds visible keys.
struct page_pair {
  std::vector<std::size_t> keys;
  std::size_t other = 0;  ///< a key of the other page
};

std::optional<page_pair> neighbours(const attempt& a, const faulty_row& row) {
  const std::int64_t size = a.stated().page_size, page = row.keys[a.struck_key()].key / size;
  const auto in = [&](std::int64_t wanted) {
    return std::ranges::find_if(row.keys, [&](const faulty_key& k) { return k.key / size == wanted; });
  };
  auto other = in(page + 1);
  if (other == row.keys.end()) other = in(page - 1);
  if (other == row.keys.end()) return std::nullopt;
  page_pair pair;
  pair.other = static_cast<std::size_t>(other - row.keys.begin());
  for (std::size_t j = 0; j < row.keys.size(); ++j)
    if (row.keys[j].key / size == page) pair.keys.push_back(j);
  return pair;
}

bool take_descale(const attempt& a, faulty_row& row, double faulty_key::* descale) {
  if (!a.view().has_page_descales()) return false;
  const auto pair = neighbours(a, row);
  if (!pair || row.keys[pair->other].*descale == row.keys[pair->keys.front()].*descale) return false;
  for (const std::size_t j : pair->keys) row.keys[j].*descale = row.keys[pair->other].*descale;
  return true;
}

bool take_k_descale(const attempt& a, faulty_row& row) {
  return take_descale(a, row, &faulty_key::k_descale);
}

bool take_v_descale(const attempt& a, faulty_row& row) {
  return take_descale(a, row, &faulty_key::v_descale);
}

bool swap_page(const attempt& a, faulty_row& row) {
  const auto pair = neighbours(a, row);
  if (!pair) return false;
  const std::int64_t size = a.stated().page_size, first = row.keys[pair->other].key / size * size;
  const std::int64_t page = row.keys[pair->other].place.page;
  bool moved = false;
  for (const std::size_t j : pair->keys) {
    const std::int64_t slot = row.keys[j].place.slot;
    if (row.keys[j].place.page == page || first + slot >= a.view().key_count(row.sequence())) continue;
    row.move(j, {page, slot});
    moved = true;
  }
  return moved;
}

/// At a tile that moves its state's maximum, what the state's tiles before it in the split gave O is not rescaled.
bool miss_rescale(const attempt& a, faulty_row& row) {
  struct move {
    std::size_t begin, at;
    double factor;
  };
  const std::int64_t states = num_states(a.given.declared);
  const auto tile_of = [&](std::size_t j) { return row.keys[j].key / a.given.declared.tile_keys; };
  std::vector<move> moves;
  std::vector<double> maxima(static_cast<std::size_t>(states), -infinity);
  std::size_t begin = 0;
  for (std::size_t j = 0; j < row.keys.size();) {
    const std::int64_t tile = tile_of(j);
    if (a.split_of(row.keys[j]) != a.split_of(row.keys[begin])) {
      begin = j;
      std::ranges::fill(maxima, -infinity);
    }
    double& maximum = maxima[static_cast<std::size_t>(tile % states)];
    const double before = maximum;
    const std::size_t first = j;
    for (; j < row.keys.size() && tile_of(j) == tile; ++j) maximum = std::max(maximum, row.logit(row.keys[j]));
    if (first > begin && maximum > before && before > -infinity)
      moves.push_back({begin, first, std::exp(maximum - before)});
  }
  if (moves.empty()) return false;
  if (a.may_move)
    a.key = row.keys[moves[static_cast<std::size_t>(a.chance.below(static_cast<std::int64_t>(moves.size())))].at].key;
  const auto at = std::ranges::find_if(moves, [&](const move& m) {
    return row.keys[m.at].key / a.given.declared.tile_keys == a.key / a.given.declared.tile_keys;
  });
  if (at == moves.end()) return false;
  const move& m = *at;
  for (std::size_t j = m.begin; j < m.at; ++j)
    if ((tile_of(j) - tile_of(m.at)) % states == 0) row.keys[j].output_factor = m.factor;
  return true;
}

bool weigh_split(const attempt& a, faulty_row& row, double factor) {
  const std::int64_t split = a.split_of(row.keys[a.struck_key()]);
  bool others = false;
  for (faulty_key& k : row.keys) {
    const bool is_in = a.split_of(k) == split;
    others = others || !is_in;
    if (is_in) k.weight_factor = factor;
  }
  return others;
}

bool lose_split(const attempt& a, faulty_row& row) {
  return weigh_split(a, row, 0);
}

bool misweigh_split(const attempt& a, faulty_row& row) {
  return weigh_split(a, row, 1.01);
}

bool take_other_head(const attempt& a, faulty_row& row) {
  const std::int64_t group = a.view().heads_per_group();
  if (group == 1) return false;
  const std::int64_t first = row.head() / group * group;
  row = faulty_row(a.view(), row.sequence(), row.row_in_sequence(), first + (row.head() - first + 1) % group);
  return true;
}

bool lose_sink(const attempt& /*a*/, faulty_row& row) {
  if (row.sink == -infinity) return false;
  row.sink = -infinity;
  return true;
}

/// What the cap must take from a logit for its loss to be a fault, in nats: 1% of the key's weight. Where it takes
/// less, a sound kernel's rounding may do as much.
constexpr double least_capped = 0.01;

bool lose_soft_cap_of_key(const attempt& a, faulty_row& row) {
  if (!(a.stated().soft_cap > 0)) return false;
  const auto taken = [&](const faulty_key& k) { return k.dot * k.k_descale + k.bias - row.logit(k); };
  if (a.may_move) {
    std::vector<std::int64_t> capped;
    for (const faulty_key& k : row.keys)
      if (std::fabs(taken(k)) >= least_capped) capped.push_back(k.key);
    if (capped.empty()) return false;
    a.key = capped[static_cast<std::size_t>(a.chance.below(static_cast<std::int64_t>(capped.size())))];
  }
  faulty_key& k = row.keys[a.struck_key()];
  k.bias += taken(k);
  return true;
}

bool take_bias_of_neighbour(const attempt& a, faulty_row& row) {
  if (!a.view().has_bias() || row.keys.size() < 2) return false;
  const std::size_t j = a.struck_key(), other = j > 0 ? j - 1 : 1;
  if (row.keys[j].bias == row.keys[other].bias) return false;
  row.keys[j].bias = row.keys[other].bias;
  return true;
}

/// P toward zero in place of to nearest: against the split's last maximum, which is what most keys meet.
bool truncate_p(const attempt& a, faulty_row& row) {
  const dtype type = a.given.declared.p_type;
  if (type == dtype::f32 || type == dtype::tf32) return false;  // TF32 may be cut
  const double shift = a.given.declared.p_shift;
  bool changed = false;
  for (std::size_t j = 0; j < row.keys.size();) {
    const std::int64_t split = a.split_of(row.keys[j]);
    std::size_t end = j;
    double maximum = -infinity;
    for (; end < row.keys.size() && a.split_of(row.keys[end]) == split; ++end)
      maximum = std::max(maximum, row.logit(row.keys[end]));
    for (; j < end; ++j) {
      const double p = std::exp2((row.logit(row.keys[j]) - maximum) * log2_e + shift);
      const double right = round_to_nearest(type, p), wrong = round_down(type, p);
      if (right == wrong || right == 0) continue;
      row.keys[j].output_factor = wrong / right;
      changed = true;
    }
  }
  return changed;
}

bool misread_k_code(const attempt& a, faulty_row& row) {
  if (!is_fp8(a.stated().k_type)) return false;
  faulty_key& k = row.keys[a.struck_key()];
  std::vector<double> key(row.query().size());
  a.view().load_key(k.place, row.head() / a.view().heads_per_group(), key.data());
  const auto d = static_cast<std::size_t>(a.chance.below(static_cast<std::int64_t>(key.size())));
  k.dot += row.factor() * row.query()[d] * (as_fp8_twin(a.stated().k_type, key[d]) - key[d]);
  return true;
}

bool misread_v_code(const attempt& a, faulty_row& row) {
  if (!is_fp8(a.stated().v_type)) return false;
  std::vector<double>& value = row.values[a.struck_key()];
  double& v = value[static_cast<std::size_t>(a.chance.below(static_cast<std::int64_t>(value.size())))];
  v = as_fp8_twin(a.stated().v_type, v);
  return true;
}

/// Faults of the keys and their weights.
struct key_fault {
  standard_fault fault;
  bool (*apply)(const attempt& a, faulty_row& row);
};

constexpr key_fault key_faults[] = {
    {{"key_dropped", "one visible key is not seen"}, drop_key},
    {{"hidden_key_seen", "the key behind the last visible one is seen", "hidden_keys"}, see_hidden_key},
    {{"mask_off_by_one", "the mask is that of the row before or behind", "causal"}, move_mask},
    {{"page_swapped", "the keys of a page are read from its neighbour in the sequence"}, swap_page},
    {{"k_descale_of_neighbour", "a page's K descale is that of its neighbour", "page_descales", true}, take_k_descale},
    {{"v_descale_of_neighbour", "a page's V descale is that of its neighbour", "page_descales", true}, take_v_descale},
    {{"rescale_missing", "O is not rescaled at one tile that moves the maximum", "two_tiles", true}, miss_rescale},
    {{"split_lost", "one split is not combined", "filled_splits"}, lose_split},
    {{"split_misweighed", "the weight of one split is 1% too large", "filled_splits", true}, misweigh_split},
    {{"head_swapped", "the query head is its neighbour in the group", "grouped_heads"}, take_other_head},
    {{"sink_lost", "the sink is left out", "sinks"}, lose_sink},
    {{"soft_cap_lost", "a logit that the cap changes by 0.01 or more is not capped", "soft_cap", true},
     lose_soft_cap_of_key},
    {{"bias_of_neighbour", "a key has the bias of the key before it", "bias"}, take_bias_of_neighbour},
    {{"p_truncated", "P is rounded toward zero", "rounded_p", true}, truncate_p},
    {{"k_code_misread", "one FP8 code of K is decoded as the other format", "fp8", true}, misread_k_code},
    {{"v_code_misread", "one FP8 code of V is decoded as the other format", "fp8", true}, misread_v_code},
};

constexpr standard_fault lse_in_base_2{"lse_in_base_2", "the LSE is a logarithm to the base 2", "lse"};
constexpr standard_fault lse_without_scale{"lse_without_scale", "the LSE's maximum is that of the unscaled logits",
                                           "lse"};
constexpr standard_fault truncated_output{"output_truncated", "O is rounded toward zero", "", true};
constexpr standard_fault negative_zero{"negative_zero", "a row without keys holds -0", "rows_without_keys"};

std::vector<standard_fault> all_faults() {
  std::vector<standard_fault> all;
  for (const key_fault& k : key_faults) all.push_back(k.fault);
  for (const standard_fault& f : {lse_in_base_2, lse_without_scale, truncated_output, negative_zero}) all.push_back(f);
  return all;
}

const standard_fault* named(const char* name) {
  for (const standard_fault& f : attention_faults())
    if (std::string_view(f.name) == name) return &f;
  return nullptr;
}

/// O and LSE of one row and head, where the enclosure has them.
class effects_of_row {
 public:
  effects_of_row(const fault_setting& given, const faulty_row& right) : given_(given), right_(right) {
    const problem& p = given.planned;
    index_ = (right.view().first_row(right.sequence()) + right.row_in_sequence()) * p.heads_q + right.head();
    is_ = right.evaluate();
  }

  /// False where the definition gives no numbers: no difference can be taken.
  bool is_finite() const {
    return std::isfinite(is_.lse) && std::ranges::all_of(is_.o, [](double x) { return std::isfinite(x); });
  }

  fault_effect of_row(const char* name, const faulty_row& faulty) const {
    const row_result would = faulty.evaluate();
    fault_effect effect{named(name), {{0, {}}, {1, {}}}};
    for (std::size_t c = 0; c < is_.o.size(); ++c)
      effect.tensors[0].elements.push_back(given_.written.shifted(0, flat(c), would.o[c] - is_.o[c]));
    effect.tensors[1].elements.push_back(of_lse(would.lse));
    return effect;
  }

  fault_effect of_lse(const char* name, double lse) const { return {named(name), {{1, {of_lse(lse)}}}}; }

  fault_effect of_rounding(const char* name, dice& chance) const {
    fault_effect effect{named(name), {{0, {}}}};
    for (std::size_t c = 0; c < is_.o.size(); ++c)
      effect.tensors[0].elements.push_back(given_.written.truncated(0, flat(c), chance.one_in(2)));
    return effect;
  }

  /// The largest logit in place of its scaled self, in the LSE alone.
  double unscaled_lse() const {
    double largest = -infinity;
    for (const faulty_key& k : right_.keys) largest = std::max(largest, right_.logit(k));
    return is_.lse - largest + largest / right_.factor();
  }
  double lse() const { return is_.lse; }

 private:
  std::int64_t flat(std::size_t column) const {
    return index_ * given_.planned.head_dim_v + static_cast<std::int64_t>(column);
  }
  changed_element of_lse(double lse) const {
    // Without a key left the LSE is -inf.
    if (lse == -infinity) return {index_, encode(dtype::f32, lse)};
    return given_.written.shifted(1, index_, lse - is_.lse);
  }

  const fault_setting& given_;
  const faulty_row& right_;
  std::int64_t index_ = 0;
  row_result is_;
};

/// Numbers that a fault of one row may cost; larger rows get a sample of the faults.
constexpr std::int64_t budget_of_row = 1 << 18;
/// Rows with more numbers are left out: their values would not fit into the caches.
constexpr std::int64_t most_of_row = 1 << 22;

void append_effects(const fault_setting& given, const faulty_row& right, std::vector<fault_effect>& all) {
  const problem& p = given.planned;
  const effects_of_row effects(given, right);
  if (!effects.is_finite()) return;
  const std::int64_t cost = static_cast<std::int64_t>(right.keys.size()) * (std::int64_t{p.head_dim_qk} + p.head_dim_v);
  const std::int64_t one_in = std::max<std::int64_t>(1, cost / budget_of_row);
  for (const key_fault& k : key_faults) {
    if (!given.chance.one_in(one_in)) continue;
    const auto at = static_cast<std::size_t>(given.chance.below(static_cast<std::int64_t>(right.keys.size())));
    fault_place place{right.sequence(), right.keys[at].key, given.chance.next()};
    dice chance(place.seed);
    faulty_row faulty = right;
    if (!k.apply({given, right, chance, place.key, true}, faulty)) continue;
    all.push_back(effects.of_row(k.fault.name, faulty));
    all.back().place = place;
  }
  if (effects.lse() != 0) all.push_back(effects.of_lse(lse_in_base_2.name, effects.lse() * log2_e));
  if (right.factor() != 1 && right.factor() != 0 && p.soft_cap == 0 && !right.view().has_bias())
    all.push_back(effects.of_lse(lse_without_scale.name, effects.unscaled_lse()));
  all.push_back(effects.of_rounding(truncated_output.name, given.chance));
}

/// O of a row that sees no key and has no sink.
void append_zero_effect(const fault_setting& given, std::int64_t index, std::vector<fault_effect>& all) {
  fault_effect effect{named(negative_zero.name), {{0, {}}}};
  for (std::int64_t c = 0; c < given.planned.head_dim_v; ++c) {
    const std::int64_t flat = index * given.planned.head_dim_v + c;
    const bool is_zero = given.written.value(0, flat) == 0;
    effect.tensors[0].elements.push_back(
        {flat, is_zero ? encode(given.planned.o_type, -0.0) : given.written.bits(0, flat)});
  }
  all.push_back(std::move(effect));
}

}  // namespace

std::span<const standard_fault> attention_faults() {
  static const std::vector<standard_fault> all = all_faults();
  return all;
}

std::vector<fault_effect> attention_effects(const fault_setting& given) {
  const problem& p = given.planned;
  const problem_view view(p, given.inputs);
  std::vector<fault_effect> all;
  if (p.num_seqs == 0) return all;
  constexpr int rows = 2, tries = 12;
  bool has_zero = false;
  for (int found = 0, tried = 0; found < rows && tried < tries; ++tried) {
    const std::int64_t seq = given.chance.below(p.num_seqs);
    if (view.row_count(seq) == 0) continue;
    const std::int64_t i = given.chance.below(view.row_count(seq)), head = given.chance.below(p.heads_q);
    const std::int64_t keys = view.visible(seq, i).size();
    if (keys == 0 && !has_zero) {
      append_zero_effect(given, (view.first_row(seq) + i) * p.heads_q + head, all);
      has_zero = true;
    }
    if (keys == 0 || keys * (std::int64_t{p.head_dim_qk} + p.head_dim_v) > most_of_row) continue;
    append_effects(given, faulty_row(view, seq, i, head), all);
    ++found;
  }
  return all;
}

std::optional<fault_effect> spread_attention(const fault_setting& given, const fault_effect& of_row,
                                             std::int64_t budget) {
  const problem& p = given.planned;
  const problem_view view(p, given.inputs);
  fault_place place = *of_row.place;
  const auto* const k = std::ranges::find(key_faults, std::string_view(of_row.fault->name),
                                          [](const key_fault& each) { return std::string_view(each.fault.name); });
  if (k == std::end(key_faults)) return std::nullopt;
  std::int64_t numbers = 0;
  for (std::int64_t i = 0; i < view.row_count(place.sequence); ++i)
    numbers += view.visible(place.sequence, i).size() * p.heads_q * (std::int64_t{p.head_dim_qk} + p.head_dim_v);
  if (numbers > budget) return std::nullopt;
  fault_effect all{of_row.fault, {{0, {}}, {1, {}}}};
  for (std::int64_t i = 0; i < view.row_count(place.sequence); ++i) {
    const key_range seen = view.visible(place.sequence, i);
    if (place.key < seen.begin || place.key >= seen.end) continue;
    for (std::int64_t head = 0; head < p.heads_q; ++head) {
      const faulty_row right(view, place.sequence, i, head);
      faulty_row faulty = right;
      dice chance(place.seed);
      const effects_of_row effects(given, right);
      if (!effects.is_finite() || !k->apply({given, right, chance, place.key, false}, faulty)) continue;
      const fault_effect effect = effects.of_row(k->fault.name, faulty);
      for (std::size_t t = 0; t < all.tensors.size(); ++t)
        all.tensors[t].elements.insert(all.tensors[t].elements.end(), effect.tensors[t].elements.begin(),
                                       effect.tensors[t].elements.end());
    }
  }
  return all;
}

}  // namespace assay::oracle
