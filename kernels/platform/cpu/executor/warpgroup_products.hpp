/// Products of a warpgroup, four waves of 32 lanes, that read LDS themselves and are under way until the wait for their
/// group: wgmma of sm_90a (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). Meanwhile the sums hold NaN,
/// and sums and operands may not be written. The checker learns of the reads of LDS at the start and at the wait, as
/// early and as late as a unit may read; of what all waves read, from one wave only. Stores that it reads must be
/// published to it (fence.proxy.async). Not checked: that all four waves are there, and products that no one waits for.
#pragma once

#include <cstdint>
#include <source_location>

#include "kernels/tensor.hpp"

namespace assay::cpu {

/// Rows of 128 bytes in LDS, one after another: chunk c of 16 bytes of row r lies at place c ^ (r mod 8). `offset`
/// bytes into them begins what is meant; it is whole groups of eight rows, and 32 bytes at a time into a row. What is
/// wider than a row goes on in rows `strip_bytes` further on.
struct lds_matrix {
  const unsigned char* rows = nullptr;
  int offset = 0;
  int strip_bytes = 0;
};

/// The calling lane's share. Elements of A in registers and of the sums are laid out as mma.sync's m16n8k16, or of FP8
/// m16n8k32. The reduction takes 32 bytes of a row.
struct warpgroup_product {
  dtype type = dtype::f16;                 ///< of A and B: f16, bf16 or FP8
  const double* code_values = nullptr;     ///< of FP8's 256 codes
  float* sums = nullptr;                   ///< four of each atom of eight columns
  int atoms = 0;                           ///< an even number
  bool adds = false;                       ///< to the sums; else they begin with 0
  const std::uint32_t* a_words = nullptr;  ///< four; null: A is in LDS, the reduction along the rows
  lds_matrix a;
  lds_matrix b;
  int columns = 0;            ///< of B that are read, whole chunks of 8; sums of the others become NaN
  bool b_by_columns = false;  ///< B has its columns along the rows, 64 to a strip (not of FP8); else the reduction
  std::uintptr_t pc = 0;      ///< of the kernel; begin_product() sets it
};

/// wgmma.fence: before the first product since a wait.
void start_products();
/// By all lanes of a wave, with the like. Throws std::invalid_argument without warpgroups or start_products(), and
/// where operands do not lie as the unit needs them.
void begin_product(warpgroup_product product);
/// Makes a group of the lane's products since the last one.
void commit_products();
/// Waits for the groups but the newest `pending`; the whole wave comes here, without a lane the sums stay NaN. Throws
/// std::invalid_argument where sums or operands were written while a product was under way, or lanes have other
/// products.
void wait_for_products(int pending, std::source_location where);

}  // namespace assay::cpu
