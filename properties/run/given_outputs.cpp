#include "properties/run/given_outputs.hpp"

#include <algorithm>

#include "properties/run/contract_fault.hpp"

namespace assay {

problem with_splits(const attention_case& c) {
  problem p = to_problem(c);
  p.num_splits = std::max(1, p.num_splits);
  return p;
}

execution unwritten_execution(const attention_case& c, const inputs& in, const std::vector<std::string>& left_out) {
  execution ran;
  ran.planned = with_splits(c);
  ran.written = make_outputs(ran.planned, layout_of(c), in, left_out);
  return ran;
}

verdict judge_given(const attention_case& c, const inputs& in, execution& ran, const contract& declared) {
  if (const std::string fault = contract_fault(declared, ran.planned); !fault.empty())
    throw case_error("the contract cannot bound the outputs: " + fault);
  ran.declared = declared;
  return judge_case(*library::built_in(), c, in, ran);  // of which only the teeth ask a library
}

}  // namespace assay
