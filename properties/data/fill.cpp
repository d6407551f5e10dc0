#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/data/inputs.hpp"
#include "properties/data/live_specials.hpp"
#include "properties/data/recipe.hpp"

namespace assay {
namespace {

/// Whose keys each physical page holds, and which of its slots are live.
class pool_content {
 public:
  explicit pool_content(const attention_case& c) : page_size_(c.page_size) {
    for (std::size_t s = 0; s < c.sequences.size(); ++s)
      add(static_cast<std::int64_t>(s), c.sequences[s].pages, describe(c).live_keys(c, c.sequences[s]));
  }

  /// Calls visit(page, slot, sequence, key) for every live slot; sequence and key are those of the page's first user.
  template <typename Visit>
  void for_each_live(Visit&& visit) const {
    for (const auto& [page, o] : owners_)
      for (std::int64_t slot = 0; slot < page_size_; ++slot)
        if (o.live[static_cast<std::size_t>(slot)]) visit(page, slot, o.sequence, o.first_key + slot);
  }

  /// Calls visit(page, sequence, ordinal) for every page with a live slot; the sequence is that of the page's first
  /// user, the ordinal the page's number in it.
  template <typename Visit>
  void for_each_live_page(Visit&& visit) const {
    for (const auto& [page, o] : owners_)
      if (std::ranges::find(o.live, true) != o.live.end()) visit(page, o.sequence, o.first_key / page_size_);
  }

 private:
  struct owner {
    std::int64_t sequence = -1;
    std::int64_t first_key = 0;
    std::vector<bool> live;
  };

  void add(std::int64_t s, const std::vector<std::int64_t>& pages, const key_range& keys) {
    for (std::size_t ordinal = 0; ordinal < pages.size(); ++ordinal) {
      owner& o = owners_[pages[ordinal]];
      const std::int64_t first = static_cast<std::int64_t>(ordinal) * page_size_;
      if (o.sequence < 0) o = {s, first, std::vector<bool>(static_cast<std::size_t>(page_size_))};
      const std::int64_t end = std::min(first + page_size_, keys.end);
      for (std::int64_t key = std::max(first, keys.first); key < end; ++key)
        o.live[static_cast<std::size_t>(key - first)] = true;
    }
  }

  std::int64_t page_size_;
  std::map<std::int64_t, owner> owners_;  ///< of the pages in use, be the pool as large as it may
};

void set(buffer& b, std::int64_t offset, std::uint32_t bits) {
  store_bits(b.view().data, offset, b.view().type, bits);
}
/// Elements along the last dimension, from its start on.
void set_row(buffer& b, std::int64_t offset, std::span<const std::uint32_t> bits) {
  const tensor& t = b.view();
  const std::int64_t stride = t.stride[t.rank - 1];
  if (stride == 1) return store_bits(t.data, offset, t.type, bits);
  for (const std::uint32_t one : bits) set(b, offset, one), offset += stride;
}
void set_i32(buffer& b, std::int64_t offset, std::int64_t value) {
  set(b, offset, static_cast<std::uint32_t>(value));
}

/// All elements of these bytes: the ranges begin and end at whole elements, as OS pages do.
template <typename Element>
void set_all(buffer& b, const std::vector<index_range>& ranges, std::uint32_t bits) {
  for (const index_range& r : ranges)
    std::fill_n(reinterpret_cast<Element*>(b.bytes(r).data()), b.bytes(r).size() / sizeof(Element),
                static_cast<Element>(bits));
}

void poison(buffer& b, const std::vector<index_range>& ranges, poison_kind kind) {
  const std::uint32_t bits = poison_pattern(b.view().type, kind);
  switch (size_bytes(b.view().type)) {
    case 1: return set_all<std::uint8_t>(b, ranges, bits);
    case 2: return set_all<std::uint16_t>(b, ranges, bits);
    default: return set_all<std::uint32_t>(b, ranges, bits);
  }
}

/// All that is accessible, what lies between rows included.
void poison_all(buffer& b, poison_kind kind) {
  poison(b, b.accessible(), kind);
}

/// What lies between the rows of a buffer whose indices are all there.
void poison_gaps(buffer& b, poison_kind kind) {
  poison(b, b.gaps(), kind);
}

/// Dead table entries: ids that are in no pool, and wrong ids that are in this one. `zero` is a plain 0.
std::int64_t poison_entry(const attention_case& c, std::int64_t number) {
  if (c.data.poison == poison_kind::zero) return 0;
  const std::int64_t lies[] = {-1, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(),
                               c.pool_pages, number % std::max<std::int64_t>(c.pool_pages, 1)};
  return lies[(static_cast<std::int64_t>(c.data.poison) + number) % 5];
}

class filler {
 public:
  explicit filler(const attention_case& c) : case_(c), recipe_(c), specials_(c), content_(c) {}

  void fill(buffer& b, const planned_tensor& t) const {
    switch (t.content) {
      case tensor_content::unwritten: return;
      case tensor_content::queries:
        return fill_rows(b, [&](const place& row, std::span<std::uint32_t> bits) {
          recipe_.q(row, t.draw, bits);
          put_specials(row, bits, &live_specials::q);
        });
      case tensor_content::rows_of_any_size:
        return fill_rows(
            b, [&](const place& row, std::span<std::uint32_t> bits) { recipe_.row_of_any_size(row, t.draw, bits); });
      case tensor_content::keys: return fill_pool(b, true);
      case tensor_content::values: return fill_pool(b, false);
      case tensor_content::weights: return fill_weights(b);
      case tensor_content::key_scales: return fill_key_scales(b);
      case tensor_content::k_descales: return fill_descales(b, true);
      case tensor_content::v_descales: return fill_descales(b, false);
      case tensor_content::bias: return fill_bias(b);
      case tensor_content::sinks:
        for (std::int64_t h = 0; h < case_.heads_q; ++h) set(b, h, recipe_.sink(h));
        return;
      case tensor_content::computed: return fill_matrix(b, t);
      case tensor_content::row_sums: return fill_sums(b, [](const sequence& s) { return std::int64_t{s.q}; });
      case tensor_content::key_counts: return fill_each(b, [](const sequence& s) { return std::int64_t{s.k}; });
      case tensor_content::block_table: return fill_block_table(b);
      case tensor_content::page_sums:
        return fill_sums(b, [&](const sequence& s) {
          return static_cast<std::int64_t>(s.pages.size()) + case_.spare_table_entries;
        });
      case tensor_content::page_list: return fill_page_list(b);
      case tensor_content::prefix_offsets:
        return fill_each(b, [](const sequence& s) { return std::int64_t{*s.prefix_offset}; });
      case tensor_content::row_indices: return fill_row_indices(b, t);
    }
  }

 private:
  /// Calls visit(row of the batch, sequence, row of the sequence) for every new row or query row.
  template <typename Visit>
  void for_each_row(Visit&& visit) const {
    std::int64_t total_row = 0;
    for (std::size_t s = 0; s < case_.sequences.size(); ++s)
      for (std::int64_t row = 0; row < case_.sequences[s].q; ++row) visit(total_row++, s, row);
  }

  void put_specials(place at, std::span<std::uint32_t> bits,
                    std::uint32_t (live_specials::*one)(const place&, std::uint32_t) const) const {
    if (case_.data.specials == special_kind::none) return;
    for (std::uint32_t& b : bits) b = (specials_.*one)(at, b), ++at.dim;
  }

  /// [row, head, dim] of what `draw` puts into a row of dims.
  template <typename Draw>
  void fill_rows(buffer& b, Draw&& draw) const {
    poison_gaps(b, case_.data.poison);
    const std::int64_t heads = b.view().shape[1];
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(b.view().shape[2]));
    const auto store = [&](std::int64_t row, std::int64_t h) { set_row(b, b.view().offset(row, h), bits); };
    for_each_row([&](std::int64_t total_row, std::size_t s, std::int64_t row) {
      for (std::int64_t h = 0; h < heads; ++h) {
        draw(place{static_cast<std::int64_t>(s), row, h, 0}, bits);
        store(total_row, h);
      }
    });
    std::ranges::fill(bits, poison_pattern(b.view().type, case_.data.poison));
    for (std::int64_t row = b.view().shape[0] - case_.padding_rows; row < b.view().shape[0]; ++row)
      for (std::int64_t h = 0; h < heads; ++h) store(row, h);
  }

  void fill_row_indices(buffer& b, const planned_tensor& t) const {
    for_each_row([&](std::int64_t batch_row, std::size_t s, std::int64_t row) {
      const auto index = t.row_index(case_, case_.sequences[s], row, batch_row);
      const std::int64_t value = index ? *index : poison_entry(case_, batch_row);
      if (t.type == dtype::i64)
        reinterpret_cast<std::int64_t*>(b.view().data)[batch_row] = value;
      else
        set_i32(b, batch_row, value);
    });
  }

  void fill_matrix(buffer& b, const planned_tensor& t) const {
    poison_all(b, case_.data.poison);
    std::vector<double> of_columns;
    of_columns.reserve(static_cast<std::size_t>(t.shape[1]));
    for (std::int64_t column = 0; column < t.shape[1]; ++column) of_columns.push_back(t.of_column(column, t.shape[1]));
    for (const std::int64_t row : t.live_rows(case_))
      for (std::int64_t column = 0; column < t.shape[1]; ++column)
        set(b, b.view().offset(row, column), t.element(row, of_columns[static_cast<std::size_t>(column)]));
  }

  void fill_pool(buffer& b, bool is_k) const {
    poison_all(b, case_.data.poison);
    const tensor& t = b.view();
    const std::int64_t dims = t.shape[3];
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(dims));
    content_.for_each_live([&](std::int64_t page, std::int64_t slot, std::int64_t s, std::int64_t key) {
      for (std::int64_t h = 0; h < case_.heads_kv; ++h) {
        const place first{s, key, h, 0};
        is_k ? recipe_.k(first, bits) : recipe_.v(first, bits);
        put_specials(first, bits, is_k ? &live_specials::k : &live_specials::v);
        if (case_.k_order == key_order::plain) {
          set_row(b, t.offset(page, slot, h), bits);
          continue;
        }
        constexpr std::int64_t run = 16;
        for (std::int64_t d = 0; d < dims; d += run)
          store_bits(t.data, t.offset(page) + preshuffled_offset(slot, d, dims), t.type,
                     std::span(bits).subspan(static_cast<std::size_t>(d), static_cast<std::size_t>(run)));
      }
    });
  }

  /// Tiles of 16 slots and 16 dims one after another, those of the same slots together; see key_order.
  static std::int64_t preshuffled_offset(std::int64_t slot, std::int64_t dim, std::int64_t dims) {
    const std::int64_t tile = slot / 16 * (dims / 16) + dim / 16;
    return (tile * 16 + slot % 16) * 16 + dim % 16;
  }

  void fill_weights(buffer& b) const {
    poison_gaps(b, case_.data.poison);
    for_each_row([&](std::int64_t total_row, std::size_t s, std::int64_t row) {
      for (std::int64_t h = 0; h < case_.heads_q; ++h) {
        const place at{static_cast<std::int64_t>(s), row, h, 0};
        set(b, b.view().offset(total_row, h), specials_.weight(at, recipe_.weight(at)));
      }
    });
  }

  void fill_key_scales(buffer& b) const {
    poison_all(b, case_.data.poison);
    content_.for_each_live([&](std::int64_t page, std::int64_t slot, std::int64_t s, std::int64_t key) {
      set(b, b.view().offset(page, slot), recipe_.key_scale({s, key, 0, 0}));
    });
  }

  void fill_descales(buffer& b, bool is_k) const {
    poison_all(b, case_.data.poison);
    // Of a descale times a code, which must not overflow: where dead numbers are promised, it would be an infinity.
    constexpr double huge_descale = 0x1p100;
    if (case_.data.poison == poison_kind::huge)
      for (const index_range& r : b.accessible())
        for (std::int64_t at = r.begin / 4; at < r.end / 4; ++at) set(b, at, round_to_bits(dtype::f32, huge_descale));
    content_.for_each_live_page([&](std::int64_t page, std::int64_t s, std::int64_t ordinal) {
      for (std::int64_t h = 0; h < case_.heads_kv; ++h)
        set(b, b.view().offset(page, h), recipe_.descale(is_k, {s, ordinal, h, 0}));
    });
  }

  template <typename Get>
  void fill_each(buffer& b, Get&& get) const {
    for (std::size_t s = 0; s < case_.sequences.size(); ++s)
      set_i32(b, static_cast<std::int64_t>(s), get(case_.sequences[s]));
  }

  template <typename Get>
  void fill_sums(buffer& b, Get&& get) const {
    std::int64_t sum = 0, at = 0;
    set_i32(b, at++, 0);
    for (const sequence& s : case_.sequences) set_i32(b, at++, sum += get(s));
  }

  void fill_page_list(buffer& b) const {
    std::int64_t at = 0;
    for (const sequence& s : case_.sequences) {
      for (const std::int64_t page : s.pages) set_i32(b, at++, page);
      for (std::int64_t i = 0; i < case_.spare_table_entries; ++i, ++at) set_i32(b, at, poison_entry(case_, at));
    }
  }

  void fill_block_table(buffer& b) const {
    const std::int64_t columns = b.view().shape[1], entry_bytes = size_bytes(b.view().type);
    for (const index_range& r : b.gaps())
      for (std::int64_t at = r.begin / entry_bytes; at < r.end / entry_bytes; ++at)
        set_i32(b, at, poison_entry(case_, at));
    for (std::size_t s = 0; s < case_.sequences.size(); ++s)
      for (std::int64_t i = 0; i < columns; ++i) {
        const auto& pages = case_.sequences[s].pages;
        const std::int64_t number = static_cast<std::int64_t>(s) * columns + i;
        const bool is_live = i < static_cast<std::int64_t>(pages.size());
        set_i32(b, b.view().offset(static_cast<std::int64_t>(s), i),
                is_live ? pages[static_cast<std::size_t>(i)] : poison_entry(case_, number));
      }
  }

  /// What heads or rows share is what the first of them has. It is live where one of them sees it.
  void fill_bias(buffer& b) const {
    poison_all(b, case_.data.poison);
    const bool by_heads = case_.bias_shared == bias_sharing::heads, by_rows = case_.bias_shared == bias_sharing::rows;
    for (std::int64_t h = 0; h < case_.heads_q; ++h) {
      std::int64_t total_row = 0;
      for (std::size_t s = 0; s < case_.sequences.size(); ++s)
        for (std::int64_t row = 0; row < case_.sequences[s].q; ++row, ++total_row)
          for (std::int64_t key = 0; key < case_.sequences[s].k; ++key)
            if (sees(case_, case_.sequences[s], row, key))
              set(b, b.view().offset(h, total_row, key),
                  recipe_.bias(by_rows ? 0 : static_cast<std::int64_t>(s), by_rows ? 0 : row, key, by_heads ? 0 : h));
    }
  }

  const attention_case& case_;
  recipe recipe_;
  live_specials specials_;
  pool_content content_;
};

/// A pool that is too large to be whole is sparse. Tables and lists of numbers end at an inaccessible OS page, because
/// kernels read them one by one. Tensors that kernels load in vectors end there if their rows keep the alignment of the
/// widest vectors.
buffer_backing backing_of(const planned_tensor& t, const std::vector<index_range>& used) {
  constexpr std::int64_t vector_bytes = 16;  // the widest load that a lane of any GPU here issues
  const bool is_read_singly = is_index(t.content) || (t.type == dtype::f32 && t.shape.size() <= 2);
  buffer_backing backing;
  const auto keeps_alignment = [&](std::int64_t elements) { return elements * size_bytes(t.type) % vector_bytes == 0; };
  backing.flush_end = is_read_singly || (t.content != tensor_content::bias && keeps_alignment(t.shape.back()) &&
                                         keeps_alignment(t.gap) && keeps_alignment(t.outer_gap));
  backing.gap = t.gap;
  backing.outer_gap = t.outer_gap;
  backing.is_far = t.is_far;
  backing.shared_dimension = t.shared_dimension;
  backing.role = t.role;
  if (t.is_pool && is_sparse(t)) backing.used = used;
  return backing;
}

void apply(const override_bits& o, std::vector<buffer>& buffers) {
  const auto found =
      std::ranges::find(buffers, o.tensor, [](const buffer& b) -> const std::string& { return b.name(); });
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < o.index.size(); ++d) offset += o.index[d] * found->view().stride[d];
  set(*found, offset, o.bits);
}

}  // namespace

inputs fill(const attention_case& c) {
  validate(c);
  inputs in;
  in.stated = to_problem(c);
  const filler f(c);
  std::vector<index_range> used;
  for (const std::int64_t page : pages_in_use(c)) used.push_back({page, page + 1});
  used = joined(std::move(used));
  for (planned_tensor& t : plan_tensors(c)) {
    buffer_backing backing = backing_of(t, used);
    in.buffers.emplace_back(std::move(t.name), t.type, t.shape, std::move(t.order), std::move(backing));
    f.fill(in.buffers.back(), t);
  }
  for (const override_bits& o : c.data.overrides) apply(o, in.buffers);
  return in;
}

}  // namespace assay
