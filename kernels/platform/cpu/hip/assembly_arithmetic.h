/// Arithmetic of inline assembly on numbers of 16 bits, alone or two in a word: that of PTX and of AMD's vector unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay::cpu {

/// What an instruction does, by its name. Sums, products and fused multiply-adds are rounded once.
struct half_instruction {
  enum class operation : std::uint8_t { add, sub, mul, min, max, fma, widen, narrow };
  operation what;
  bool is_bf16;
  bool has_pairs;  ///< two numbers in each word
  std::size_t operands;
};

/// Known are, of f16, f16x2, bf16 and bf16x2, PTX's add, sub, mul, min, max and fma.rn; v_add_f16 and so on of AMD, and
/// v_pk_add_f16; cvt.f32.f16, cvt.rn.f16.f32, v_cvt_f32_f16, v_cvt_f16_f32.
std::optional<half_instruction> half_instruction_of(std::string_view name);

/// Of as many operands as it has.
std::uint64_t compute(const half_instruction& i, std::span<const std::uint64_t> operands);

}  // namespace assay::cpu
