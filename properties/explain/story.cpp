#include "properties/explain/story.hpp"
#include "properties/data/difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "oracle/decode.hpp"
#include "oracle/explain.hpp"
#include "oracle/width.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/types.hpp"
#include "properties/data/edit.hpp"
#include "properties/explain/covered.hpp"
#include "properties/explain/exact_distance.hpp"
#include "properties/explain/logit_story.hpp"
#include "properties/explain/slot_story.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/system/counted.hpp"

namespace assay {
namespace {

const oracle::enclosed_tensor* find_bounds(const oracle::enclosure& e, const std::string& name) {
  const auto at = std::ranges::find(e.tensors, name, &oracle::enclosed_tensor::name);
  return at == e.tensors.end() ? nullptr : &*at;
}

const oracle::interval& bounds_at(const oracle::enclosed_tensor& t, const std::vector<std::int64_t>& index) {
  return t.elements[static_cast<std::size_t>(flat_of(t, index).value())];
}

/// Distance of an output to the exact result in ulps of its type: median, 99th percentile and the largest.
std::string accuracy_line(const buffer& b, const oracle::enclosed_tensor& exact) {
  const std::vector<double> distances = distances_to_exact(b, exact);
  if (distances.empty()) return {};
  return fmt::format("  {:<12} from exact: median {:.3g} ulp, p99 {:.3g} ulp, largest {:.3g} ulp\n", exact.name,
                     distances[distances.size() / 2], distances[distances.size() * 99 / 100], distances.back());
}

std::string verdict_lines(const detailed_run& run) {
  std::string text = fmt::format("verdict: {}\n", name_of(run.result.result));
  if (!run.result.what.empty()) text += fmt::format("  {}: {}\n", run.result.origin, run.result.what);
  if (!run.result.first_load.empty()) text += fmt::format("  {}\n", run.result.first_load);
  for (const oracle::judgement& j : run.result.judgements) {
    text +=
        fmt::format("  {:<12} {} elements, {} outside, {} undecided, {} of {} sharp; worst {}\n", j.tensor, j.elements,
                    j.outside, j.unbounded, j.sharp, j.uncertain, j.elements == 0 ? "none" : describe(j));
  }
  return text;
}

std::string tile_lines(const oracle::tile_story& tile, double v_scale) {
  std::string text = fmt::format(
      "  split {} tile {}: keys [{}, {}), m {:.6g}, l {:.6g}, adds {:.6g}, split so far {:.6g}\n", tile.split,
      tile.tile, tile.first_key, tile.end_key, tile.maximum, tile.sum, tile.contribution, tile.output);
  for (const oracle::key_share& k : tile.keys) {
    text += fmt::format("    key {} (page {}, slot {}): logit {:.6g}, probability {:.4g}, value {:.6g}, adds {:.6g}",
                        k.key, k.page, k.slot, k.logit, k.probability, k.value * v_scale * k.v_descale, k.contribution);
    if (k.k_descale != 1 || k.v_descale != 1)
      text += fmt::format("; descales of K {:.6g}, of V {:.6g}", k.k_descale, k.v_descale);
    text += "\n";
  }
  return text;
}

/// Row, head and column of the o that an element belongs to; LSE and partials have their own dimensions.
struct place_in_output {
  std::int64_t row;
  std::int64_t head;
  std::int64_t column;
};

place_in_output place_of(const element& e) {
  const std::size_t first = e.tensor.ends_with("_partial") ? 1 : 0;
  const bool is_lse = e.tensor.starts_with("lse");
  return {e.index[first], e.index[first + 1], is_lse ? 0 : e.index[first + 2]};
}

std::string story_lines(const detailed_run& run, const element& e) {
  constexpr int keys_per_tile = 3;
  constexpr std::size_t most_tiles = 12;
  const place_in_output at = place_of(e);
  oracle::element_story story = oracle::explain_element(run.ran.planned, run.given.tensors(), run.ran.declared, at.row,
                                                        at.head, at.column, keys_per_tile);
  std::string text =
      fmt::format("  sequence {}, query row {}, head {} on kv head {}, sees keys [{}, {}){}\n", story.sequence,
                  story.row_in_sequence, at.head, story.head_kv, story.visible_begin, story.visible_end,
                  std::isinf(story.sink) ? "" : fmt::format(", sink {:.6g}", story.sink));
  const std::size_t tiles = story.tiles.size();
  if (tiles > most_tiles) {
    // Those that add most, in their order.
    std::ranges::nth_element(story.tiles, story.tiles.begin() + most_tiles, [](const auto& a, const auto& b) {
      return std::fabs(a.contribution) > std::fabs(b.contribution);
    });
    story.tiles.resize(most_tiles);
    std::ranges::sort(story.tiles, {}, &oracle::tile_story::tile);
    text += fmt::format("  the {} of {} tiles that add most:\n", most_tiles, tiles);
  }
  text +=
      "  what the contract computes from the inputs; the kernel may differ. m is the running maximum of the logits "
      "times\n"
      "  log2(e), l the sum of 2^(logit log2(e) - m); the rest is about O, also where the element is an LSE\n";
  for (const oracle::tile_story& tile : story.tiles) text += tile_lines(tile, run.ran.planned.v_scale);
  return text;
}

std::string element_lines(const detailed_run& run, const oracle::enclosure& exact, const element& e) {
  const tensor& t = find_buffer(run.ran.written.buffers, e.tensor)->view();
  const std::int64_t offset = offset_of(t, e.index);
  std::string text = fmt::format("{}[{}] = {} (0x{:0{}x})\n", e.tensor, fmt::join(e.index, ", "), value_at(t, offset),
                                 bits_at(t, offset), static_cast<int>(2 * size_bytes(t.type)));
  const auto* bounds = find_bounds(run.bounds, e.tensor);
  const std::optional<std::int64_t> flat = bounds != nullptr ? flat_of(*bounds, e.index) : std::nullopt;
  if (!flat) return text + "  no part of the call reaches it: it must keep its bits\n";
  if (bounds->keeps(*flat) && describe(run.ran.planned.operation).kind == operation_kind::attention)
    return text + "  its row lies behind the last sequence's: it must keep its bits\n";
  const bool is_enclosed = bounds->is_enclosed(*flat);
  if (is_enclosed) {
    const oracle::interval& within = bounds_at(*bounds, e.index);
    text += fmt::format("  enclosure [{}, {}], radius {:.4g} ulp\n", within.lo, within.hi,
                        oracle::radius_ulp(within, t.type));
  }
  if (const auto* truth = find_bounds(exact, e.tensor); truth != nullptr && is_enclosed) {
    const double value = middle(bounds_at(*truth, e.index));
    text += fmt::format("  exact     {}, {:.4g} ulp away\n", value,
                        std::fabs(value_at(t, offset) - value) / oracle::ulp(t.type, value));
  }
  const std::uint32_t capabilities = describe(run.ran.planned.operation).capabilities;
  if ((capabilities & has_columns) != 0) return text + logit_lines(run, e.index[0], e.index[1]);
  return text + ((capabilities & has_slots) != 0 ? slot_lines(run, e.tensor, e.index) : story_lines(run, e));
}

std::string names_of(const outputs& out) {
  std::vector<std::string> names;
  names.reserve(out.buffers.size());
  for (const buffer& b : out.buffers) names.push_back(b.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string shape_of(const tensor& t) {
  return fmt::format("{}", fmt::join(t.shape, t.shape + t.rank, ", "));
}

}  // namespace

element parse_element(const std::string& text, const outputs& out) {
  const auto fail = [&](const std::string& what) -> case_error {
    return case_error(fmt::format("--element: '{}': {}", text, what));
  };
  std::vector<std::string> parts{""};
  for (const char c : text) {  // messages write o[0, 1, 2]
    if (c == ',' || c == '[')
      parts.emplace_back();
    else if (c != ' ' && c != ']')
      parts.back() += c;
  }
  element e{parts.front(), {}};
  const buffer* b = find_buffer(out.buffers, e.tensor);
  if (b == nullptr) throw fail(fmt::format("there is no output '{}' (it has: {})", e.tensor, names_of(out)));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::int64_t value = -1;
    const char* end = parts[i].data() + parts[i].size();
    const auto read = std::from_chars(parts[i].data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end)
      throw fail("must be an output's name and its indices, as in o,0,1,2");
    e.index.push_back(value);
  }
  if (static_cast<std::int32_t>(e.index.size()) != b->view().rank)
    throw fail(fmt::format("{} needs {} indices", e.tensor, b->view().rank));
  for (std::size_t d = 0; d < e.index.size(); ++d)
    if (e.index[d] < 0 || e.index[d] >= b->view().shape[d])
      throw fail(fmt::format("lies outside of {}, whose shape is [{}]", e.tensor, shape_of(b->view())));
  return e;
}

std::optional<element> worst_element(const verdict& v) {
  const oracle::judgement* worst = nullptr;
  for (const oracle::judgement& j : v.judgements)
    if (j.elements > 0 && (worst == nullptr || !(j.worst_factor <= worst->worst_factor))) worst = &j;
  if (worst == nullptr) return std::nullopt;
  return element{worst->tensor, worst->worst_index};
}

std::string explain(const attention_case& c, const detailed_run& run, const std::optional<element>& chosen) {
  const problem& p = run.ran.planned;
  std::string text =
      fmt::format("{}, {}: {}, {}, {}, {}, {} of tiles of {}\n", c.kernel, types_of(c), counted(p.num_seqs, "sequence"),
                  counted(p.total_q, "query row"), counted(p.heads_q, "query head"), counted(p.heads_kv, "KV head"),
                  counted(p.num_splits, "split"), counted(run.ran.declared.tile_keys, "key"));
  text += verdict_lines(run);
  if (run.bounds.tensors.empty()) return text;
  const oracle::enclosure exact = oracle::evaluate_exactly(p, run.given.tensors());
  for (const oracle::enclosed_tensor& t : exact.tensors)
    if (const buffer* b = find_buffer(run.ran.written.buffers, t.name)) text += accuracy_line(*b, t);
  const std::optional<element> shown = chosen ? chosen : worst_element(run.result);
  return shown ? text + element_lines(run, exact, *shown) : text;
}

}  // namespace assay
