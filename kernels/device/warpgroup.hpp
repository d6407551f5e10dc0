/// Products of a warpgroup: four waves of 32 lanes, whose 16 rows of A and C each are one after another. A comes from
/// registers or LDS, C stays in registers, B comes from LDS. Products are under way until the wait for their group. In
/// device/mma, where ASSAY_HAS_WARPGROUPS is defined:
///   group_operand<T>, group_sums        a lane's share of A, of 16 columns, or 32 of FP8; of C, of an atom of
///                                       group_columns columns
///   group_row(i), group_column(i)       coordinates of element i of C. Two atoms side by side, rounded by
///   round_pair(),
///                                       are a share of A: its word 2 i + j is elements 2 j and 2 j + 1 of atom i
///   round_pair<T>(low, high)            two floats, rounded to T, as a word
///   shared_number(rows, row, chunk)     of a chunk of 16 bytes in LDS
///   load_matrices(words, number)        four matrices of 8 chunks each: lanes 8 i to 8 i + 7 name those of matrix i.
///                                       words[i] becomes word lane % 4 of its chunk lane / 4. By the whole wave
///   widen_word<T>(low, high, word)      four FP8 elements of T as two words of f16
///   lds_operand                         rows of 128 bytes, swizzled as device/swizzled_rows.hpp has them; + bytes
///   operand_by_rows(at)                 with its reduction along the rows; `at` is a multiple of swizzle_alignment
///   operand_by_columns(at, strip_bytes) of B with its columns along the rows, 64 to a strip: 16 rows of the reduction
///   begin_product(c, a, b, columns)     c = A B, of operand_by_rows(). From `columns` on, a multiple of 8, sums may be
///                                       of anything
///   add_product(c, a, b, columns)       c += A B
///   begin_product(c, T{}, a, b), add_product(c, T{}, a, b)
///                                       A comes from LDS, too, and all columns are multiplied
///   group_fp8_accumulation_model(), exact_group_fp8_atom(type)
///                                       of products of FP8, for the contract; host code
///   add_by_columns(c, a, b, columns)    c += A B, B of operand_by_columns(), not FP8
///   start_warpgroup()                   before the first product of some, and where registers of those before were
///                                       touched; all waves of the warpgroup
///   commit_warpgroup()                  makes a group of the products since the last one
///   wait_for_warpgroup<Pending>(c)      for the groups but the newest `Pending`, of which c has the sums. Neither sums
///                                       nor A may be touched before
///   hold_registers(x)                   what was written to them is written before, and they are not used for
///                                       something else: of C and A before start_warpgroup(), of A again after the wait
///   take_registers<n>(), give_registers<n>()
///                                       registers of each thread of the warpgroup from here on, a multiple of 8
///   warpgroup_barrier                   of the threads of a warpgroup: start() by one thread, then sync() by all
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#include "kernels/device/convert.hpp"

namespace assay::device {

/// Bytes of a row that a product reduces, whatever the type.
inline constexpr int group_reduction_bytes = 32;

/// As which elements are multiplied that lie in LDS with their reduction along the rows: e4m3fn as it is; others, of
/// which the unit knows nothing, as Element.
template <class Stored, class Element>
using group_element = std::conditional_t<std::is_same_v<Stored, e4m3fn>, e4m3fn, Element>;

}  // namespace assay::device

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/device/mma/nvidia_warpgroup.hpp"
#elif defined(__HIP_PLATFORM_ASSAY_CPU__)
#include "kernels/device/mma/cpu_warpgroup.hpp"
#endif
