#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "kernels/tensor.hpp"
#include "properties/probe/probe.hpp"
#include "properties/run/contract_fault.hpp"

namespace assay::probe {
namespace {

constexpr std::int32_t most_depth = 64;
/// As of contracts: a coarser error than tanh.approx's, or that of an f16 accumulator, would let any function pass.
constexpr float coarsest = 0x1p-10F;

bool can_be_laid_out(dtype type) {
  return type == dtype::f16 || type == dtype::bf16 || type == dtype::i8 || is_fp8(type);
}

/// People read it in one line.
bool is_name(const char* name) {
  constexpr std::size_t most = 64;
  if (name == nullptr) return false;
  const std::string_view text(name, strnlen(name, most + 1));
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](unsigned char c) { return c < 0x80 && std::isprint(c) != 0; });
}

std::string fault_of(const assay_unit_atom& atom) {
  if (!can_be_laid_out(static_cast<dtype>(atom.type)))
    return fmt::format("type is {} ({}), not f16, bf16, i8 or an FP8 type", atom.type,
                       name_of(static_cast<dtype>(atom.type)));
  if (atom.depth < 1 || atom.depth > most_depth) return fmt::format("depth is {}, not 1 to {}", atom.depth, most_depth);
  if (const std::string fault = atom_fault(atom.declared); !fault.empty()) return "declared." + fault;
  if (atom.declared.sum != atom_sum::undeclared && atom.depth % atom.declared.products != 0)
    return fmt::format("depth is {}, not a multiple of declared.products, {}", atom.depth, atom.declared.products);
  return {};
}

}  // namespace

assay_unit_atom atom_of(const assay_matrix_unit& unit, std::int32_t number) {
  assay_unit_atom atom{};
  const auto* const first = reinterpret_cast<const std::byte*>(unit.atoms);
  std::memcpy(&atom, first + static_cast<std::ptrdiff_t>(number) * unit.atom_bytes, sizeof atom);
  return atom;
}

std::string unit_fault(const assay_matrix_unit& unit) {
  for (std::int32_t number = 0; number < unit.num_atoms; ++number) {
    const assay_unit_atom atom = atom_of(unit, number);
    if (!is_name(atom.name)) return fmt::format("atom {}: name is not 1 to 64 printable characters", number);
    if (const std::string fault = fault_of(atom); !fault.empty())
      return fmt::format("atom {} '{}': {}", number, atom.name, fault);
  }
  const struct {
    const char* name;
    float value;
  } errors[] = {{"exp2_relative_error", unit.exp2_relative_error},
                {"log_absolute_error", unit.log_absolute_error},
                {"log_relative_error", unit.log_relative_error},
                {"tanh_relative_error", unit.tanh_relative_error}};
  for (const auto& error : errors)
    if (!(error.value >= 0 && error.value <= coarsest))  // NaN, too
      return fmt::format("{} is {}, not 0 to 2^-10", error.name, error.value);
  return {};
}

}  // namespace assay::probe
