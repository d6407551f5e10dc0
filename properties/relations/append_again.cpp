#include <algorithm>
#include <cmath>

#include "oracle/decode.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

std::int64_t& slot_at(inputs& in, std::int64_t row) {
  return static_cast<std::int64_t*>(find_buffer(in.buffers, "slots")->view().data)[row];
}

/// The pools as the base run left them.
void take_result(inputs& in, const outputs& written) {
  for (buffer& b : in.buffers) {
    if (b.role() != tensor_role::in_out) continue;
    const buffer& result = *find_buffer(written.buffers, b.name());
    for (const index_range& r : b.accessible()) std::ranges::copy(result.bytes(r), b.bytes(r).begin());
  }
}

/// Gives every other NaN of the pools the other sign, where the type has two: kernels must keep both.
void negate_nans(inputs& in) {
  for (const char* name : {"k", "v"}) {
    const buffer& b = *find_buffer(in.buffers, name);
    const tensor& t = b.view();
    const std::uint32_t sign = size_bytes(t.type) == 1 ? 0x80U : 0x8000U;
    for_each_index(b, [&](const std::vector<std::int64_t>& index) {
      const std::int64_t at = offset_of(t, index);
      const std::uint32_t bits = bits_at(t, at);
      const auto is_nan = [&t](std::uint32_t x) { return std::isnan(oracle::decode(t.type, x)); };
      if (index.back() % 2 == 0 && is_nan(bits) && is_nan(bits ^ sign)) set_bits(t, at, bits ^ sign);
    });
  }
}

/// Skips every other row of those that are written, in that order; unless `refreshes`, those too that make their page
/// fresh. Returns how many are left.
std::int64_t skip_rows(inputs& in, const std::vector<std::int64_t>& order, bool refreshes) {
  std::int64_t left = 0;
  bool skips = false;
  for (const std::int64_t row : order) {
    std::int64_t& slot = slot_at(in, row);
    if (slot < 0) continue;
    const bool is_first = !refreshes && in.stated.page_size > 1 && slot % in.stated.page_size == 0;
    if (is_first || skips)
      slot = -1;
    else
      ++left;
    skips = is_first ? skips : !skips;
  }
  return left;
}

void scale_rows(inputs& in, const char* name, int exponent) {
  const buffer& b = *find_buffer(in.buffers, name);
  const dtype type = b.view().type;
  change_bits(b, [=](std::uint32_t bits) { return scaled_bits(type, bits, exponent).value_or(bits); });
}

/// The rows of a case fill the slots of a page without a gap. A second call writes some of these slots anew,
/// with larger or smaller rows, so that a page's old codes lie between its new ones, and must move to a larger descale.
/// Fresh pages have a descale then that looks usable.
verdict check(const library& lib, const attention_case& c) {
  relation r(append_again, lib, c);
  if (r.decided()) return r.conclude();
  const std::vector<std::int64_t> order = permutation(r.given().stated.total_q, c.data.seed);
  inputs again = clone(r.given());
  take_result(again, r.base().written);
  negate_nans(again);
  if (skip_rows(again, order, c.data.seed / 2 % 2 == 1) == 0) r.discard("no row is left for a second call");
  if (r.decided()) return r.conclude();
  const int exponent = c.data.seed % 2 == 0 ? -3 : 3;
  for (const char* name : {"k_new", "v_new"}) {
    scale_rows(again, name, exponent);
    gather_input(again, name, 0, order);
  }
  for (const char* name : {"slots", "positions"}) gather_input(again, name, 0, order);
  const std::string change = "appending half of the rows again";
  const auto ran = r.run(again, c, change);
  if (!ran) return r.conclude();
  if (const verdict judged = judge_execution(again, *ran); judged.result == outcome::fail)
    r.fail("after " + change + ": " + judged.what);
  return r.conclude();
}

/// Enough rows for a gap, and for codes descales that can grow.
void adapt(attention_case& c, const assay_support& /*takes*/) {
  ensure_sequences(c, 1);
  sequence& first = c.sequences.front();
  for (sequence& s : c.sequences) s.prefix_offset.reset();
  first.q = std::max(first.q, 5);
  ensure_keys(c, 0, 5);
  if (size_bytes(c.kv_type) != 1) return;
  c.kv_descale = descale_kind::per_page;
  c.k_scale = c.v_scale = 1;
}

}  // namespace

const property append_again{"append_again", "a second call for some of the slots keeps what lies between them", check,
                            adapt, has_slots | has_long_sequences};

}  // namespace assay::relations
