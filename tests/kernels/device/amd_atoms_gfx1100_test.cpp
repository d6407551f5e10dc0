#define __GFX11__ 1  // NOLINT(bugprone-reserved-identifier): as AMD's compiler does
#define ASSAY_ATOMS atoms_of_gfx1100
#define ASSAY_ATOMS_OF "gfx1100, RDNA3"
#include "tests/kernels/device/amd_atoms.hpp"
