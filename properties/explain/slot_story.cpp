#include "properties/explain/slot_story.hpp"

#include <fmt/format.h>

#include <optional>

#include "properties/data/difference.hpp"

namespace assay {
namespace {

/// The row of the call that goes to a slot.
std::optional<std::int64_t> row_of(const inputs& in, std::int64_t slot) {
  const tensor& slots = find_buffer(in.buffers, "slots")->view();
  for (std::int64_t row = 0; row < slots.shape[0]; ++row)
    if (static_cast<const std::int64_t*>(slots.data)[row * slots.stride[0]] == slot) return row;
  return std::nullopt;
}

std::string descale_line(const detailed_run& run, const std::string& name, std::int64_t page, std::int64_t head) {
  const buffer* before = find_buffer(run.given.buffers, name);
  if (before == nullptr) return {};
  const tensor& after = find_buffer(run.ran.written.buffers, name)->view();
  return fmt::format("  {}[{}, {}] was {}, is {}\n", name, page, head,
                     value_at(before->view(), before->view().offset(page, head)),
                     value_at(after, after.offset(page, head)));
}

}  // namespace

std::string slot_lines(const detailed_run& run, const std::string& pool, const std::vector<std::int64_t>& index) {
  const tensor& before = find_buffer(run.given.buffers, pool)->view();
  const std::int64_t at = offset_of(before, index);
  std::string text = fmt::format("  before    {} (0x{:0{}x})\n", value_at(before, at), bits_at(before, at),
                                 static_cast<int>(2 * size_bytes(before.type)));
  if (index.size() == 2) return text;
  const std::int64_t page = index[0], slot = index[1], head = index[2], dim = index[3];
  if (const auto row = row_of(run.given, page * run.ran.planned.page_size + slot)) {
    const tensor& rows = find_buffer(run.given.buffers, pool + "_new")->view();
    text += fmt::format("  row {} goes to slot {} of page {}: {}_new[{}, {}, {}] = {}\n", *row, slot, page, pool, *row,
                        head, dim, value_at(rows, rows.offset(*row, head, dim)));
  } else {
    text += fmt::format("  the call writes no row to slot {} of page {}\n", slot, page);
  }
  return text + descale_line(run, pool + "_descale", page, head);
}

}  // namespace assay
