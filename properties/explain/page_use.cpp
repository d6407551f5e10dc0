#include "properties/explain/page_use.hpp"

#include <algorithm>
#include <map>

namespace assay {

page_use use_of_pages(const attention_case& c) {
  constexpr std::int64_t most_pages = 256;
  std::map<std::int64_t, used_page> of;
  for (std::size_t s = 0; s < c.sequences.size(); ++s)
    for (std::size_t i = 0; i < c.sequences[s].pages.size(); ++i) {
      used_page& page = of[c.sequences[s].pages[i]];
      const auto number = static_cast<std::int64_t>(s);
      if (page.sequences.empty() || page.sequences.back() != number) page.sequences.push_back(number);
      ++page.entries;
      const std::int64_t behind = c.sequences[s].k - static_cast<std::int64_t>(i) * c.page_size;
      page.live_slots = std::max(page.live_slots, std::clamp<std::int64_t>(behind, 0, c.page_size));
    }
  page_use made{c.pool_pages, c.page_size, {}, static_cast<std::int64_t>(of.size()), 0};
  for (const auto& [page, u] : of) made.shared += u.entries > 1 ? 1 : 0;
  for (std::int64_t page = 0; page < std::min(c.pool_pages, most_pages); ++page) {
    const auto at = of.find(page);
    used_page one = at == of.end() ? used_page{} : at->second;
    one.page = page;
    made.pages.push_back(std::move(one));
  }
  return made;
}

}  // namespace assay
