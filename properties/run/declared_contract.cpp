#include "properties/run/declared_contract.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/contract_recipes.hpp"
#include "properties/run/contract_fault.hpp"
#include "properties/run/plan_problem.hpp"

namespace assay {
namespace {

/// Whether an atom errs no more than one multiply-add at a time does.
bool is_finer(const accumulation& atom, const accumulation& multiply_add) {
  const double aligned = static_cast<double>(atom.alignment_terms) * std::ldexp(1.0, -atom.alignment_bits);
  return aligned + static_cast<double>(atom.result_roundoff) <= atom.products * 0x1p-24 &&
         atom.flush <= multiply_add.flush;
}

/// in_any_order(), with the declared types, and the declared atoms and errors of functions where they are larger.
contract without_order(const contract& declared, const problem& planned) {
  if (declared.order == tile_order::any || planned.operation == operation_kind::append_kv) return declared;
  contract c = in_any_order(planned);
  if (!is_finer(declared.qk, c.qk)) c.qk = declared.qk;
  if (!is_finer(declared.pv, c.pv)) c.pv = declared.pv;
  for (float contract::* const error :
       {&contract::exp2_relative_error, &contract::exp2_flush, &contract::log_absolute_error,
        &contract::log_relative_error, &contract::tanh_relative_error})
    c.*error = std::max(c.*error, declared.*error);
  for (std::int32_t contract::* const roundings :
       {&contract::constant_roundings, &contract::normalise_roundings, &contract::merge_roundings})
    c.*roundings = std::max(c.*roundings, declared.*roundings);
  c.p_type = declared.p_type;
  c.p_flush = declared.p_flush;
  c.p_shift = declared.p_shift;
  c.base_of_lse = declared.base_of_lse;
  c.lse_without_keys = declared.lse_without_keys;
  c.sum_roundings = std::max(c.sum_roundings, declared.sum_roundings);
  return c;
}

}  // namespace

assay_status declared_contract(const assay_kernel& kernel, const problem& planned, const assay_launch& launch,
                               contract_use use, contract* declared, std::int32_t known_bytes) {
  assay_status status{};
  if (kernel.declare == nullptr || use == contract_use::none) {
    *declared = of_types(planned);
  } else {
    *declared = undeclared_contract(known_bytes);
    status = kernel.declare(&planned, &launch, declared);
    if (status.code != ASSAY_OK) return status;
    if (use == contract_use::open) *declared = without_order(*declared, planned);
  }
  if (const std::string fault = contract_fault(*declared, planned); !fault.empty())
    return failed_status("the declared contract cannot bound the outputs: " + fault);
  return status;
}

}  // namespace assay
