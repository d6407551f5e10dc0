#include "properties/run/contract_fault.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/case/contract_ranges.hpp"
#include "properties/case/operation.hpp"

namespace assay {
namespace {

/// Of elementary functions and of matrix atoms. The coarsest of hardware are tanh.approx with 2^-11 and accumulators of
/// f16, 2^-11 too; Hopper's FP8 atoms keep 13 bits.
constexpr double coarsest = 0x1p-10;
/// Smallest normal f16: the largest magnitude that hardware flushes.
constexpr double largest_flushed = 0x1p-14;

double alignment_of(const accumulation& a) {
  return std::ldexp(static_cast<double>(a.alignment_terms), -a.alignment_bits) / (a.products + 1);
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
    case dtype::e4m3fnuz: return describe(p.operation).contract_fault(c, p);
    case dtype::i8:
    case dtype::i32:
    case dtype::i64:
    case dtype::none: break;
  }
  return fmt::format("p_type is {}, must be a float type", static_cast<int>(c.p_type));
}

}  // namespace assay
