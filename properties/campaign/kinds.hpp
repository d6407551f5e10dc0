/// Which failures are of one kind.
#pragma once

#include <string>

#include "properties/campaign/fuzzer_log.hpp"

namespace assay::campaign {

/// Whether the complaint says only how a process ended. All such failures are of one kind, whatever their defects.
bool is_vague(const complaint& failure);

/// The complaint without what differs between two inputs that fail alike: numbers become "N". Numbers of source lines
/// ("x.hip:274") and digits of names ("f16") stay.
std::string kind_of(const complaint& failure);

/// The name of a finding of that kind: "enclosure-1f2e3d4c".
std::string name_of_kind(const complaint& failure);

}  // namespace assay::campaign
