/// Which sequences use which pages of the pool.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <vector>

#include "properties/case/case.hpp"

namespace assay {

/// One page of the pool.
struct used_page {
  std::int64_t page = 0;
  std::vector<std::int64_t> sequences;  ///< that name it, ascending, each once; empty: dead
  std::int64_t entries = 0;             ///< table entries that name it; above 1: it is shared
  std::int64_t live_slots = 0;          ///< the most that one of them uses; the rest of page_size is dead
};
BOOST_DESCRIBE_STRUCT(used_page, (), (page, sequences, entries, live_slots))

struct page_use {
  std::int64_t pool_pages = 0;
  std::int64_t page_size = 0;
  std::vector<used_page> pages;       ///< the first 256 of the pool, ascending
  std::int64_t used = 0, shared = 0;  ///< of all pages of the pool; shared ones are used by several table entries
};
BOOST_DESCRIBE_STRUCT(page_use, (), (pool_pages, page_size, pages, used, shared))

/// From the page tables that the case states.
page_use use_of_pages(const attention_case& c);

}  // namespace assay
