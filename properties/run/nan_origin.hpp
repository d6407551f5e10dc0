/// Where a NaN in an output may come from: what the kernel loaded that is not finite, or is dead memory.
#pragma once

#include <string>

#include "properties/run/kernel_library.hpp"
#include "properties/run/verdict.hpp"

namespace assay {

/// Whether failures of this origin may.
bool may_ask_for_loads(const std::string& origin);
/// Whether a written output element of a failed case is not finite where the enclosure has a number, or the contents of
/// dead memory reach an output.
bool asks_for_loads(const verdict& v);

/// One line on the first element that a run of the case loads and that explains the failure: a dead NaN, else a dead
/// infinity, else a live NaN, else a live infinity, else any dead element; or that there was none. Runs the case again,
/// with a watch on the loads of inputs. Empty where loads cannot be watched: the library is not compiled for checks, or
/// its platform is no cpu.
std::string first_suspect_load(const library& lib, const attention_case& c);

}  // namespace assay
