#include "properties/relations/beyond_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/space.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/beyond_support.hpp"
#include "properties/run/execute.hpp"

namespace assay::relations {
namespace {

constexpr std::int64_t most_cost = std::int64_t{1} << 20;

void set_page_size(attention_case& c, std::int32_t size) {
  c.page_size = size;
  c.pool_pages = 0;
  for (sequence& s : c.sequences) {
    s.pages.resize(static_cast<std::size_t>(pages_for(s.k, size)));
    for (std::int64_t& page : s.pages) page = c.pool_pages++;
  }
  c.pool_pages = std::max<std::int64_t>(c.pool_pages, 1);
}

/// Each makes its change, or says that the case already has it or cannot have it.
bool pages_of_part_of_a_tile(attention_case& c) {
  if (!is_fp8(c.kv_type)) return false;
  c.kv_descale = descale_kind::per_page;
  c.data.descale_ratio = 2.0F;
  set_page_size(c, 48);
  ensure_keys(c, 0, 130);
  return true;
}
bool window(attention_case& c) {
  if (c.window != 0) return false;
  c.window = 3;
  return true;
}
bool bias(attention_case& c) {
  if (c.bias_type != dtype::none) return false;
  c.bias_type = dtype::f32;
  return true;
}
bool sinks(attention_case& c) {
  if (c.sinks) return false;
  c.sinks = true;
  return true;
}
bool negative_scale(attention_case& c) {
  if (!(c.scale > 0)) return false;
  c.scale = -c.scale;
  return true;
}
bool two_splits(attention_case& c) {
  if (c.num_splits > 1) return false;
  c.num_splits = 2;
  ensure_keys(c, 0, 130);
  return true;
}
bool batch_mode(attention_case& c) {
  if (c.batching == q_batching::batch) return false;
  c.batching = q_batching::batch;
  c.padding_rows = 0;
  for (sequence& s : c.sequences) s.q = std::max(c.sequences.front().q, 1);
  return true;
}
/// Blocks of a grid's second and third dimension are counted in 16 bits. All further sequences are empty. A run of them
/// costs a second if there are few blocks of each, so one case of sixteen has them, of as few rows: blocks of rows are
/// as many for an empty sequence as for the one that has most.
bool sequences_beyond_a_grid(attention_case& c) {
  constexpr std::size_t most_table_entries = 16;  // of a sequence: each has a row of the table
  constexpr std::int64_t count = 65'540;
  constexpr std::int32_t most_splits = 2, most_rows = 64;
  const bool has_wide_table =
      std::ranges::any_of(c.sequences, [](const sequence& s) { return s.pages.size() > most_table_entries; });
  if (c.data.seed % 16 != 0 || c.batching == q_batching::batch || has_wide_table) return false;
  c.spare_table_entries = 0;
  c.num_splits = std::min(c.num_splits, most_splits);
  c.heads_q = c.heads_kv = 1;
  for (sequence& s : c.sequences) s.q = std::min(s.q, most_rows);
  sequence none{.q = 0, .k = 0, .prefix_offset = {}, .pages = {}};
  if (c.sequences.front().prefix_offset) none.prefix_offset = 0;
  c.sequences.resize(count, none);
  return true;
}
bool f32_output(attention_case& c) {
  if (c.o_type == dtype::f32) return false;
  c.o_type = dtype::f32;
  return true;
}
template <std::int32_t Dim>
bool dim_of_qk(attention_case& c) {
  if (c.head_dim_qk == Dim) return false;
  c.head_dim_qk = Dim;
  return true;
}
template <std::int32_t Dim>
bool dim_of_v(attention_case& c) {
  if (c.head_dim_v == Dim) return false;
  c.head_dim_v = Dim;
  return true;
}

struct change {
  const char* name;
  bool (*apply)(attention_case& c);
};
constexpr change changes_of_attention[] = {
    {"per-page descales with pages of 48 keys", pages_of_part_of_a_tile},
    {"a window", window},
    {"a bias", bias},
    {"sinks", sinks},
    {"a negative scale", negative_scale},
    {"two splits", two_splits},
    {"batch mode", batch_mode},
    {"more sequences than a grid has blocks", sequences_beyond_a_grid},
    {"an output of f32", f32_output},
    {"head_dim_qk 40", dim_of_qk<40>},
    {"head_dim_qk 72", dim_of_qk<72>},
    {"head_dim_qk 264", dim_of_qk<264>},
    {"head_dim_v 40", dim_of_v<40>},
    {"head_dim_v 72", dim_of_v<72>},
    {"head_dim_v 264", dim_of_v<264>},
};

verdict verdict_of_made(const library& lib, const attention_case& made) {
  try {
    return run_case(lib, made);
  } catch (const std::invalid_argument& e) {  // of the oracle
    return failed("exception", e.what());
  }
}

/// By what plan() does not see: the data, and what the library's predicate is for. The predicate is about cases within
/// the support alone: of others, the host has to refuse.
bool is_beyond_by_its_data(const library& lib, const attention_case& c) {
  const assay_support& takes = lib.support_of(c.kernel);
  return has_unseen_lack(c, takes) || (unsupported_by(takes, c).empty() && !refused_by_predicate(lib, c).empty());
}

}  // namespace

std::vector<case_beyond> cases_beyond(const attention_case& c) {
  std::vector<case_beyond> all;
  if (c.sequences.empty() || describe(c).kind != operation_kind::attention || multiply_adds(c) > most_cost ||
      std::ssize(c.sequences) > usual_sequences || c.heads_q > usual_query_heads)
    return all;
  for (const change& each : changes_of_attention) {
    attention_case made = c;
    made.data.overrides.clear();
    if (each.apply(made) && is_valid(made)) all.push_back({each.name, std::move(made), std::nullopt});
  }
  return all;
}

verdict verdict_beyond_space(const library& lib, const attention_case& c) {
  verdict all;
  std::vector<case_beyond> cases = cases_beyond(c);
  std::erase_if(cases, [&](const case_beyond& each) { return is_beyond_by_its_data(lib, each.made); });
  if (lib.declares(c.kernel))
    for (case_beyond& each : cases_beyond_support(c, lib.support_of(c.kernel))) cases.push_back(std::move(each));
  for (const case_beyond& beyond : cases) {
    verdict v = verdict_of_made(lib, beyond.made);
    if (v.result == outcome::fail && beyond.without) {
      // Nothing is said of what the predicate refuses, with the feature or without.
      if (!refused_by_predicate(lib, *beyond.without).empty()) continue;
      verdict without = verdict_of_made(lib, *beyond.without);
      if (without.result == outcome::fail) {
        without.what = fmt::format("of a case that it declares to take: {}", without.what);
        return without;
      }
    }
    if (v.result == outcome::fail) {
      v.what = fmt::format("with {} it neither says that it does not support the problem nor computes it right: {}",
                           beyond.name, v.what);
      return v;
    }
    if (v.result != outcome::undecided || all.result == outcome::undecided) continue;
    all = std::move(v);
    all.what = fmt::format("with {}: {}", beyond.name, all.what);
  }
  return all;
}

}  // namespace assay::relations
