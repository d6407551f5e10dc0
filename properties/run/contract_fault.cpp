#include "properties/run/contract_fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "oracle/decode.hpp"
#include "oracle/head_sums.hpp"
#include "properties/case/operation.hpp"

namespace assay {
namespace {

struct bounded_field {
  const char* name;
  double value;
  double least;
  double most;
};

/// The oracle's proofs about n roundings hold up to here.
constexpr double most_roundings = 256;
/// Of elementary functions and of matrix atoms. The coarsest of hardware are tanh.approx with 2^-11 and accumulators of
/// f16, 2^-11 too; Hopper's FP8 atoms keep 13 bits.
constexpr double coarsest = 0x1p-10;
/// Smallest normal f16: the largest magnitude that hardware flushes.
constexpr double largest_flushed = 0x1p-14;

double alignment_of(const accumulation& a) {
  return std::ldexp(static_cast<double>(a.alignment_terms), -a.alignment_bits) / (a.products + 1);
}

/// The first field with which contract.hpp does not define the arithmetic of a kernel that quantises P.
std::string quantisation_fault(const contract& c, const problem& p) {
  if (const double largest = oracle::largest(c.p_type); !(std::ldexp(1.0, c.p_shift) <= largest))
    return fmt::format("p_shift is {}, but the largest value of P's type is {}", c.p_shift, largest);
  const bool is_direct = p.soft_cap == 0.0F && p.bias_type == dtype::none;
  const double scale = static_cast<double>(p.scale) * static_cast<double>(p.q_scale) * static_cast<double>(p.k_scale);
  if (c.fuses_logits != 0 && !(is_direct && scale > 0))
    return "fuses_logits needs a scale above 0, no soft cap and no bias";
  if (p.kv_descale == descale_kind::per_tensor) return {};
  if (c.tile_rows < 1) return fmt::format("tile_rows is {}, must be at least 1 with per-page descales", c.tile_rows);
  if (p.page_size % c.tile_keys != 0)
    return fmt::format("tiles of {} keys cross the ends of pages of {} keys, but every page has its own descale",
                       c.tile_keys, p.page_size);
  if (p.num_splits > 1) return "per-page descales need num_splits 1";
  return {};
}

/// Checks the fields for the sum over the heads of mqa_logits.
std::string order_fault(const contract& c) {
  const bool has_tree = std::ranges::any_of(c.head_tree, [](std::int32_t stride) { return stride != 0; });
  if (c.head_rows == 0 && !has_tree) return {};
  if (oracle::head_sums::has_order(c)) return {};
  return fmt::format("head_rows is {} and head_tree {}: they do not define an order that joins all rows", c.head_rows,
                     fmt::join(c.head_tree, ", "));
}

/// The first of the fields that is outside its bounds.
std::string range_fault(std::span<const bounded_field> fields) {
  for (const bounded_field& f : fields)
    if (!(f.value >= f.least && f.value <= f.most))  // false for NaN
      return fmt::format("{} is {}, must be in [{}, {}]", f.name, f.value, f.least, f.most);
  return {};
}

/// Checks the fields for rotation and quantisation.
std::string append_fault(const contract& c) {
  const bounded_field fields[] = {{"rotary_roundings", c.rotary_roundings + 0.0, 0, most_roundings},
                                  {"scale_roundings", c.scale_roundings + 0.0, 0, most_roundings},
                                  {"quantise_roundings", c.quantise_roundings + 0.0, 0, most_roundings},
                                  {"rescale_roundings", c.rescale_roundings + 0.0, 0, most_roundings}};
  return range_fault(fields);
}

std::string operation_fault(const contract& c, const problem& p) {
  const std::uint32_t capabilities = describe(p.operation).capabilities;
  if ((capabilities & has_slots) != 0) return append_fault(c);
  return (capabilities & has_columns) != 0 ? order_fault(c) : quantisation_fault(c, p);
}

}  // namespace

std::string contract_fault(const contract& c, const problem& p) {
  const bounded_field fields[] = {
      {"tile_keys", c.tile_keys + 0.0, 1, 1 << 16},
      {"qk.products", c.qk.products + 0.0, 1, 1 << 10},
      {"pv.products", c.pv.products + 0.0, 1, 1 << 10},
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
  };
  if (std::string fault = range_fault(fields); !fault.empty()) return fault;
  switch (c.p_type) {
    case dtype::f32:
    case dtype::f16:
    case dtype::bf16:
    case dtype::e4m3fn:
    case dtype::e4m3fnuz: return operation_fault(c, p);
    case dtype::i8:
    case dtype::i32:
    case dtype::i64:
    case dtype::none: break;
  }
  return fmt::format("p_type is {}, must be a float type", static_cast<int>(c.p_type));
}

}  // namespace assay
