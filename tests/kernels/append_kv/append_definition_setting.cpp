/// append_kv as problem.hpp defines it, in binary64, with the roundings that the kernel declares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/append_kv/append_setting.hpp"

namespace assay::append {
namespace {

constexpr double u = 0x1p-24;

}  // namespace

std::int64_t trial::row_of(std::int64_t slot) const {
  const auto found = std::find(setting_.slots.begin(), setting_.slots.end(), slot);
  return found == setting_.slots.end() ? -1 : found - setting_.slots.begin();
}

bool trial::is_written(std::int64_t page) const {
  return std::any_of(setting_.slots.begin(), setting_.slots.end(),
                     [&](std::int64_t slot) { return slot >= 0 && slot / setting_.page_size == page; });
}

trial::range trial::new_value(bool is_k, std::int64_t row, std::int64_t head, std::int64_t dim) const {
  const owned_tensor& t = before(is_k ? "k_new" : "v_new");
  const auto value = [&](std::int64_t d) { return t.value(t.at(row, head, d)); };
  if (!is_k || setting_.rotary == rotary_kind::none) return {value(dim), value(dim)};
  const std::int64_t half = setting_.dim_k / 2;
  const bool is_interleaved = setting_.rotary == rotary_kind::interleaved;
  const std::int64_t pair = is_interleaved ? dim / 2 : dim % half;
  const bool is_first = is_interleaved ? dim % 2 == 0 : dim < half;
  const double a = value(is_interleaved ? 2 * pair : pair), b = value(is_interleaved ? 2 * pair + 1 : pair + half);
  const owned_tensor &cosines = before("rope_cos"), &sines = before("rope_sin");
  const auto position = static_cast<std::int64_t>(before("positions").bits(row));
  const double c = cosines.value(cosines.at(position, pair)), s = sines.value(sines.at(position, pair));
  const double x = is_first ? a * c - b * s : b * c + a * s;
  const double error = 3 * u * (is_first ? std::fabs(a * c) + std::fabs(b * s) : std::fabs(b * c) + std::fabs(a * s));
  return {x - error, x + error};
}

/// A of problem.hpp, its least possible value (`sign` -1) or its largest.
double trial::largest(bool is_k, std::int64_t page, std::int64_t head, double sign) const {
  double most = 0;
  for (std::int64_t row = 0; row < scalars.total_q; ++row) {
    const std::int64_t slot = setting_.slots[static_cast<std::size_t>(row)];
    if (slot < 0 || slot / setting_.page_size != page) continue;
    for (std::int64_t d = 0; d < (is_k ? setting_.dim_k : setting_.dim_v); ++d) {
      const range x = new_value(is_k, row, head, d);
      const double middle = (x.low + x.high) / 2, error = (x.high - x.low) / 2;
      most = std::max(most, std::fabs(middle) + sign * error);
    }
  }
  return most / (setting_.cache == dtype::e4m3fn ? 448.0 : 240.0) * (1 + sign * u);
}

std::string trial::descale_fault(bool is_k, std::int64_t page, std::int64_t head) const {
  const owned_tensor &old = before(is_k ? "k_descale" : "v_descale"), &now = after(old.name);
  const std::int64_t at = old.at(page, head);
  if (!is_written(page)) return old.bits(at) == now.bits(at) ? "" : "the descale of a page without rows changed";
  const double floor = is_fresh(page) ? 0x1p-64 : old.value(at);
  const double low = std::max(floor, largest(is_k, page, head, -1)),
               high = std::max(floor, largest(is_k, page, head, 1));
  const double value = now.value(at);
  return low <= value && value <= high ? "" : "descale " + std::to_string(value) + " instead of " + std::to_string(low);
}

std::string trial::element_fault(bool is_k, std::int64_t page, std::int64_t slot, std::int64_t head,
                                 std::int64_t dim) const {
  const owned_tensor &old = before(is_k ? "k" : "v"), &now = after(old.name);
  const std::int64_t at = old.at(page, slot, head, dim), row = row_of(page * setting_.page_size + slot);
  const bool per_page = setting_.descales == descale_kind::per_page;
  const owned_tensor& descales = per_page ? after(is_k ? "k_descale" : "v_descale") : old;
  const double descale = per_page ? descales.value(descales.at(page, head)) : 1.0;
  range y{};
  if (row < 0) {
    const owned_tensor& held = per_page ? before(descales.name) : old;
    const double previous = per_page ? held.value(held.at(page, head)) : 1.0, value = old.value(at);
    // Not so where it is NaN: what a fresh page held.
    const bool moves = per_page && is_written(page) && !is_fresh(page) && descale > previous && !std::isnan(value);
    if (!moves) return old.bits(at) == now.bits(at) ? "" : "changed, but no row goes there";
    const double moved = value * previous / descale;
    y = {moved - 3 * u * std::fabs(moved), moved + 3 * u * std::fabs(moved)};
  } else {
    const range x = new_value(is_k, row, head, dim);
    if (setting_.cache == setting_.q_type && x.low == x.high) {
      const owned_tensor& rows = before(is_k ? "k_new" : "v_new");
      return rows.bits(rows.at(row, head, dim)) == now.bits(at) ? "" : "not the row's bits";
    }
    const double scale = descale * static_cast<double>(is_k ? setting_.k_scale : setting_.v_scale);
    const double slack = setting_.cache == setting_.q_type ? 0 : 2 * u;
    const auto [low, high] = std::minmax(x.low / scale, x.high / scale);
    y = {low - slack * std::fabs(low), high + slack * std::fabs(high)};
  }
  const double value = now.value(at);
  if (now.rounded(y.low) <= value && value <= now.rounded(y.high)) return "";
  return std::to_string(value) + " instead of " + std::to_string(y.low);
}

std::string trial::pool_fault(bool is_k) const {
  const owned_tensor &old = before(is_k ? "k" : "v"), &now = after(old.name);
  std::vector<bool> is_element(old.bytes.size());
  const auto width = static_cast<std::size_t>(size_bytes(old.type));
  for (std::int64_t page = 0; page < old.shape[0]; ++page)
    for (std::int64_t head = 0; head < old.shape[2]; ++head) {
      const std::string where = fmt::format("{}, page {}, head {}", old.name, page, head);
      if (setting_.descales == descale_kind::per_page)
        if (const std::string fault = descale_fault(is_k, page, head); !fault.empty())
          return fmt::format("{}: {}", where, fault);
      for (std::int64_t slot = 0; slot < old.shape[1]; ++slot)
        for (std::int64_t dim = 0; dim < old.shape[3]; ++dim) {
          const std::string fault = element_fault(is_k, page, slot, head, dim);
          if (!fault.empty()) return fmt::format("{}, slot {}, dim {}: {}", where, slot, dim, fault);
          const auto first = static_cast<std::size_t>(old.at(page, slot, head, dim)) * width;
          for (std::size_t i = 0; i < width; ++i) is_element[first + i] = true;
        }
    }
  for (std::size_t i = 0; i < is_element.size(); ++i)
    if (!is_element[i] && old.bytes[i] != now.bytes[i]) return old.name + ": written between rows";
  return {};
}

std::string trial::first_fault() const {
  if (is_workspace_overrun_) return "written beside the workspace";
  for (const owned_tensor& t : tensors) {
    if (t.role == ASSAY_INPUT && t.bytes != before(t.name).bytes) return t.name + ": an input changed";
    if (t.type != dtype::f32 || t.role == ASSAY_INPUT) continue;
    owned_tensor between = t;  // with the elements as they were: they are compared below
    for (std::int64_t page = 0; page < t.shape[0]; ++page)
      for (std::int64_t head = 0; head < t.shape[1]; ++head)
        between.set(t.at(page, head), before(t.name).bits(t.at(page, head)));
    if (between.bytes != before(t.name).bytes) return t.name + ": written between elements";
  }
  for (const bool is_k : {true, false})
    if (std::string fault = pool_fault(is_k); !fault.empty()) return fault;
  return {};
}

}  // namespace assay::append
