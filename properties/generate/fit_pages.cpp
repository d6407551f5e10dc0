#include "properties/generate/fit_pages.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "properties/case/tensor_plan.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_pages = std::numeric_limits<std::int32_t>::max();

/// The pages of a list, where a page of the old size has `parts` of the new one, which is smaller.
std::vector<std::int64_t> split(const sequence& s, std::int64_t old_size, std::int64_t new_size, std::int64_t parts) {
  std::vector<std::int64_t> pages;
  for (std::int64_t i = 0; i < pages_for(s.k, new_size); ++i) {
    const std::int64_t key = i * new_size;
    pages.push_back(s.pages[static_cast<std::size_t>(key / old_size)] * parts + key % old_size / new_size);
  }
  return pages;
}

/// The same of a larger one: each new page is the old one in which it begins.
std::vector<std::int64_t> join(const sequence& s, std::int64_t old_size, std::int64_t new_size) {
  std::vector<std::int64_t> pages;
  pages.reserve(static_cast<std::size_t>(pages_for(s.k, new_size)));
  for (std::int64_t i = 0; i < pages_for(s.k, new_size); ++i)
    pages.push_back(s.pages[static_cast<std::size_t>(i * new_size / old_size)]);
  return pages;
}

}  // namespace

void resize_pages(attention_case& c, std::int32_t page_size) {
  const std::int64_t before = c.page_size;
  if (page_size == before) return;
  const std::int64_t parts = page_size < before ? pages_for(before, page_size) : 1;
  if (c.pool_pages > most_pages / parts) pack_pages(c, 0);
  for (sequence& s : c.sequences) s.pages = parts > 1 ? split(s, before, page_size, parts) : join(s, before, page_size);
  c.pool_pages *= parts;
  c.page_size = page_size;
}

void set_keys_of(attention_case& c, sequence& s, std::int32_t keys) {
  s.k = keys;
  const auto needed = static_cast<std::size_t>(pages_for(keys, c.page_size));
  if (s.pages.size() > needed) s.pages.resize(needed);
  while (s.pages.size() < needed) s.pages.push_back(c.pool_pages++);
}

void pack_pages(attention_case& c, std::int64_t least) {
  std::map<std::int64_t, std::int64_t> new_id;
  for (sequence& s : c.sequences)
    for (std::int64_t& page : s.pages)
      page = new_id.try_emplace(page, static_cast<std::int64_t>(new_id.size())).first->second;
  c.pool_pages = std::max(least, static_cast<std::int64_t>(new_id.size()));
}

void share_pages(attention_case& c, std::int64_t most) {
  for (sequence& s : c.sequences)
    for (std::int64_t& page : s.pages) page %= most;
  c.pool_pages = std::min(c.pool_pages, most);
}

}  // namespace assay
