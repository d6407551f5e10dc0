/// Page lists of cases whose pages or lengths change.
#pragma once

#include <cstdint>

#include "properties/case/case.hpp"

namespace assay {

/// Pages of another size in the same places: what shared a page still does, and pages that follow each other still do.
void resize_pages(attention_case& c, std::int32_t page_size);

/// So many keys in a sequence, on its own first pages; on new pages of a grown pool where they do not suffice.
void set_keys_of(attention_case& c, sequence& s, std::int32_t keys);

/// The same sharing with the ids in order of first use and no page unreferenced. At least `least` pages in the pool.
void pack_pages(attention_case& c, std::int64_t least);

/// At most so many pages in the pool, at least 1: those behind it become earlier ones, which then are shared.
void share_pages(attention_case& c, std::int64_t most);

}  // namespace assay
