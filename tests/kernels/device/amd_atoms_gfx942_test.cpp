#define __GFX9__ 1    // NOLINT(bugprone-reserved-identifier): as AMD's compiler does
#define __gfx942__ 1  // NOLINT(bugprone-reserved-identifier): as AMD's compiler does
#define ASSAY_ATOMS atoms_of_gfx942
#define ASSAY_ATOMS_OF "gfx942, CDNA3"
#include "tests/kernels/device/amd_atoms.hpp"
