/// Edits of a case that make a property apply to it. All keep the case valid.
#pragma once

#include "properties/case/case.hpp"
#include "properties/case/support.hpp"

namespace assay::relations {

/// At least `count` sequences: copies of the first one, on its pages.
void ensure_sequences(attention_case& c, std::size_t count);

/// At least `count` keys in sequence s, on fresh pages of a grown pool where its own do not suffice.
void ensure_keys(attention_case& c, std::size_t s, std::int32_t count);

/// At least `count` query rows in sequence s; in batch mode, in all sequences.
void ensure_rows(attention_case& c, std::size_t s, std::int32_t count);

/// Per-page descales, with pages large enough for what the kernel does, in the order of their first use. Other types
/// become FP8 ones, where the kernel takes any.
void ensure_per_page_descales(attention_case& c, const assay_support& takes);

}  // namespace assay::relations
