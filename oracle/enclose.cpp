/// The contract of attention, tile by tile; see contract.hpp.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "oracle/any_order.hpp"
#include "oracle/atoms.hpp"
#include "oracle/attention.hpp"
#include "oracle/combine.hpp"
#include "oracle/interval.hpp"
#include "oracle/logits.hpp"
#include "oracle/paging.hpp"
#include "oracle/replay.hpp"
#include "oracle/states.hpp"
#include "oracle/tile_logits.hpp"
#include "oracle/tiles.hpp"

namespace assay::oracle {
namespace {

enclosed_tensor make_tensor(const char* name, dtype type, std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  // Rows that the evaluation does not reach have no bound.
  const auto size = static_cast<std::size_t>(n);
  return {name, type, std::move(shape), std::vector<interval>(size, everything), std::vector<std::uint8_t>(size)};
}

/// One row of the sequence and one head of the group, with the states of the split that it is in.
struct tracked_row {
  tracked_row(std::int64_t row_at, std::int64_t in_sequence, std::int64_t head_at, key_range sees, std::int64_t columns,
              std::int32_t num_states)
      : row(row_at),
        i(in_sequence),
        head(head_at),
        visible(sees),
        states(static_cast<std::size_t>(num_states), row_state(columns)) {}
  row_state& state_of(std::int64_t tile) { return states[static_cast<std::size_t>(tile) % states.size()]; }
  std::int64_t row;
  std::int64_t i;  ///< the row, counted in the sequence
  std::int64_t head;
  key_range visible;
  key_range visited;  ///< keys from the first to the last that a row of its block sees
  std::vector<double> query;
  std::vector<row_state> states;
};

class evaluation {
 public:
  evaluation(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
             code_counts* counts)
      : problem_(planned),
        declared_(declared),
        inputs_(inputs),
        view_(planned, inputs),
        scale_(scale_of(planned, declared)),
        counts_(counts),
        tile_(declared.tile_keys, planned.head_dim_qk, planned.head_dim_v, declared),
        scratch_(tile_.lanes) {
    const std::int64_t rows = planned.total_q, heads = planned.heads_q, dim = planned.head_dim_v;
    const std::int64_t splits = planned.num_splits;
    bounds_.tensors.push_back(make_tensor("o", planned.o_type, {rows, heads, dim}));
    bounds_.tensors.push_back(make_tensor("lse", dtype::f32, {rows, heads}));
    for (enclosed_tensor& t : bounds_.tensors) keep_padding(t, 0, view_.end_of_rows());
    if (!bounds_partials()) return;
    bounds_.tensors.push_back(make_tensor("o_partial", dtype::f32, {splits, rows, heads, dim}));
    bounds_.tensors.push_back(make_tensor("lse_partial", dtype::f32, {splits, rows, heads}));
    for (std::size_t partial = 2; partial < 4; ++partial)
      keep_padding(bounds_.tensors[partial], 1, view_.end_of_rows());
  }

  enclosure run() {
    for (std::int64_t seq = 0; seq < problem_.num_seqs; ++seq)
      for (std::int64_t head_kv = 0; head_kv < problem_.heads_kv; ++head_kv) run_group(seq, head_kv);
    return std::move(bounds_);
  }

 private:
  /// Evaluates all rows and heads that share a sequence's kv head; decodes its tiles once.
  void run_group(std::int64_t seq, std::int64_t head_kv) {
    std::vector<tracked_row> rows = track(seq, head_kv);
    if (rows.empty()) return;
    run_any_order(seq, head_kv, rows);
    if (rows.empty()) return;
    const split_plan plan = plan_of(view_, declared_, seq);
    for (std::int64_t split = 0; split < problem_.num_splits; ++split) {
      for (tracked_row& r : rows) {
        for (row_state& state : r.states) state.reset();
        row_state& first_state = r.states.front();
        if (split == 0) first_state.start_from_sink(view_.sink(r.head), scale_, declared_);
        if (!scale_.is_usable && !r.visible.empty()) first_state.is_lost = true;
      }
      const std::int64_t first = split * plan.per_split, last = std::min(first + plan.per_split, plan.tiles);
      const bool is_descending = declared_.order == tile_order::descending;
      for (std::int64_t tile = first; tile < last; ++tile)
        run_tile(seq, head_kv, is_descending ? last - 1 - (tile - first) : tile, rows);
      for (tracked_row& r : rows) {
        join_states(r.states, declared_, scale_);
        finish(split, r);
      }
    }
    if (problem_.num_splits > 1)
      for (const tracked_row& r : rows) combine(r);
  }

  bool bounds_partials() const { return problem_.num_splits > 1 && declared_.order != tile_order::any; }

  /// Whether the contract leaves open in which order a row is evaluated: by itself, or as it does not say what l is
  /// where a sink meets a shifted P.
  bool is_open(std::int64_t head) const {
    if (declared_.order == tile_order::any) return true;
    const double sink = view_.sink(head);
    return declared_.p_shift != 0 && std::isfinite(sink) && std::fabs(sink) < 0x1p127 / 2 && scale_.is_usable &&
           problem_.num_splits == 1;
  }

  void take_any_order(std::int64_t seq, std::int64_t head_kv, std::span<const any_order_query> open) {
    if (open.empty()) return;
    const std::vector<any_order_row> results = enclose_in_any_order(view_, declared_, scale_, seq, head_kv, open);
    for (std::size_t at = 0; at < results.size(); ++at) {
      const any_order_row& result = results[at];
      const std::int64_t index = open[at].row * problem_.heads_q + open[at].head;
      std::ranges::copy(result.o, output_row(0, index).begin());
      std::ranges::transform(result.rules, rules_row(0, index).begin(),
                             [](element_rule rule) { return static_cast<std::uint8_t>(rule); });
      set_lse(1, index, result.lse, result.lse_rule);
    }
  }

  /// Evaluates the rows whose order is open, and removes them.
  void run_any_order(std::int64_t seq, std::int64_t head_kv, std::vector<tracked_row>& rows) {
    constexpr std::int64_t most_pairs = 1 << 20;  // of rows and keys at once: they take 80 bytes each
    std::vector<any_order_query> open;
    std::int64_t pairs = 0;
    for (const tracked_row& r : rows) {
      if (!is_open(r.head)) continue;
      if (!open.empty() && pairs + r.visible.size() > most_pairs) {
        take_any_order(seq, head_kv, open);
        open.clear();
        pairs = 0;
      }
      pairs += r.visible.size();
      open.push_back({r.row, r.head, r.visible, r.query.data()});
    }
    take_any_order(seq, head_kv, open);
    std::erase_if(rows, [&](const tracked_row& r) { return is_open(r.head); });
  }

  std::vector<tracked_row> track(std::int64_t seq, std::int64_t head_kv) const {
    std::vector<tracked_row> rows;
    for (std::int64_t i = 0; i < view_.row_count(seq); ++i)
      for (std::int64_t h = 0; h < view_.heads_per_group(); ++h) {
        tracked_row& r = rows.emplace_back(view_.first_row(seq) + i, i, head_kv * view_.heads_per_group() + h,
                                           view_.visible(seq, i), tile_.columns, num_states(declared_));
        r.query.resize(static_cast<std::size_t>(tile_.dim));
        view_.load_query(r.row, r.head, r.query.data());
        r.visited = view_.has_page_descales() && declared_.order != tile_order::any
                        ? visited_by_block(seq, i / declared_.tile_rows)
                        : r.visible;
      }
    return rows;
  }

  /// With a key of their own in between: rows of a block see ranges that meet, so all tiles in it have a live key.
  key_range visited_by_block(std::int64_t seq, std::int64_t block) const {
    const std::int64_t first = block * declared_.tile_rows;
    const std::int64_t last = std::min(first + declared_.tile_rows, view_.row_count(seq));
    key_range all;
    for (std::int64_t i = first; i < last; ++i) {
      const key_range own = view_.visible(seq, i);
      if (own.empty()) continue;
      all = all.empty() ? own : key_range{std::min(all.begin, own.begin), std::max(all.end, own.end)};
    }
    return all;
  }

  void run_tile(std::int64_t seq, std::int64_t head_kv, std::int64_t tile, std::vector<tracked_row>& rows) {
    const std::int64_t first = tile * declared_.tile_keys;
    const key_range keys{first, first + declared_.tile_keys};
    key_range seen{keys.end, keys.begin};
    for (const tracked_row& r : rows) {
      const key_range own = intersect(r.visible, keys);
      if (!own.empty()) seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    if (seen.empty()) return;
    decode_tile(view_, seq, head_kv, first, seen, tile_);
    const logit_scale scale = view_.has_page_descales() ? scale_of_tile(scale_, tile_.key_descale) : scale_;
    std::vector<double> bias;
    for (tracked_row& r : rows) {
      const key_range own = intersect(r.visible, keys);
      if (own.empty()) {
        pass_tile(tile_, r.state_of(tile));
        if (!intersect(r.visited, keys).empty()) visit_tile(tile_, declared_, r.state_of(tile));
        continue;
      }
      row_state& state = r.state_of(tile);
      if (!scale.is_usable) state.is_lost = true;
      bias.clear();
      if (view_.has_bias())
        for (std::int64_t key = own.begin; key < own.end; ++key) bias.push_back(view_.bias(r.head, r.row, key));
      const double* const bias_of_tile = view_.has_bias() ? bias.data() : nullptr;
      replay_tile(tile_, declared_, scale, problem_.q_type == dtype::i8, r.query.data(), own.begin - first,
                  own.end - first, bias_of_tile, state, scratch_, counts_);
    }
  }

  std::int64_t row_index(const tracked_row& r) const { return r.row * problem_.heads_q + r.head; }

  std::span<interval> output_row(std::size_t tensor_at, std::int64_t index) {
    const auto dim = static_cast<std::size_t>(problem_.head_dim_v);
    return std::span(bounds_.tensors[tensor_at].elements).subspan(static_cast<std::size_t>(index) * dim, dim);
  }

  std::span<std::uint8_t> rules_row(std::size_t tensor_at, std::int64_t index) {
    const auto dim = static_cast<std::size_t>(problem_.head_dim_v);
    return std::span(bounds_.tensors[tensor_at].kept).subspan(static_cast<std::size_t>(index) * dim, dim);
  }

  /// `lse` is natural. The result is in the contract's form; partials stay natural.
  void set_lse(std::size_t tensor_at, std::int64_t index, interval lse, element_rule rule) {
    if (tensor_at == 1 && lse.lo == -infinity && lse.hi == -infinity) {
      if (declared_.lse_without_keys == empty_lse::plus_infinity) lse = point(infinity);
    } else if (tensor_at == 1 && declared_.base_of_lse == lse_base::two && !is_everything(lse)) {
      lse = round_f32(lse, 1) * interval{0x1.71547652b82fep+0, 0x1.71547652b82ffp+0};
      lse = widen(lse, (declared_.constant_roundings + 1) * 0x1p-24);
    }
    bounds_.tensors[tensor_at].elements[static_cast<std::size_t>(index)] = lse;
    bounds_.tensors[tensor_at].kept[static_cast<std::size_t>(index)] = static_cast<std::uint8_t>(rule);
  }

  void finish(std::int64_t split, const tracked_row& r) {
    const row_state& joined = r.states.front();
    const std::size_t to = problem_.num_splits > 1 ? 2 : 0;
    const std::int64_t index = split * problem_.total_q * problem_.heads_q + row_index(r);
    finish_output(joined, declared_, static_cast<double>(problem_.v_scale), output_row(to, index),
                  rules_row(to, index));
    set_lse(to + 1, index, finish_lse(joined, declared_, scale_),
            // Of an infinite m the product with ln2, in two parts of different signs, is NaN.
            joined.is_nan                 ? element_rule::nan
            : joined.overflowing_sink > 0 ? element_rule::or_nan
                                          : element_rule::enclosed);
  }

  void combine(const tracked_row& r) {
    const std::int64_t rows = problem_.total_q * static_cast<std::int64_t>(problem_.heads_q);
    std::vector<partial> splits;
    splits.reserve(static_cast<std::size_t>(problem_.num_splits));
    for (std::int64_t split = 0; split < problem_.num_splits; ++split) {
      const std::int64_t index = split * rows + row_index(r);
      splits.push_back({bounds_.tensors[3].elements[static_cast<std::size_t>(index)],
                        bounds_.tensors[3].rule(index) == element_rule::nan, output_row(2, index),
                        rules_row(2, index)});
    }
    const combined_lse lse = combine_splits(splits, declared_, output_row(0, row_index(r)), rules_row(0, row_index(r)));
    set_lse(1, row_index(r), lse.bounds, lse.rule);
  }

  const problem& problem_;
  const contract& declared_;
  std::span<const named_tensor> inputs_;
  problem_view view_;
  logit_scale scale_;
  code_counts* counts_;
  decoded_tile tile_;
  tile_scratch scratch_;
  enclosure bounds_;
};

}  // namespace

enclosure enclose_attention(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                            code_counts* counts) {
  if (planned.num_splits < 1) throw std::invalid_argument("oracle: num_splits is not planned");
  if (declared.tile_keys < 1 || declared.qk.products < 1 || declared.pv.products < 1)
    throw std::invalid_argument("oracle: the contract has no tiles or atoms");
  if (planned.kv_descale == descale_kind::per_page && declared.order != tile_order::any &&
      (declared.tile_rows < 1 || planned.page_size % declared.tile_keys != 0 || planned.num_splits != 1))
    throw std::invalid_argument(
        "oracle: per-page descales need tile_rows, num_splits 1 and tiles that do not cross pages");
  if (num_states(declared) < 1 || (num_states(declared) > 1 && planned.kv_descale == descale_kind::per_page))
    throw std::invalid_argument("oracle: states must be 1 with per-page descales, and at least 1 without");
  return evaluation(planned, inputs, declared, counts).run();
}

}  // namespace assay::oracle
