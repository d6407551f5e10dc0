/// Matrix atoms of a wave's 16 keys and of heads, for sums over the heads: the heads lie in LDS, for all waves of the
/// block, and the keys in rows of the wave's own (swizzled_rows). Both are FP8, in memory. In device/mma, per platform:
///   head_rows                           heads of an atom
///   multiplies_all_heads                whether heads that are not wanted() are multiplied, too: they should be zeros
///   head_sums                           a lane's share of C, of some heads and keys
///   load_weights(weights, of_atom)      of the heads of the lane's elements
///   own_key()                           of the 16 keys the one of which the lane gets the sums
///   head_panel<T>                       where heads lie: `rows` of them, each `head_dim` elements
///     size_bytes(rows, head_dim)        at a multiple of swizzle_alignment
///     store(row, chunk, codes)          16 codes, from element 16 * chunk on
///   load_operand(operand, keys, head_dim)
///       the wave's keys, into a key_operand<T>
///   begin_heads(dots, wanted, panel, operand, has_keys)
///       dots[atom] = products with the panel's rows from head_rows * atom on, for the atoms of which wanted(atom) is
///       true; they are there after finish_heads(dots), and the operand is in use until then. All waves of the block
///       call both together, those with no keys, too
///   sum_heads(rows, count, take)        the sums of each row's atom, of which take(row, sum) gets that of the lane's
///   own
///                                       key, if no other lane does; the whole wave comes here
///   head_tree(wave_size)                in which order sum_heads joins rows
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/device/mma/nvidia_heads.hpp"
#else
#include "kernels/device/mma/heads.hpp"
#endif
