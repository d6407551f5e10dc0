#include "properties/run/contract_fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/matrix_atoms.hpp"
#include "properties/case/contract_ranges.hpp"
#include "properties/case/operation.hpp"

namespace assay {
namespace {

/// Of elementary functions and of matrix atoms. The coarsest of hardware are tanh.approx with 2^-11 and accumulators of
/// f16, 2^-11 too; Hopper's FP8 atoms keep 13 bits.
constexpr double coarsest = 0x1p-10;
constexpr int least_atom_bits = 10;  ///< that is, 2^-10
/// Smallest normal f16: the largest magnitude that hardware flushes.
constexpr double largest_flushed = 0x1p-14;

/// Every field, so that none is forgotten: they fill the struct.
struct named_field {
  const char* name;
  std::size_t offset;
  std::size_t bytes;
};
#define ASSAY_FIELD(path)                                    \
  named_field {                                              \
    #path, offsetof(contract, path), sizeof(contract{}.path) \
  }
constexpr named_field all_fields[] = {
    ASSAY_FIELD(tile_keys),
    ASSAY_FIELD(qk.products),
    ASSAY_FIELD(qk.alignment_bits),
    ASSAY_FIELD(qk.alignment_terms),
    ASSAY_FIELD(qk.result_roundoff),
    ASSAY_FIELD(qk.flush),
    ASSAY_FIELD(pv.products),
    ASSAY_FIELD(pv.alignment_bits),
    ASSAY_FIELD(pv.alignment_terms),
    ASSAY_FIELD(pv.result_roundoff),
    ASSAY_FIELD(pv.flush),
    ASSAY_FIELD(p_type),
    ASSAY_FIELD(p_flush),
    ASSAY_FIELD(p_shift),
    ASSAY_FIELD(fuses_logits),
    ASSAY_FIELD(tile_rows),
    ASSAY_FIELD(merge_roundings),
    ASSAY_FIELD(head_rows),
    ASSAY_FIELD(head_tree),
    ASSAY_FIELD(constant_roundings),
    ASSAY_FIELD(sum_roundings),
    ASSAY_FIELD(normalise_roundings),
    ASSAY_FIELD(exp2_relative_error),
    ASSAY_FIELD(exp2_flush),
    ASSAY_FIELD(log_absolute_error),
    ASSAY_FIELD(log_relative_error),
    ASSAY_FIELD(tanh_relative_error),
    ASSAY_FIELD(rotary_roundings),
    ASSAY_FIELD(scale_roundings),
    ASSAY_FIELD(quantise_roundings),
    ASSAY_FIELD(rescale_roundings),
    ASSAY_FIELD(order),
    ASSAY_FIELD(splits),
    ASSAY_FIELD(base_of_lse),
    ASSAY_FIELD(lse_without_keys),
    ASSAY_FIELD(query_type),
    ASSAY_FIELD(cache_type),
    ASSAY_FIELD(product_type),
    ASSAY_FIELD(partial_type),
    ASSAY_FIELD(product_roundings),
    ASSAY_FIELD(rescale_slack),
    ASSAY_FIELD(normalises_p),
    ASSAY_FIELD(sum_epsilon),
    ASSAY_FIELD(qk_atom),
    ASSAY_FIELD(pv_atom),
    ASSAY_FIELD(states),
    ASSAY_FIELD(state_roundings),
    ASSAY_FIELD(sum_join_roundings),
    ASSAY_FIELD(least_rounded_maximum),
};
#undef ASSAY_FIELD

constexpr bool fill_the_struct() {
  std::size_t end = 0;
  for (const named_field& f : all_fields) {
    if (f.offset != end) return false;
    end += f.bytes;
  }
  return end == sizeof(contract);
}
static_assert(fill_the_struct(), "a field of contract.hpp is missing here, or has another place");

/// All bits set: -1 of an int and of a type, NaN of a float.
constexpr int undeclared_byte = 0xFF;

/// Names the fields of which any part has the value that it came with.
std::string undeclared_fields(const contract& c) {
  std::vector<const char*> names;
  for (const named_field& f : all_fields)
    for (std::size_t at = 0; at < f.bytes; at += sizeof(std::uint32_t)) {
      std::uint32_t word = 0;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&c) + f.offset + at, sizeof word);
      if (word != ~std::uint32_t{0}) continue;
      names.push_back(f.name);
      break;
    }
  if (names.size() == std::size(all_fields)) return "declare() set no field of the contract";
  return names.empty() ? std::string{} : fmt::format("declare() did not set {}", fmt::join(names, ", "));
}

double alignment_of(const accumulation& a) {
  return std::ldexp(static_cast<double>(a.alignment_terms), -a.alignment_bits) / (a.products + 1);
}

/// The smallest exponent of a unit that multiplies two types. A larger one would cut, or flush, what hardware keeps.
std::int32_t largest_least_exponent(dtype one, dtype other) {
  const auto of = [](dtype type) { return type == dtype::i8 ? 0 : least_exponent_of(type); };
  return std::max(of(one), of(other));
}

/// Of the fields that have a meaning only where the order is open.
std::string any_order_fault(const contract& c) {
  struct named_type {
    const char* name;
    dtype type;
  };
  const named_type types[] = {{"query_type", c.query_type},
                              {"cache_type", c.cache_type},
                              {"product_type", c.product_type},
                              {"partial_type", c.partial_type}};
  for (const named_type& t : types) {
    const bool is_query = t.name == std::string_view("query_type");
    const bool is_of_products = is_query || t.name == std::string_view("cache_type");
    if (t.type == dtype::f32 || t.type == dtype::f16 || t.type == dtype::bf16) continue;
    if ((t.type == dtype::tf32 && is_of_products) || (is_query && is_fp8(t.type))) continue;
    return fmt::format("{} is {}, must be f32, f16{}", t.name, static_cast<int>(t.type),
                       is_query         ? ", bf16, tf32 or FP8"
                       : is_of_products ? ", bf16 or tf32"
                                        : " or bf16");
  }
  if (c.order == tile_order::any) return {};
  for (const named_type& t : types)
    if (t.type != dtype::f32)
      return fmt::format("{} is {}, must be f32 where an order is declared", t.name, name_of(t.type));
  if (c.product_roundings != 0 || c.rescale_slack != 0 || c.normalises_p != 0 || c.sum_epsilon != 0)
    return "product_roundings, rescale_slack, normalises_p and sum_epsilon must be 0 where an order is declared";
  return {};
}

}  // namespace

std::string atom_fault(const matrix_atom& a, std::int32_t most_least_exponent) {
  const auto is_in = [](auto x, int least, int most) {
    return static_cast<int>(x) >= least && static_cast<int>(x) <= most;
  };
  if (!is_in(a.sum, 0, 3)) return "sum is not one of the known ones";
  if (a.sum == atom_sum::undeclared) return {};
  const bool is_aligned = a.sum == atom_sum::aligned;
  if (!is_in(a.products, 1, 64)) return "products is not 1 to 64";
  if (a.group < 1 || a.products % a.group != 0) return "group does not divide its products";
  if (a.run < 1 || a.group % a.run != 0) return "run does not divide its group";
  if (a.sum == atom_sum::pairwise && (a.group & (a.group - 1)) != 0) return "group is not a power of two";
  for (const std::int32_t flag : {a.joins_c_later, a.flushes_inputs, a.flushes_results, a.adds_c_last})
    if (!is_in(flag, 0, 1)) return "joins_c_later, flushes_inputs, flushes_results or adds_c_last is neither 0 nor 1";
  if (!is_in(a.parts, 1, is_aligned ? 1 + a.joins_c_later : 1))
    return "parts is not 1, or 2 of an aligned sum with joins_c_later";
  const std::int32_t most = a.flushes_inputs != 0 ? std::min(-14, most_least_exponent) : most_least_exponent;
  if (!is_in(a.least_exponent, -126, most))
    return fmt::format("least_exponent is not -126 to {}, that of the operands' types{}", most,
                       a.flushes_inputs != 0 ? " or of f16, below which hardware flushes" : "");
  if (!is_in(a.exponent, 0, 1)) return "exponent is not one of the known ones";
  if (!is_in(a.fraction_bits, least_atom_bits, 31) || !is_in(a.result_bits, least_atom_bits, 23))
    return "fraction_bits is not 10 to 31, or result_bits not 10 to 23";
  if (!is_in(a.alignment, 0, 1) || !is_in(a.result, 0, 2)) return "alignment or result is not a known direction";
  if (a.result == cut::nearest_even && a.result_bits != 23) return "result_bits is not 23, with nearest_even";
  if (a.joins_c_later == 0) return {};
  if (!is_in(a.sum_bits, least_atom_bits, 31)) return "sum_bits is not 10 to 31";
  if (a.c_reach != 0 && !is_in(a.c_reach, a.fraction_bits, 1 << 10))
    return "c_reach is not 0, or fraction_bits to 1024";
  return {};
}

contract undeclared_contract(std::int32_t known_bytes) {
  static_assert(std::is_trivially_copyable_v<contract>);
  contract c;
  std::memset(&c, undeclared_byte, std::min(sizeof c, static_cast<std::size_t>(known_bytes)));
  return c;
}

std::string contract_fault(const contract& c, const problem& p) {
  if (std::string fault = undeclared_fields(c); !fault.empty()) return fault;
  const bounded_field fields[] = {
      {"tile_keys", c.tile_keys + 0.0, 1, 1 << 16},
      {"qk.products", c.qk.products + 0.0, 1, 1 << 10},
      {"pv.products", c.pv.products + 0.0, 1, 1 << 10},
      {"qk.alignment_bits", c.qk.alignment_bits + 0.0, least_atom_bits, 63},
      {"pv.alignment_bits", c.pv.alignment_bits + 0.0, least_atom_bits, 63},
      {"qk's alignment error per term", alignment_of(c.qk), 0, coarsest},
      {"pv's alignment error per term", alignment_of(c.pv), 0, coarsest},
      {"qk.result_roundoff", c.qk.result_roundoff, 0, coarsest},
      {"pv.result_roundoff", c.pv.result_roundoff, 0, coarsest},
      {"qk.flush", c.qk.flush, 0, largest_flushed},
      {"pv.flush", c.pv.flush, 0, largest_flushed},
      {"p_flush", c.p_flush, 0, largest_flushed},
      {"p_shift", c.p_shift + 0.0, 0, 127},
      {"fuses_logits", c.fuses_logits + 0.0, 0, 1},
      {"merge_roundings", c.merge_roundings + 0.0, 0, most_roundings},
      {"constant_roundings", c.constant_roundings + 0.0, 0, most_roundings},
      {"sum_roundings", c.sum_roundings + 0.0, 0, most_roundings},
      {"normalise_roundings", c.normalise_roundings + 0.0, 0, most_roundings},
      {"exp2_relative_error", c.exp2_relative_error, 0, coarsest},
      {"exp2_flush", c.exp2_flush, 0, largest_flushed},
      {"log_absolute_error", c.log_absolute_error, 0, coarsest},
      {"log_relative_error", c.log_relative_error, 0, coarsest},
      {"tanh_relative_error", c.tanh_relative_error, 0, coarsest},
      {"order", static_cast<double>(c.order), 0, 2},
      {"splits", static_cast<double>(c.splits), 0, 1},
      {"base_of_lse", static_cast<double>(c.base_of_lse), 0, 1},
      {"lse_without_keys", static_cast<double>(c.lse_without_keys), 0, 1},
      {"product_roundings", c.product_roundings + 0.0, 0, 64},
      {"rescale_slack", c.rescale_slack + 0.0, 0, 16},
      {"normalises_p", c.normalises_p + 0.0, 0, 1},
      {"sum_epsilon", c.sum_epsilon, 0, coarsest},
      {"states", c.states + 0.0, 0, 64},
      {"state_roundings", c.state_roundings + 0.0, 0, most_roundings},
      {"sum_join_roundings", c.sum_join_roundings + 0.0, 0, most_roundings},
      {"least_rounded_maximum", c.least_rounded_maximum, c.least_rounded_maximum == 0.0F ? 0.0 : 1.0, 0x1p127},
  };
  if (std::string fault = range_fault(fields); !fault.empty()) return fault;
  if (std::string fault = any_order_fault(c); !fault.empty()) return fault;
  if (c.order != tile_order::any && c.states > 1 && p.kv_descale == descale_kind::per_page)
    return fmt::format("states is {}, must be 1 with per-page descales", c.states);
  if (std::string fault = atom_fault(c.qk_atom, largest_least_exponent(p.q_type, p.k_type)); !fault.empty())
    return "qk_atom." + fault;
  if (std::string fault = atom_fault(c.pv_atom, largest_least_exponent(c.p_type, p.v_type)); !fault.empty())
    return "pv_atom." + fault;
  switch (c.p_type) {
    case dtype::f32:
    case dtype::f16:
    case dtype::bf16:
    case dtype::e4m3fn:
    case dtype::e4m3fnuz:
    case dtype::e5m2:
    case dtype::e5m2fnuz: return describe(p.operation).contract_fault(c, p);
    case dtype::i8:
    case dtype::i32:
    case dtype::tf32:
      if (c.order == tile_order::any) return describe(p.operation).contract_fault(c, p);
      return "p_type is tf32, which only a kernel without a declared order may have";
    case dtype::i64:
    case dtype::none: break;
  }
  return fmt::format("p_type is {}, must be a float type", static_cast<int>(c.p_type));
}

}  // namespace assay
