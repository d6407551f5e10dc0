#include <limits>
#include <unordered_map>

#include "properties/case/operation.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/descales.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Calls for every query row of the batch: sequence, row within it.
void for_each_row(const inputs& in, const std::function<void(std::int64_t, std::int64_t)>& visit) {
  for (std::int64_t s = 0; s < in.stated.num_seqs; ++s)
    for (std::int64_t i = 0; i < rows_of(in, s); ++i) visit(s, i);
}

/// Slots of the pool that a row sees; by page, as a pool may have billions.
class slot_set {
 public:
  explicit slot_set(std::int64_t page_size) : page_size_(static_cast<std::size_t>(page_size)) {}
  void insert(std::int64_t page, std::int64_t slot) {
    pages_.try_emplace(page, page_size_).first->second[static_cast<std::size_t>(slot)] = true;
  }
  bool contains(std::int64_t page) const { return pages_.contains(page); }
  bool contains(std::int64_t page, std::int64_t slot) const {
    const auto found = pages_.find(page);
    return found != pages_.end() && found->second[static_cast<std::size_t>(slot)];
  }

 private:
  std::size_t page_size_;
  std::unordered_map<std::int64_t, std::vector<bool>> pages_;
};

void add_visible_slots(inputs& in, std::int64_t s, std::int64_t i, slot_set& seen) {
  const std::int64_t page_size = in.stated.page_size;
  for (std::int64_t j = 0; j < keys_of(in, s); ++j)
    if (is_visible(in, s, i, j)) seen.insert(page_entry(in, s, j / page_size), j % page_size);
}

/// The slot of the key that an element of a pool tensor belongs to, by the element's logical index.
std::int64_t slot_of(const inputs& in, const std::string& name, const std::vector<std::int64_t>& index) {
  if (name != "k" || in.stated.k_order == key_order::plain) return index[1];
  // Tiles of 16 slots and 16 dims, 256 elements each, lie where a plain page has its elements.
  const std::int64_t tiles = in.stated.head_dim_qk / 16, at = index[1] * in.stated.head_dim_qk + index[3];
  return at / 256 / tiles * 16 + at % 256 / 16;
}

/// Other bits that the tensor may hold.
std::uint32_t other_of(const std::string& name, dtype type, std::uint32_t bits) {
  return name == "k_row_scale" ? other_scale_bits(bits) : other_bits(type, bits);
}

/// Replaces every element of K, V and the keys' scales in slots that are not in `seen`.
void replace_unseen(inputs& in, const slot_set& seen,
                    const std::function<std::uint32_t(const std::string&, dtype, std::uint32_t)>& replace) {
  for (const char* name : {"k", "v", "k_row_scale"}) {
    const buffer* pool = find_buffer(in.buffers, name);
    if (pool == nullptr) continue;
    const tensor& t = pool->view();
    for_each_index(*pool, [&](const std::vector<std::int64_t>& index) {
      if (seen.contains(index[0], slot_of(in, name, index))) return;
      const std::int64_t at = offset_of(t, index);
      set_bits(t, at, replace(name, t.type, bits_at(t, at)));
    });
  }
}

/// The pages that have no slot in `seen`.
page_choice unseen_pages(const slot_set& seen) {
  return [&seen](std::int64_t page) { return !seen.contains(page); };
}

/// Replaces the bias of every key that its row does not see: by poison, or by other numbers where NaN is not taken.
void replace_hidden_bias(inputs& in, bool takes_nan) {
  buffer* b = find_buffer(in.buffers, "bias");
  if (b == nullptr) return;
  const tensor& t = b->view();
  for_each_row(in, [&](std::int64_t s, std::int64_t i) {
    for (std::int64_t j = 0; j < t.shape[2]; ++j) {
      if (j < keys_of(in, s) && is_visible(in, s, i, j)) continue;
      for (std::int64_t h = 0; h < t.shape[0]; ++h) {
        const std::int64_t at = t.offset(h, first_row_of(in, s) + i, j);
        set_bits(t, at, takes_nan ? poison_bits(t.type) : other_bits(t.type, bits_at(t, at)));
      }
    }
  });
}

verdict check(const library& lib, const attention_case& c) {
  relation r(hidden_keys, lib, c, other_runs::unchecked);
  if (r.decided()) return r.conclude();

  inputs poisoned = clone(r.given());
  slot_set seen_by_any(c.page_size);
  std::vector<std::pair<std::int64_t, std::int64_t>> pivots;  // rows from which a key is hidden
  for_each_row(r.given(), [&](std::int64_t s, std::int64_t i) {
    add_visible_slots(poisoned, s, i, seen_by_any);
    for (std::int64_t j = 0; j < keys_of(poisoned, s); ++j)
      if (!is_visible(poisoned, s, i, j)) {
        pivots.emplace_back(s, i);
        break;
      }
  });
  if (pivots.empty()) r.discard("no key is hidden");
  if (r.decided()) return r.conclude();

  // Keys hidden from every row are dead. They already hold the case's poison, which is mostly NaN.
  const bool takes_nan = lib.support_of(c.kernel).no_dead_nan == 0;
  const bool had_nan = !takes_nan || c.data.poison == poison_kind::nan;
  replace_unseen(poisoned, seen_by_any, [&](const std::string& name, dtype type, std::uint32_t bits) {
    return had_nan ? other_of(name, type, bits) : poison_bits(type);
  });
  replace_hidden_bias(poisoned, takes_nan);
  set_descales(poisoned, unseen_pages(seen_by_any), had_nan ? 2.0F : std::numeric_limits<float>::quiet_NaN());
  r.expect_same_bits(poisoned, c, "replacing the keys that no row sees");

  // Keys hidden from one row but visible to its neighbours: these need finite values, so only that row is compared.
  const auto [s, i] = pivots[c.data.seed % pivots.size()];
  inputs changed = clone(r.given());
  slot_set seen_by_one(c.page_size);
  add_visible_slots(changed, s, i, seen_by_one);
  replace_unseen(changed, seen_by_one, other_of);
  // Other rows of the row's block may visit the page. Then the row's accumulator is scaled by the page's descale. That
  // changes no bit only if the factor is a power of two.
  scale_descales(changed, 1, unseen_pages(seen_by_one));
  const std::int64_t row = first_row_of(changed, s) + i;
  const std::string change = "changing all keys that row " + std::to_string(row) + " does not see, in this row,";
  if (const auto ran = r.run(changed, c, change))
    r.compare(gather_outputs(r.base().written, output_axis::rows, {row}),
              gather_outputs(ran->written, output_axis::rows, {row}), change);
  return r.conclude();
}

// A mask, and a first sequence from which it hides something: with rows aligned to the end of the keys, a causal mask
// hides the last key from the first of two rows, and a window that is shorter than the keys hides the first key.
void adapt(attention_case& c, const assay_support& takes) {
  ensure_sequences(c, 1);
  ensure_rows(c, 0, 2);
  ensure_keys(c, 0, 2);
  sequence& first = c.sequences[0];
  if (describe(c).is_causal) return;  // every row sees one key more than the one before it
  const kernel_space* known = find_kernel_space(c.kernel);
  const bool is_declared = takes.size_bytes != 0, has_one_row = takes.most_rows == 1;
  const bool has_window = is_declared ? takes.no_window == 0 : known == nullptr || known->has_window;
  const bool may_be_causal = takes.no_causal == 0 && (!has_one_row || takes.no_prefix_offset == 0);
  if ((!c.causal && c.window == 0) || has_one_row) {
    c.causal = may_be_causal && (c.data.seed % 2 == 0 || !has_window);
    if (!c.causal) c.window = 1;
  }
  if (!c.causal && c.window >= first.k) c.window = first.k / 2;
  if (first.prefix_offset) first.prefix_offset = first.k - first.q;
  if (!c.causal || !has_one_row) return;
  for (sequence& s : c.sequences) s.prefix_offset = std::max(s.k - 2, 0);  // the last key is hidden
}

}  // namespace

const property hidden_keys{"hidden_keys", "hidden keys do not change any output bit", check, adapt,
                           has_mask | hides_keys};

}  // namespace assay::relations
