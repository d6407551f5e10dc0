/// Which failures are of one kind.
#pragma once

#include <string>

#include "properties/campaign/fuzzer_log.hpp"

namespace assay::campaign {

/// Whether it says how a process ended and no more: whatever the defects are, they are all of this one kind.
bool is_vague(const complaint& is);

/// The complaint without what differs between two inputs that fail alike: numbers become "N". The number of a source
/// line ("x.hip:274") stays, and so do digits of names ("f16").
std::string kind_of(const complaint& is);

/// Names the file of a finding of that kind: "enclosure-1f2e3d4c".
std::string name_of_kind(const complaint& is);

}  // namespace assay::campaign
