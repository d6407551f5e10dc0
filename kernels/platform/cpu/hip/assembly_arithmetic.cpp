#include "hip/assembly_arithmetic.h"

#include <array>
#include <bit>
#include <cmath>

#include "hip/small_floats.h"

namespace assay::cpu {
namespace {

using operation = half_instruction::operation;

struct named_operation {
  std::string_view name;
  operation what;
  std::size_t operands;
};
constexpr std::array operations{named_operation{"add", operation::add, 2}, named_operation{"sub", operation::sub, 2},
                                named_operation{"mul", operation::mul, 2}, named_operation{"min", operation::min, 2},
                                named_operation{"max", operation::max, 2}, named_operation{"fma", operation::fma, 3}};

float widened(bool is_bf16, std::uint64_t code) {
  const auto bits = static_cast<std::uint32_t>(code & 0xFFFF);
  return is_bf16 ? widened_bf16(bits) : widened_f16(bits);
}
std::uint64_t narrowed(bool is_bf16, float x) {
  return is_bf16 ? narrowed_bf16(x) : narrowed_f16(x);
}

/// Of the numbers that lie `shift` bits up in the operands. Two roundings of a sum or product are as one
/// (small_floats.h).
std::uint64_t compute_one(const half_instruction& i, std::span<const std::uint64_t> operands, int shift) {
  const auto x = [&](std::size_t n) { return widened(i.is_bf16, operands[n] >> shift); };
  if (i.what == operation::fma) {
    const double sum = fma_to_odd(static_cast<double>(x(0)), static_cast<double>(x(1)), static_cast<double>(x(2)));
    return std::uint64_t{encoded(i.is_bf16 ? bf16_format : f16_format, sum, false)} << shift;
  }
  float result = 0;
  switch (i.what) {
    case operation::add: result = x(0) + x(1); break;
    case operation::sub: result = x(0) - x(1); break;
    case operation::mul: result = x(0) * x(1); break;
    case operation::min: result = std::fmin(x(0), x(1)); break;  // as the GPUs, the number of a number and a NaN
    default: result = std::fmax(x(0), x(1)); break;
  }
  return narrowed(i.is_bf16, result) << shift;
}

}  // namespace

std::optional<half_instruction> half_instruction_of(std::string_view name) {
  if (name == "cvt.f32.f16" || name == "v_cvt_f32_f16") return half_instruction{operation::widen, false, false, 1};
  if (name == "cvt.rn.f16.f32" || name == "v_cvt_f16_f32") return half_instruction{operation::narrow, false, false, 1};
  const bool is_amd = name.starts_with("v_"), is_packed = name.starts_with("v_pk_");
  if (is_amd) name.remove_prefix(is_packed ? 5 : 2);
  for (const named_operation& o : operations) {
    if (!name.starts_with(o.name)) continue;
    std::string_view type = name.substr(o.name.size());
    if (is_amd)
      return type == "_f16" ? std::optional(half_instruction{o.what, false, is_packed, o.operands}) : std::nullopt;
    if (type.starts_with(".rn")) type.remove_prefix(3);
    const bool has_pairs = type.ends_with("x2");
    if (has_pairs) type.remove_suffix(2);
    if (type == ".f16" || type == ".bf16") return half_instruction{o.what, type == ".bf16", has_pairs, o.operands};
  }
  return std::nullopt;
}

std::uint64_t compute(const half_instruction& i, std::span<const std::uint64_t> operands) {
  if (i.what == operation::widen) return std::bit_cast<std::uint32_t>(widened(i.is_bf16, operands[0]));
  if (i.what == operation::narrow)
    return narrowed(i.is_bf16, std::bit_cast<float>(static_cast<std::uint32_t>(operands[0])));
  return compute_one(i, operands, 0) | (i.has_pairs ? compute_one(i, operands, 16) : 0);
}

}  // namespace assay::cpu
