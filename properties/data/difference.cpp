#include "properties/data/difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"

namespace assay {

std::uint32_t bits_at(const tensor& t, std::int64_t offset) {
  const std::int64_t bytes = size_bytes(t.type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(t.data) + offset * bytes, static_cast<std::size_t>(bytes));
  return bits;
}

void set_bits(const tensor& t, std::int64_t offset, std::uint32_t bits) {
  const std::int64_t bytes = size_bytes(t.type);
  std::memcpy(static_cast<std::byte*>(t.data) + offset * bytes, &bits, static_cast<std::size_t>(bytes));
}

double value_at(const tensor& t, std::int64_t offset) {
  return oracle::load(t, offset);
}

std::int64_t offset_of(const tensor& t, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * t.stride[d];
  return offset;
}

namespace {

/// Calls visit(index, n) with the first index of each run of n indices along the last axis whose first coordinate lies
/// in `first`. The visitor may change the last coordinate.
template <typename Visit>
void visit_runs(const tensor& t, index_range first, Visit&& visit) {
  const auto last = static_cast<std::size_t>(t.rank) - 1;
  const index_range run = last == 0 ? first : index_range{0, t.shape[last]};
  if (t.size() == 0 || run.size() == 0) return;
  std::vector<std::int64_t> index(last + 1, 0);
  std::int64_t runs = last == 0 ? 1 : first.size();
  for (std::size_t d = 1; d < last; ++d) runs *= t.shape[d];
  if (last > 0) index[0] = first.begin;
  for (; runs > 0; --runs) {
    index[last] = run.begin;
    visit(index, run.size());
    for (std::size_t d = last; d-- > 0;) {
      if (++index[d] < t.shape[d]) break;
      index[d] = 0;
    }
  }
}

/// The indices whose first coordinate lies in `first`.
void visit_indices(const tensor& t, index_range first,
                   const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  visit_runs(t, first, [&](std::vector<std::int64_t>& index, std::int64_t n) {
    for (const std::int64_t end = index.back() + n; index.back() < end; ++index.back()) visit(index);
  });
}

}  // namespace

void for_each_index(const tensor& t, const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  visit_indices(t, {0, t.shape[0]}, visit);
}

void for_each_index(const buffer& b, const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  for (const index_range& run : b.used()) visit_indices(b.view(), run, visit);
}

void change_bits(const buffer& b, const std::function<std::uint32_t(std::uint32_t)>& change) {
  const tensor& t = b.view();
  // Pools of types of 1 or 2 bytes have far more elements than there are patterns.
  constexpr std::int64_t unknown = -1;
  std::vector<std::int64_t> known;
  const std::size_t patterns = size_bytes(t.type) == 1 ? 1 << 8 : size_bytes(t.type) == 2 ? 1 << 16 : 0;
  if (t.size() > 1 << 16) known.assign(patterns, unknown);
  const auto changed = [&](std::uint32_t bits) {
    if (known.empty()) return change(bits);
    std::int64_t& now = known[bits];
    if (now == unknown) now = change(bits);
    return static_cast<std::uint32_t>(now);
  };
  for (const index_range& first : b.used())
    visit_runs(t, first, [&](const std::vector<std::int64_t>& index, std::int64_t n) {
      std::int64_t at = offset_of(t, index);
      for (std::int64_t i = 0; i < n; ++i, at += t.stride[t.rank - 1]) {
        const std::uint32_t bits = bits_at(t, at), now = changed(bits);
        if (now != bits) set_bits(t, at, now);
      }
    });
}

namespace {

/// Elements that differ, and the first of them.
struct difference {
  std::int64_t count = 0;
  std::vector<std::int64_t> index;
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

/// Whether a NaN is that of an unwritten element.
bool is_unwritten(dtype type, std::uint32_t bits) {
  const std::uint32_t all = size_bytes(type) >= 4 ? 0xFFFFFFFFU : (1U << (8 * size_bytes(type))) - 1;
  return bits == (all & (oracle::unwritten_byte * 0x01010101U));
}

/// Whether both results are the same but for the payload of a NaN that a kernel computed. Pools are copied, so there
/// bits count.
bool are_same_nan(const buffer& of, std::uint32_t a, std::uint32_t b) {
  const dtype type = of.view().type;
  if (of.role() == tensor_role::in_out || size_bytes(type) == 1) return false;
  return std::isnan(oracle::decode(type, a)) && std::isnan(oracle::decode(type, b)) && !is_unwritten(type, a) &&
         !is_unwritten(type, b);
}

/// Whether the rule admits a value, whatever the interval is.
bool is_admitted(oracle::element_rule rule, double value) {
  return std::isnan(value) ? oracle::admits_nan(rule) : std::isinf(value) && oracle::admits_infinity(rule, value < 0);
}

/// Whether the rule admits one of two results that were written, whatever the other is.
bool may_differ(oracle::element_rule rule, dtype type, std::uint32_t a, std::uint32_t b) {
  if (is_unwritten(type, a) || is_unwritten(type, b)) return false;
  return is_admitted(rule, oracle::decode(type, a)) || is_admitted(rule, oracle::decode(type, b));
}

/// Whether n elements along the last axis, from these offsets on, are bytes side by side that do not differ.
bool same_bytes(const tensor& x, std::int64_t at_x, const tensor& y, std::int64_t at_y, std::int64_t n) {
  const int last = x.rank - 1;
  if (x.stride[last] != 1 || y.stride[last] != 1) return false;
  const std::int64_t element = size_bytes(x.type);
  return std::memcmp(static_cast<const std::byte*>(x.data) + at_x * element,
                     static_cast<const std::byte*>(y.data) + at_y * element,
                     static_cast<std::size_t>(n * element)) == 0;
}

/// Where one of them is sparse (margins can make the same pool so), in the pages that are used.
difference compare(const buffer& x, const buffer& y, const buffer* rules) {
  difference found;
  const tensor &before = x.view(), &after = y.view();
  const auto compare_elements = [&](const std::vector<std::int64_t>& index) {
    const std::uint32_t a = bits_at(before, offset_of(before, index));
    const std::uint32_t b = bits_at(after, offset_of(after, index));
    if (a == b || are_same_nan(x, a, b)) return;
    if (rules != nullptr) {
      const auto rule = static_cast<oracle::element_rule>(bits_at(rules->view(), offset_of(rules->view(), index)));
      if (may_differ(rule, before.type, a, b)) return;
    }
    if (found.count++ == 0) {
      found.index = index;
      found.before = a;
      found.after = b;
    }
  };
  const buffer& walked = y.is_sparse() ? y : x;
  for (const index_range& first : walked.used())
    visit_runs(walked.view(), first, [&](std::vector<std::int64_t>& index, std::int64_t n) {
      if (same_bytes(before, offset_of(before, index), after, offset_of(after, index), n)) return;
      for (const std::int64_t end = index.back() + n; index.back() < end; ++index.back()) compare_elements(index);
    });
  return found;
}

}  // namespace

void set_rules(outputs& out, const oracle::enclosure& bounds) {
  for (const oracle::enclosed_tensor& e : bounds.tensors) {
    const auto is_special = [](std::uint8_t rule) {
      return oracle::admits_nan(static_cast<oracle::element_rule>(rule));
    };
    if (e.indices || std::ranges::none_of(e.kept, is_special)) continue;
    buffer of_elements(e.name, dtype::i8, e.shape);
    std::int64_t flat = 0;
    for_each_index(of_elements.view(), [&](const std::vector<std::int64_t>& index) {
      set_bits(of_elements.view(), offset_of(of_elements.view(), index), e.kept[static_cast<std::size_t>(flat++)]);
    });
    out.rules.push_back(std::move(of_elements));
  }
}

std::optional<std::string> first_difference(const outputs& before, const outputs& after) {
  for (const buffer& b : before.buffers) {
    const buffer* other = find_buffer(after.buffers, b.name());
    if (other == nullptr) continue;
    const tensor& x = b.view();
    const tensor& y = other->view();
    if (!std::equal(x.shape, x.shape + x.rank, y.shape, y.shape + y.rank))
      return fmt::format("{}: shapes differ", b.name());
    const difference found = compare(b, *other, find_buffer(before.rules, b.name()));
    if (found.count == 0) continue;
    const int digits = static_cast<int>(2 * size_bytes(x.type));
    return fmt::format("{}[{}]: {} (0x{:0{}x}) became {} (0x{:0{}x}); {} of {} elements differ", b.name(),
                       fmt::join(found.index, ", "), value_at(x, offset_of(x, found.index)), found.before, digits,
                       value_at(y, offset_of(y, found.index)), found.after, digits, found.count, x.size());
  }
  return std::nullopt;
}

}  // namespace assay
