#include "properties/run/declared_contract.hpp"

#include "kernels/contract_recipes.hpp"
#include "properties/run/contract_fault.hpp"
#include "properties/run/plan_problem.hpp"

namespace assay {

assay_status declared_contract(const assay_kernel& kernel, const problem& planned, const assay_launch& launch,
                               contract* declared) {
  assay_status status{};
  if (kernel.declare == nullptr) {
    *declared = of_types(planned);
  } else {
    *declared = undeclared_contract();
    status = kernel.declare(&planned, &launch, declared);
    if (status.code != ASSAY_OK) return status;
  }
  if (const std::string fault = contract_fault(*declared, planned); !fault.empty())
    return failed_status("the declared contract cannot bound the outputs: " + fault);
  return status;
}

}  // namespace assay
