/// Arbitrary edits of a problem and of its tensors, as a broken caller may pass them. Memory stays honest: what a
/// library cannot find out (a tensor shorter than its shape says) is not among them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/library.hpp"
#include "properties/generate/space.hpp"
#include "properties/relations/refusal.hpp"

namespace assay::fuzz {

/// Sets up to four numbers to chosen values. Left alone is what known-bad mutations depend on in pairs, such as heads_q
/// beside heads_kv: after an edit, they may mend it.
void edit(problem& p, choice_source& choices);

/// Shrinks a dimension, takes one away, changes a type or takes the data away, in up to three tensors, but for the one
/// at `kept`.
void edit(std::vector<assay_tensor>& tensors, std::size_t kept, choice_source& choices);

/// One of so many.
std::size_t choose(choice_source& choices, std::size_t count);

/// Edits, breaks and passes the problem or a tensor, as chosen. Nothing where it is refused as it must be.
std::optional<std::string> break_and_check(relations::refusal_check& checked, choice_source& choices);

}  // namespace assay::fuzz
