/// The flags of a library for pairs of places that barriers order (kernels/library.h: assay_conflict_flags_v1).
#pragma once

#include "properties/run/kernel_library.hpp"

namespace assay {

/// They are among its edge flags: bytes, 1 if the pair came since they were cleared. Empty if the library does not say
/// which they are.
std::span<const std::uint8_t> conflict_flags(const library& lib);

}  // namespace assay
