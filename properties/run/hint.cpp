#include "properties/run/hint.hpp"

#include "properties/run/execute.hpp"
#include "properties/run/fitting_contract.hpp"

namespace assay {

std::string hint_for(const library& lib, const attention_case& c, const verdict& failed) {
  if (failed.result != outcome::fail || failed.origin != "enclosure") return {};
  const detailed_run run = run_in_detail(lib, c);
  if (run.result.result != outcome::fail || run.result.origin != failed.origin) return {};
  return fitting_contract(run.given, run.ran);
}

}  // namespace assay
