#include "oracle/append_view.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "oracle/decode.hpp"
#include "oracle/take.hpp"

namespace assay::oracle {
namespace {

bool is_storable(dtype type, dtype rows) {
  return type == rows || size_bytes(type) == 1;
}

/// Checks the fields that append_kv restricts.
void check(const problem& p) {
  const char* fault = nullptr;
  const bool has_types = size_bytes(p.q_type) > 0 && size_bytes(p.q_type) <= 4 && p.q_type != dtype::i32;
  const bool is_per_page = p.kv_descale == descale_kind::per_page;
  if (p.heads_kv < 1 || p.page_size < 1 || p.num_pages < 0 || p.total_q < 0 || p.head_dim_qk < 1 || p.head_dim_v < 1)
    fault = "a size of the problem is out of range";
  if (p.heads_q != p.heads_kv) fault = "append_kv needs heads_q equal to heads_kv";
  if (p.k_order != key_order::plain) fault = "append_kv stores keys in plain order";
  if (!has_types || !is_storable(p.k_type, p.q_type) || !is_storable(p.v_type, p.q_type))
    fault = "append_kv stores the type of the rows or an 8-bit type";
  if (is_per_page && (p.k_type == p.q_type || p.v_type == p.q_type)) fault = "per-page descales need 8-bit codes";
  if (is_per_page && (p.k_scale != 1 || p.v_scale != 1)) fault = "with descales per page, k_scale and v_scale are 1";
  if (p.rotary != rotary_kind::none && p.head_dim_qk % 2 != 0) fault = "rotary needs an even head_dim_qk";
  if (fault != nullptr) throw std::invalid_argument(std::string("oracle: ") + fault);
}

[[noreturn]] void refuse(const char* what, std::int64_t value, std::int64_t row, const char* why) {
  throw std::invalid_argument(std::string("oracle: ") + what + " " + std::to_string(value) + " of row " +
                              std::to_string(row) + " " + why);
}

}  // namespace

append_view::append_view(const problem& stated, std::span<const named_tensor> inputs) : stated_(stated) {
  check(stated_);
  take_pools(inputs);
  if (stated_.rotary != rotary_kind::none) take_tables(inputs);
  place_rows(*take(inputs, "slots", true, dtype::i64, {stated_.total_q}));
}

void append_view::take_pools(std::span<const named_tensor> inputs) {
  const problem& p = stated_;
  k_ = {.name = "k", .descale_name = "k_descale", .dim = p.head_dim_qk, .scale = static_cast<double>(p.k_scale)};
  v_ = {.name = "v", .descale_name = "v_descale", .dim = p.head_dim_v, .scale = static_cast<double>(p.v_scale)};
  k_.is_rotated = p.rotary != rotary_kind::none;
  k_.is_quantised = p.k_type != p.q_type;
  v_.is_quantised = p.v_type != p.q_type;
  k_.added = take(inputs, "k_new", true, p.q_type, {p.total_q, p.heads_kv, p.head_dim_qk});
  v_.added = take(inputs, "v_new", true, p.q_type, {p.total_q, p.heads_kv, p.head_dim_v});
  k_.pool = take(inputs, "k", true, p.k_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_qk});
  v_.pool = take(inputs, "v", true, p.v_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_v});
  if (p.kv_descale == descale_kind::per_tensor) return;
  k_.descale = take(inputs, "k_descale", true, dtype::f32, {p.num_pages, p.heads_kv});
  v_.descale = take(inputs, "v_descale", true, dtype::f32, {p.num_pages, p.heads_kv});
}

void append_view::take_tables(std::span<const named_tensor> inputs) {
  positions_ = take(inputs, "positions", true, dtype::i32, {stated_.total_q});
  cosines_ = take(inputs, "rope_cos", true, dtype::f32, {any_extent, stated_.head_dim_qk / 2});
  sines_ = take(inputs, "rope_sin", true, dtype::f32, {cosines_->shape[0], stated_.head_dim_qk / 2});
}

void append_view::place_rows(const tensor& slots) {
  std::map<std::int64_t, std::vector<appended_row>> rows_of;
  for (std::int64_t row = 0; row < stated_.total_q; ++row) {
    const std::int64_t slot = static_cast<const std::int64_t*>(slots.data)[slots.offset(row)];
    if (slot < 0) continue;
    const std::int64_t page = slot / stated_.page_size;  // their product may exceed 64 bits, the quotient does not
    if (page >= stated_.num_pages) refuse("slot", slot, row, "is outside the pool");
    rows_of[page].push_back({row, slot % stated_.page_size, position_of(row)});
  }
  for (auto& [page, rows] : rows_of) {
    std::ranges::sort(rows, {}, &appended_row::slot);
    const auto twice = std::ranges::adjacent_find(rows, {}, &appended_row::slot);
    if (twice != rows.end()) refuse("slot", page * stated_.page_size + twice->slot, twice->row, "is named twice");
    pages_.push_back({page, std::move(rows)});
  }
}

/// The position of a row that is not skipped. Positions of skipped rows are not read.
std::int64_t append_view::position_of(std::int64_t row) const {
  if (positions_ == nullptr) return 0;
  const std::int64_t position = static_cast<const std::int32_t*>(positions_->data)[positions_->offset(row)];
  if (position < 0 || position >= cosines_->shape[0]) refuse("position", position, row, "is outside the rotary tables");
  return position;
}

double append_view::cosine(std::int64_t position, std::int64_t pair) const {
  return load(*cosines_, cosines_->offset(position, pair));
}

double append_view::sine(std::int64_t position, std::int64_t pair) const {
  return load(*sines_, sines_->offset(position, pair));
}

}  // namespace assay::oracle
