/// A campaign: processes of a fuzz target over one corpus, replaced when they end, until the time is up.
#pragma once

#include <functional>

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// Runs it, going on from what is in the folder. `found` is called for each finding as soon as it is on disk. Throws
/// environment_error when the target does not run, when its state cannot be written, or when another campaign is at
/// work in the folder.
result run(const options& given, const library& lib, const std::function<void(const finding&)>& found);

}  // namespace assay::campaign
