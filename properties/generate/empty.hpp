/// Problems with nothing in them: a batch of no sequences, sequences without query rows or without keys. Kernels must
/// accept them, and write what such rows get or nothing.
#pragma once

#include <cstdint>

#include "properties/generate/walker.hpp"

namespace assay {

enum class empty_kind : std::int64_t { none, sequences, rows, keys };

/// Before a walk: what the case lacks. Gives it the least that the walk can choose, so that a source which writes the
/// case down finds every choice.
empty_kind fill_in(attention_case& c);

/// After a walk: rarely takes all sequences, all rows or all keys away. Drawn last, so that all else stays; never of a
/// large case.
void choose_empty(space_walker& w, empty_kind now);

}  // namespace assay
