/// Legal problems with one thing more, mostly beyond what the case space holds for a kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/run/verdict.hpp"

namespace assay::relations {

/// A case with one thing that problem.hpp has, and its kernel's space perhaps not.
struct case_beyond {
  std::string name;
  attention_case made;
  std::optional<attention_case> without;  ///< nearly the same, but within; nothing: the case that it is made of
};

/// Small cases made of one case: a feature of the operation, a type or an extent is added. None of a case that is
/// empty, or large itself: each costs a run.
std::vector<case_beyond> cases_beyond(const attention_case& c);

/// A library must say of each that it does not support it, or compute it right: a host check that lets too much through
/// shows nowhere else. A kernel that is wrong without the feature, too, fails by that. Fails, passes, or is undecided
/// where the contract bounds too little of one that was computed.
verdict verdict_beyond_space(const library& lib, const attention_case& c);

}  // namespace assay::relations
