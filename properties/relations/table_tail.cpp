#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "properties/data/pages.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Sets every table entry past its sequence's last page.
void set_tails(inputs& in, std::int32_t entry) {
  const bool is_list = in.stated.page_table == page_table_kind::page_list;
  for (std::int64_t s = 0; s < in.stated.num_seqs; ++s) {
    const std::int64_t pages = (keys_of(in, s) + in.stated.page_size - 1) / in.stated.page_size;
    const std::int64_t entries = is_list ? i32_at(in, "page_indptr", s + 1) - i32_at(in, "page_indptr", s)
                                         : find_buffer(in.buffers, "block_table")->view().shape[1];
    for (std::int64_t ordinal = pages; ordinal < entries; ++ordinal) page_entry(in, s, ordinal) = entry;
  }
}

/// Gives the table its exact length: the page list, or the row of the longest sequence, ends at an inaccessible OS
/// page.
void check_exact(relation& r, const attention_case& c) {
  attention_case exact = c;
  exact.spare_table_entries = 0;
  inputs cut = fill(exact);
  r.expect_same_bits(cut, c, "cutting the page table to its exact length");
  if (c.sequences.size() < 2) return;

  // A block table of several rows ends flush for its last row only if that is the longest: the first alone, too. Its
  // data stays: it follows sequence and key. But the descale of a page depends on who else has that page.
  exact.sequences.resize(1);
  exact.padding_rows = 0;
  inputs alone = fill(exact);
  for (const char* name : {"k_descale", "v_descale"})
    if (buffer* b = find_buffer(alone.buffers, name)) *b = copy_of(*find_buffer(r.given().buffers, name));
  std::vector<std::int64_t> rows(static_cast<std::size_t>(exact.sequences[0].q));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const std::string change = "leaving only sequence 0, with a page table of its exact length,";
  if (const auto ran = r.run(alone, c, change))
    r.compare(gather_outputs(r.base().written, output_axis::rows, rows), ran->written, change);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(table_tail, lib, c);
  if (r.decided()) return r.conclude();
  std::vector<std::int64_t> entries{-1, std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::min()};
  const std::vector<std::int64_t> pages = pages_in_use(r.given());
  const std::size_t wrong = entries.size();
  if (!pages.empty()) entries.insert(entries.end(), {pages.front(), pages.back()});
  for (std::size_t i = 0; i < entries.size(); ++i) {
    inputs changed = clone(r.given());
    set_tails(changed, static_cast<std::int32_t>(entries[i]));
    // A kernel that takes a page in use for its own stays in bounds: only its results can tell.
    r.expect_same_bits(changed, c, fmt::format("setting all table entries past the last page to {}", entries[i]),
                       {.checks_accesses = i < wrong});
  }
  check_exact(r, c);
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  if (c.spare_table_entries == 0) c.spare_table_entries = 2;
}

}  // namespace

const property table_tail{"table_tail",
                          "table entries past the last page do not change any output bit, whether they exist or not",
                          check, adapt, has_page_tables | has_spare_entries};

}  // namespace assay::relations
