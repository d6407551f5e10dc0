/// The standard faults of append_kv, at one written row and head of each pool.
#include <algorithm>
#include <cmath>

#include "oracle/append_view.hpp"
#include "oracle/decode.hpp"
#include "oracle/effects.hpp"
#include "oracle/encode.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

constexpr standard_fault faults[] = {
    {"row_lost", "a row is not written"},
    {"slot_off_by_one", "a row is written to the slot behind its own"},
    {"rows_swapped", "two rows of a page are exchanged"},
    {"head_swapped", "a row's head holds the next head"},
    {"page_swapped", "a row is written to the same slot of another page"},
    {"code_truncated", "what is stored is rounded toward zero"},
    {"code_misread", "one FP8 code is stored in the other format", "fp8"},
    {"descale_lost", "a page's descale stays as it was", "page_descales"},
    {"descale_of_neighbour", "codes are divided by the descale of another page", "page_descales"},
    {"rotary_sign", "the sine has the wrong sign", "rotary_half"},
};

const standard_fault* named(std::string_view name) {
  return &*std::ranges::find_if(faults, [&](const standard_fault& f) { return name == f.name; });
}

/// A written row and head of a pool, as elements of the enclosure.
struct written_row {
  const fault_setting& given;
  const append_view& view;
  const append_pool& pool;
  std::size_t tensor = 0;    ///< of the pool, in the enclosure
  std::size_t descales = 0;  ///< of its descales; meaningful with descales per page
  std::size_t nth = 0;       ///< its page, of view.pages()
  std::size_t row = 0;       ///< of the page's rows
  std::int64_t head = 0;

  const appended_page& page() const { return view.pages()[nth]; }
  const appended_row& appended() const { return page().rows[row]; }
  std::int64_t flat(std::size_t of_page, std::int64_t slot, std::int64_t of_head) const {
    const problem& p = given.planned;
    return ((static_cast<std::int64_t>(of_page) * p.page_size + slot) * p.heads_kv + of_head) * pool.dim;
  }
  std::int64_t first() const { return flat(nth, appended().slot, head); }
  bool is_written(std::int64_t slot) const {
    return std::ranges::any_of(page().rows, [&](const appended_row& r) { return r.slot == slot; });
  }
  std::uint32_t bits(std::int64_t at) const { return given.written.bits(tensor, at); }
  std::uint32_t old_bits(std::int64_t at) const {
    return given.written.bounds(tensor).held[static_cast<std::size_t>(at)];
  }
  double descale(std::size_t of_page) const {
    return given.written.unrounded(descales, static_cast<std::int64_t>(of_page) * given.planned.heads_kv + head);
  }
};

/// The elements from `to` on with the bits of those from `from` on, as they are now or were before the call.
void copy_row(const written_row& w, std::int64_t to, std::int64_t from, bool before_the_call, changed_tensor& into) {
  for (std::int64_t d = 0; d < w.pool.dim; ++d)
    into.elements.push_back({to + d, before_the_call ? w.old_bits(from + d) : w.bits(from + d)});
}

void append_moves(const written_row& w, std::vector<fault_effect>& all) {
  const std::int64_t at = w.first(), slot = w.appended().slot;
  const auto begin = [&](const char* name) -> changed_tensor& {
    return all.emplace_back(fault_effect{named(name), {{w.tensor, {}}}}).tensors[0];
  };
  copy_row(w, at, at, true, begin("row_lost"));
  if (slot + 1 < w.given.planned.page_size && !w.is_written(slot + 1)) {
    changed_tensor& moved = begin("slot_off_by_one");
    copy_row(w, at, at, true, moved);
    copy_row(w, w.flat(w.nth, slot + 1, w.head), at, false, moved);
  }
  if (w.page().rows.size() > 1) {
    const std::size_t other = w.row == 0 ? 1 : 0;
    const std::int64_t there = w.flat(w.nth, w.page().rows[other].slot, w.head);
    changed_tensor& swapped = begin("rows_swapped");
    copy_row(w, at, there, false, swapped);
    copy_row(w, there, at, false, swapped);
  }
  if (w.given.planned.heads_kv > 1)
    copy_row(w, at, w.flat(w.nth, slot, (w.head + 1) % w.given.planned.heads_kv), false, begin("head_swapped"));
  if (w.view.pages().size() > 1) {
    const std::size_t other = w.nth == 0 ? 1 : 0;
    changed_tensor& moved = begin("page_swapped");
    copy_row(w, at, at, true, moved);
    copy_row(w, w.flat(other, slot, w.head), at, false, moved);
  }
}

bool is_stored_rounded(const written_row& w) {
  return w.given.written.bounds(w.tensor).rule(w.first()) == element_rule::enclosed;
}

void append_roundings(const written_row& w, std::vector<fault_effect>& all) {
  const results& written = w.given.written;
  if (is_stored_rounded(w)) {
    fault_effect truncated{named("code_truncated"), {{w.tensor, {}}}};
    for (std::int64_t d = 0; d < w.pool.dim; ++d)
      truncated.tensors[0].elements.push_back(written.truncated(w.tensor, w.first() + d, w.given.chance.one_in(2)));
    all.push_back(std::move(truncated));
  }
  const dtype type = w.pool.pool->type;
  if (!is_fp8(type)) return;
  const dtype other = fp8_twin(type);
  const std::int64_t at = w.first() + w.given.chance.below(w.pool.dim);
  const std::uint32_t bits = encode(other, round_to_nearest(other, written.value(w.tensor, at)));
  all.push_back({named("code_misread"), {{w.tensor, {{at, bits}}}}});
}

void append_descales(const written_row& w, std::vector<fault_effect>& all) {
  if (w.pool.descale == nullptr) return;
  const results& written = w.given.written;
  const std::int64_t at = static_cast<std::int64_t>(w.nth) * w.given.planned.heads_kv + w.head;
  if (written.bounds(w.descales).rule(at) == element_rule::enclosed)
    all.push_back(
        {named("descale_lost"), {{w.descales, {{at, written.bounds(w.descales).held[static_cast<std::size_t>(at)]}}}}});
  if (w.view.pages().size() < 2) return;
  const double right = w.descale(w.nth), wrong = w.descale(w.nth == 0 ? 1 : 0);
  if (!(right > 0) || !(wrong > 0) || right == wrong) return;
  fault_effect effect{named("descale_of_neighbour"), {{w.tensor, {}}}};
  for (std::int64_t d = 0; d < w.pool.dim; ++d) {
    const double code = written.unrounded(w.tensor, w.first() + d);
    effect.tensors[0].elements.push_back(written.shifted(w.tensor, w.first() + d, code * (right / wrong) - code));
  }
  all.push_back(std::move(effect));
}

/// (a c + b s, b c - a s) in place of (a c - b s, b c + a s).
void append_rotation(const written_row& w, std::vector<fault_effect>& all) {
  if (!w.pool.is_rotated) return;
  const double divisor = !w.pool.is_quantised ? 1.0 : w.pool.descale != nullptr ? w.descale(w.nth) : w.pool.scale;
  if (!std::isfinite(divisor) || divisor == 0) return;
  const bool is_half = w.given.planned.rotary == rotary_kind::half;
  const appended_row& r = w.appended();
  const auto load_new = [&](std::int64_t d) { return load(*w.pool.added, w.pool.added->offset(r.row, w.head, d)); };
  fault_effect effect{named("rotary_sign"), {{w.tensor, {}}}};
  for (std::int64_t pair = 0; pair < w.pool.dim / 2; ++pair) {
    const std::int64_t i = is_half ? pair : 2 * pair, j = is_half ? pair + w.pool.dim / 2 : 2 * pair + 1;
    const double s = w.view.sine(r.position, pair), a = load_new(i), b = load_new(j);
    effect.tensors[0].elements.push_back(w.given.written.shifted(w.tensor, w.first() + i, 2 * b * s / divisor));
    effect.tensors[0].elements.push_back(w.given.written.shifted(w.tensor, w.first() + j, -2 * a * s / divisor));
  }
  all.push_back(std::move(effect));
}

}  // namespace

std::span<const standard_fault> append_kv_faults() {
  return faults;
}

std::vector<fault_effect> append_kv_effects(const fault_setting& given) {
  const append_view view(given.planned, given.inputs);
  std::vector<fault_effect> all;
  if (view.pages().empty()) return all;
  for (const std::size_t tensor : {std::size_t{0}, std::size_t{1}}) {
    written_row w{given, view, tensor == 0 ? view.k() : view.v(), tensor, tensor + 2};
    w.nth = static_cast<std::size_t>(given.chance.below(static_cast<std::int64_t>(view.pages().size())));
    w.row = static_cast<std::size_t>(given.chance.below(static_cast<std::int64_t>(w.page().rows.size())));
    w.head = given.chance.below(given.planned.heads_kv);
    append_moves(w, all);
    append_roundings(w, all);
    append_descales(w, all);
    append_rotation(w, all);
  }
  return all;
}

}  // namespace assay::oracle
