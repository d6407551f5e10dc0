/// Inline assembly, as the source pass rewrites it: the statement's text and operands, for an interpreter of what
/// attention kernels use. Known are
/// - of PTX: cp.async with its groups, ldmatrix, mma.sync (hip/ptx.h), the approximate functions of f32, shuffles,
///   moves, conversions of 16 bits, comparisons into predicates and instructions under them, loads and stores of global
///   and shared memory, barriers, fences, the wait for the kernel before;
/// - of AMD: s_waitcnt in its forms, s_barrier, s_nop, s_sleep, s_setprio, v_nop, v_add_f32 and v_max_f32 with DPP's
///   row_ror;
/// - of both: arithmetic of f16 and bf16 (hip/assembly_arithmetic.h).
/// An empty statement does nothing. Others end the launch with their text when they run.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <source_location>
#include <type_traits>

namespace assay::cpu {

/// An operand: what an input holds, or where an output is. Those of more than 8 bytes compile; no instruction takes
/// one.
struct assembly_operand {
  std::uint64_t value;
  void* output;  ///< null: an input only
  std::size_t size;
};

template <class T>
assembly_operand assembly_input(const T& given) {
  assembly_operand o{0, nullptr, sizeof(T)};
  if constexpr (sizeof(T) <= sizeof o.value) std::memcpy(&o.value, &given, sizeof(T));
  return o;
}
template <class T>
assembly_operand assembly_output(T& result) {
  assembly_operand o = assembly_input(result);
  o.output = const_cast<std::remove_cv_t<T>*>(&result);
  return o;
}

/// `text` is one literal; outputs come first.
void run_assembly(const char* text, std::source_location where, std::initializer_list<assembly_operand> operands);

}  // namespace assay::cpu
