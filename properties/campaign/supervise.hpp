/// A campaign: processes of a fuzz target over one corpus, replaced when they end, until the time is up.
#pragma once

#include <functional>

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// Runs a campaign, continuing from the state in its folder. Calls `found` for each finding as soon as it is on disk.
/// Throws environment_error if the target does not run, if the state cannot be written, or if another campaign uses the
/// folder.
result run(const options& given, const library& lib, const std::function<void(const finding&)>& found);

}  // namespace assay::campaign
