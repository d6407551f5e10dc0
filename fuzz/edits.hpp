/// Arbitrary edits of a problem and of its tensors, as a faulty caller may pass them. None of them is an error that a
/// library cannot detect, such as a tensor shorter than its shape says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "properties/generate/space.hpp"
#include "properties/relations/refusal.hpp"

namespace assay::fuzz {

/// Sets up to four numbers to chosen values. Spares numbers that mutations compare with each other, such as heads_q and
/// heads_kv: after an edit of one, the mutation might repair the problem.
void edit(problem& p, choice_source& choices);

/// In up to three tensors except the one at `kept`: shrinks or removes a dimension, changes the type or removes the
/// data.
void edit(std::vector<assay_tensor>& tensors, std::size_t kept, choice_source& choices);

/// One of so many.
std::size_t choose(choice_source& choices, std::size_t count);

/// Edits the problem and its tensors, breaks one of them, and passes them to the library. Nothing if the library
/// refuses them as it must.
std::optional<std::string> break_and_check(relations::refusal_check& checked, choice_source& choices);

}  // namespace assay::fuzz
