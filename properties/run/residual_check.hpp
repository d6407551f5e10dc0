/// The residual test of a case: attention's output and LSE against their exact values, group of keys by group of keys,
/// without the contract. oracle/residual.hpp describes it.
#pragma once

#include <string>

#include "oracle/residual.hpp"
#include "properties/case/case.hpp"
#include "properties/data/inputs.hpp"
#include "properties/run/execution.hpp"
#include "properties/run/verdict.hpp"

namespace assay {

/// The origin of a failure that the residual test decides.
inline constexpr const char* residual_origin = "residual";

/// Whether the test says anything of such a case: attention, of fills whose keys have unlike values and weights, with
/// finite data.
bool suits_residuals(const attention_case& c);

/// One line: "page 4096 (keys 64 to 127 of sequence 0) contributes 1.7% too much to o: 41 sigma, by 32 rows", or
/// "LSE: page 4096 (...) counts 1.7% too much: 11 sigma, by 128 rows".
std::string describe(const oracle::residual_finding& found);

/// Makes a failure of a verdict that is none, where the test finds something. Adds the time that it took.
void judge_residuals(verdict& v, const attention_case& c, const inputs& in, const execution& ran);

}  // namespace assay
