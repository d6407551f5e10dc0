#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/descales.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(std::max<std::int64_t>(0, end - begin)));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

/// Keeps one sequence of the batch; the pool stays as it is.
inputs alone(const inputs& in, std::int64_t s) {
  inputs kept = clone(in);
  const std::vector<std::int64_t> rows = range(first_row_of(in, s), first_row_of(in, s + 1));
  const std::int64_t keys = keys_of(in, s);
  for (const char* name : {"q", "weights"}) gather_input(kept, name, 0, rows);
  gather_input(kept, "bias", 1, rows);
  gather_input(kept, "bias", 2, range(0, keys));
  for (const char* name : {"seqlens_k", "prefix_offset", "block_table"}) gather_input(kept, name, 0, {s});
  if (in.stated.page_table == page_table_kind::page_list) {
    const std::int64_t begin = i32_at(in, "page_indptr", s);
    const std::int64_t end = i32_at(in, "page_indptr", s + 1);
    gather_input(kept, "page_indices", 0, range(begin, end));
    gather_input(kept, "page_indptr", 0, {0, 0});
    i32_at(kept, "page_indptr", 0) = 0;
    i32_at(kept, "page_indptr", 1) = static_cast<std::int32_t>(end - begin);
  }
  if (in.stated.batching == q_batching::group) {
    gather_input(kept, "cu_seqlens_q", 0, {0, 0});
    i32_at(kept, "cu_seqlens_q", 0) = 0;
    i32_at(kept, "cu_seqlens_q", 1) = static_cast<std::int32_t>(rows.size());
  }
  kept.stated.num_seqs = 1;
  kept.stated.total_q = kept.stated.max_q = static_cast<std::int32_t>(rows.size());
  kept.stated.max_k = static_cast<std::int32_t>(keys);
  return kept;
}

void alter(buffer* b, const std::function<bool(const std::vector<std::int64_t>&)>& matters, bool is_scale = false) {
  if (b == nullptr) return;
  const tensor& t = b->view();
  for_each_index(*b, [&](const std::vector<std::int64_t>& index) {
    if (matters(index)) return;
    const std::int64_t at = offset_of(t, index);
    set_bits(t, at, is_scale ? other_scale_bits(bits_at(t, at)) : other_bits(t.type, bits_at(t, at)));
  });
}

/// Half of a sequence's length; where the kernel asks for keys, or for keys of every row, not less than that.
std::int32_t half_of(const inputs& in, std::int64_t s, const assay_support& takes) {
  const auto keys = static_cast<std::int32_t>(keys_of(in, s)), rows = static_cast<std::int32_t>(rows_of(in, s));
  if (takes.no_rows_without_keys != 0)
    return find_buffer(in.buffers, "prefix_offset") != nullptr ? keys : std::max((keys + 1) / 2, std::min(keys, rows));
  return takes.no_sequences_without_keys != 0 ? (keys + 1) / 2 : keys / 2;
}

/// Gives all other sequences other queries, other keys where they have pages of their own, and half their length. With
/// that their rows may see keys and biases that were dead, and hold NaN or infinities. Where the kernel does not take
/// them as live data, biases become finite, and sequences that share a page with `s` keep their length.
inputs with_others_altered(const inputs& in, std::int64_t s, const assay_support& takes) {
  inputs altered = clone(in);
  const bool keeps_finite = takes.no_live_nan != 0 || takes.no_live_infinity != 0;
  std::unordered_set<std::int64_t> mine, sharing;
  for_each_page(altered, [&](std::int64_t t, std::int64_t, std::int32_t& page) {
    if (t == s) mine.insert(page);
  });
  for_each_page(altered, [&](std::int64_t t, std::int64_t, std::int32_t& page) {
    if (keeps_finite && mine.contains(page)) sharing.insert(t);
  });
  const auto page_matters = [&](const std::vector<std::int64_t>& i) { return mine.contains(i[0]); };
  for (const char* name : {"k", "v"}) alter(find_buffer(altered.buffers, name), page_matters);
  alter(find_buffer(altered.buffers, "k_row_scale"), page_matters, true);
  scale_descales(altered, 1, [&](std::int64_t page) { return !mine.contains(page); });
  const auto row_matters = [&](const std::vector<std::int64_t>& i) {
    return i[0] >= first_row_of(in, s) && i[0] < first_row_of(in, s + 1);
  };
  for (const char* name : {"q", "weights"}) alter(find_buffer(altered.buffers, name), row_matters);
  if (keeps_finite)
    alter(find_buffer(altered.buffers, "bias"),
          [&](const std::vector<std::int64_t>& i) { return row_matters({i[1]}); });
  std::int32_t max_k = 0;
  for (std::int64_t t = 0; t < in.stated.num_seqs; ++t) {
    if (t != s && !sharing.contains(t)) i32_at(altered, "seqlens_k", t) = half_of(in, t, takes);
    max_k = std::max(max_k, i32_at(altered, "seqlens_k", t));
  }
  altered.stated.max_k = max_k;
  gather_input(altered, "bias", 2, range(0, max_k));
  return altered;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(other_sequences, lib, c);
  std::int64_t kept = -1;
  for (std::size_t n = 0; n < c.sequences.size(); ++n) {
    const std::size_t s = (c.data.seed + n) % c.sequences.size();
    if (c.sequences[s].q > 0) kept = static_cast<std::int64_t>(s);
  }
  if (c.sequences.size() < 2 || kept < 0) r.discard("no sequence with query rows has company");
  if (r.decided()) return r.conclude();

  const inputs& in = r.given();
  const std::vector<std::int64_t> rows = range(first_row_of(in, kept), first_row_of(in, kept + 1));
  const outputs expected = gather_outputs(r.base().written, output_axis::rows, rows);
  const std::string which = "sequence " + std::to_string(kept);

  inputs altered = with_others_altered(in, kept, lib.support_of(c.kernel));
  const std::string alteration = "altering all sequences but " + which;
  if (const auto ran = r.run(altered, c, alteration))
    r.compare(expected, gather_outputs(ran->written, output_axis::rows, rows), alteration + ", counted in its rows,");

  inputs dropped = alone(in, kept);
  const std::string dropping = "dropping all sequences but " + which;
  if (const auto ran = r.run(dropped, c, dropping)) r.compare(expected, ran->written, dropping);
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  ensure_sequences(c, 2);
  ensure_rows(c, 0, 1);
}

}  // namespace

const property other_sequences{"other_sequences", "other sequences of the batch do not change any output bit", check,
                               adapt, has_page_tables | has_several_sequences};

}  // namespace assay::relations
