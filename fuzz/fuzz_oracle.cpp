/// The enclosure of the loosened contract and that of the definition, computed in another way, meet in every element.
#include "fuzz/check_case.hpp"
#include "fuzz/counters.hpp"
#include "fuzz/enclosures.hpp"
#include "fuzz/input_form.hpp"
#include "fuzz/report_failure.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/run/contract_fault.hpp"
#include "properties/run/execute.hpp"

using namespace assay;

const fuzz::input_form fuzz::form{kernels_of_the_space(), 0};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const attention_case c = fuzz::supported_case({data, size}, fuzz::form.kernels);
  fuzz::announce(to_json(c));
  detailed_run run{fill(c), {}, {}, {}, {}};
  problem& planned = run.ran.planned;
  contract& declared = run.ran.declared;
  declared = undeclared_contract();
  const assay_kernel* kernel = fuzz::under_test().find(c.kernel);
  const assay_launch launch = make_launch(c, {}, 1, nullptr);
  const assay_support& takes = fuzz::under_test().support_of(c.kernel);
  if (kernel == nullptr ||
      plan_problem(*kernel, run.given.stated, c.workspace_budget_bytes, &planned, takes).code != ASSAY_OK ||
      declared_contract(*kernel, planned, launch, contract_use::declared, &declared).code != ASSAY_OK) {
    fuzz::count_run(outcome::discard);
    return 0;
  }
  run.bounds = oracle::enclose(planned, run.given.tensors(), fuzz::loosened(declared));
  fuzz::count_features_of(c, run);
  const oracle::enclosure exact = oracle::evaluate_in_binary64(planned, run.given.tensors());
  const auto wrong = fuzz::disagreement(run.bounds, exact);
  fuzz::count_run(wrong ? outcome::fail : outcome::pass);
  if (wrong) fuzz::report("oracle", *wrong);
  return 0;
}
