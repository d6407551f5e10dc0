#include "properties/relations/adapt.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/support_table.hpp"

namespace assay::relations {

void ensure_sequences(attention_case& c, std::size_t count) {
  if (c.sequences.empty()) c.sequences.emplace_back(sequence{.q = 1, .k = 0, .prefix_offset = {}, .pages = {}});
  while (c.sequences.size() < count) c.sequences.push_back(c.sequences.front());
}

void ensure_keys(attention_case& c, std::size_t s, std::int32_t count) {
  sequence& seq = c.sequences[s];
  seq.k = std::max(seq.k, count);
  if ((describe(c).capabilities & has_columns) != 0) c.max_model_len = std::max(c.max_model_len, seq.k);
  const std::int64_t pages = (std::int64_t{seq.k} + c.page_size - 1) / c.page_size;
  while (static_cast<std::int64_t>(seq.pages.size()) < pages) seq.pages.push_back(c.pool_pages++);
}

void ensure_rows(attention_case& c, std::size_t s, std::int32_t count) {
  c.sequences[s].q = std::max(c.sequences[s].q, count);
  if (c.batching == q_batching::batch)
    for (sequence& other : c.sequences) other.q = c.sequences[s].q;
}

void ensure_per_page_descales(attention_case& c, const assay_support& takes) {
  const kernel_space* known = find_kernel_space(c.kernel);
  if (c.kv_descale == descale_kind::per_page || known == nullptr || known->per_page_keys == 0) return;
  if (!is_fp8(c.kv_type)) {
    std::vector<type_choice> quantised = supported_types(c.kernel, takes);
    std::erase_if(quantised, [](const type_choice& t) { return !is_fp8(t.kv); });
    if (quantised.empty()) return;
    give_types(c, quantised[static_cast<std::size_t>(c.data.seed / 16 % quantised.size())]);
  }
  c.kv_descale = descale_kind::per_page;
  c.data.descale_ratio = 1.1F;
  c.page_size = static_cast<std::int32_t>(pages_for(c.page_size, known->per_page_keys) * known->per_page_keys);
  // Larger pages: fewer of them hold the keys, and a pool of as many would be far larger.
  std::map<std::int64_t, std::int64_t> new_id;
  for (sequence& s : c.sequences) {
    s.pages.resize(static_cast<std::size_t>(pages_for(s.k, c.page_size)));
    for (std::int64_t& page : s.pages)
      page = new_id.try_emplace(page, static_cast<std::int64_t>(new_id.size())).first->second;
  }
  c.pool_pages = static_cast<std::int64_t>(new_id.size()) + 1;
}

}  // namespace assay::relations
