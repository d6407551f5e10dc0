/// Tells a wrong contract from a wrong kernel: where outputs lie outside of the declared contract's enclosure, another
/// contract may describe the kernel.
#pragma once

#include <string>

#include "properties/data/inputs.hpp"
#include "properties/run/execution.hpp"

namespace assay {

/// One line that names the parts of a contract which differ from the declared one and whose enclosure holds all
/// outputs: "the outputs fit another contract: tile_keys 32 (not 64)". Of contracts that differ in one part, else
/// in two, the sharpest. If only a contract without an order holds them, it says so; if that neither, it is empty: the
/// kernel is wrong, or rounds more than its types allow. A fit on one case is a hint, not a proof.
/// Only of attention, and of an execution whose outputs are all written.
std::string fitting_contract(const inputs& given, const execution& ran);

}  // namespace assay
