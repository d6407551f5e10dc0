#include "properties/relations/adapt.hpp"

#include <algorithm>

namespace assay::relations {

void ensure_sequences(attention_case& c, std::size_t count) {
  if (c.sequences.empty()) c.sequences.emplace_back(sequence{.q = 1, .k = 0, .prefix_offset = {}, .pages = {}});
  while (c.sequences.size() < count) c.sequences.push_back(c.sequences.front());
}

void ensure_keys(attention_case& c, std::size_t s, std::int32_t count) {
  sequence& seq = c.sequences[s];
  seq.k = std::max(seq.k, count);
  const std::int64_t pages = (std::int64_t{seq.k} + c.page_size - 1) / c.page_size;
  while (static_cast<std::int64_t>(seq.pages.size()) < pages) seq.pages.push_back(c.pool_pages++);
}

void ensure_rows(attention_case& c, std::size_t s, std::int32_t count) {
  c.sequences[s].q = std::max(c.sequences[s].q, count);
}

}  // namespace assay::relations
