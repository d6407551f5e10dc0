#include "properties/run/hint.hpp"

#include "properties/run/execute.hpp"
#include "properties/run/fitting_contract.hpp"
#include "properties/run/residual_check.hpp"

namespace assay {

std::string hint_for(const library& lib, const attention_case& c, const verdict& failed) {
  if (failed.result != outcome::fail || failed.origin != "enclosure") return {};
  const detailed_run run = run_in_detail(lib, c);
  if (run.result.result != outcome::fail || run.result.origin != failed.origin) return {};
  // What contributes wrongly says more than how the contract might be, which a wrong kernel may fit by chance.
  verdict tested = passed();
  judge_residuals(tested, c, run.given, run.ran);
  return tested.result == outcome::fail ? "before it was shrunk, " + tested.what : fitting_contract(run.given, run.ran);
}

}  // namespace assay
