#define __GFX12__ 1  // NOLINT(bugprone-reserved-identifier): as AMD's compiler does
#define ASSAY_ATOMS atoms_of_gfx1201
#define ASSAY_ATOMS_OF "gfx1201, RDNA4"
#include "tests/kernels/device/amd_atoms.hpp"
