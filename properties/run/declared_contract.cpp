#include "properties/run/declared_contract.hpp"

#include <algorithm>

#include "kernels/contract_recipes.hpp"
#include "properties/run/contract_fault.hpp"
#include "properties/run/plan_problem.hpp"

namespace assay {
namespace {

/// in_any_order(), with the declared types and the functions' errors.
contract without_order(const contract& declared, const problem& planned) {
  if (declared.order == tile_order::any || planned.operation == operation_kind::append_kv) return declared;
  contract c = in_any_order(planned);
  c.p_type = declared.p_type;
  c.p_flush = declared.p_flush;
  c.p_shift = declared.p_shift;
  c.base_of_lse = declared.base_of_lse;
  c.lse_without_keys = declared.lse_without_keys;
  c.exp2_flush = declared.exp2_flush;
  c.sum_roundings = std::max(c.sum_roundings, declared.sum_roundings);
  return c;
}

}  // namespace

assay_status declared_contract(const assay_kernel& kernel, const problem& planned, const assay_launch& launch,
                               contract_use use, contract* declared) {
  assay_status status{};
  if (kernel.declare == nullptr || use == contract_use::none) {
    *declared = of_types(planned);
  } else {
    *declared = undeclared_contract();
    status = kernel.declare(&planned, &launch, declared);
    if (status.code != ASSAY_OK) return status;
    if (use == contract_use::open) *declared = without_order(*declared, planned);
  }
  if (const std::string fault = contract_fault(*declared, planned); !fault.empty())
    return failed_status("the declared contract cannot bound the outputs: " + fault);
  return status;
}

}  // namespace assay
