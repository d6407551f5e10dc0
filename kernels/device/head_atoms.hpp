/// Matrix atoms of a wave's 16 keys and of heads, for sums over the heads: the heads lie in LDS, for all waves of the
/// block, and the keys in rows of the wave's own (swizzled_rows). Both are FP8 of a type T, in memory. Forms of them,
/// in device/mma: usual_heads<T>, and group_heads<T> where platform::has_warpgroups(); they may be one. Such a class
/// has:
///   atom_heads                          heads of an atom
///   multiplies_all                      whether all heads up to the last wanted() one are multiplied: then those of a
///                                       query row for which there is room should all be wanted, as zeros where they do
///                                       not exist
///   takes_time                          whether products may be under way between begin() and finish()
///   sums                                a lane's share of C, of some heads and keys
///   load_weights(weights, of_atom)      of the heads of the lane's elements, in the shape of sums
///   own_key()                           of the 16 keys the one of which the lane gets the sums
///   panel                               where heads lie: `rows` of them, each `head_dim` elements
///     size_bytes(rows, head_dim)        at a multiple of swizzle_alignment
///     store(row, chunk, codes)          16 codes, from element 16 * chunk on; platform::publish_lds() and a barrier of
///                                       the block are between the last one and the first begin()
///   keys                                those of the wave, in registers
///     row_bytes(head_dim)               of a row, which load() reads; behind the key they are anything
///     load(rows, head_dim)
///   begin(dots, wanted, panel, keys, has_keys)
///       dots[atom] = products with the panel's rows from atom_heads * atom on, for the atoms of which wanted(atom) is
///       true; they are there after finish(dots), and the keys are in use until then. All waves of the block call both
///       together, those with no keys, too
///   sum(rows, count, take)              the sums of each row's atom, of which take(row, sum) gets that of the lane's
///                                       own key, if no other lane does; the whole wave comes here
/// and for the contract:
///   tree(wave_size)                     in which order sum() joins rows
///   model(), exact_atom(type)           of an atom's arithmetic
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#if !defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/device/mma/heads.hpp"
#endif
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__) || defined(__HIP_PLATFORM_ASSAY_CPU__)
#include "kernels/device/mma/warpgroup_heads.hpp"
#endif

namespace assay::device {

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
template <class T>
using usual_heads = heads_as_columns<T>;
#else
template <class T>
using usual_heads = heads_as_rows<T>;
#endif

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__) || defined(__HIP_PLATFORM_ASSAY_CPU__)
template <class T>
using group_heads = std::conditional_t<
    platform::may_have_warpgroups,
    std::conditional_t<std::is_same_v<group_element<T, f16>, T>, code_heads_as_columns<T>, heads_as_columns<T>>,
    usual_heads<T>>;
#else
template <class T>
using group_heads = usual_heads<T>;
#endif

}  // namespace assay::device
