/// Whether a declared contract says anything: the library under test writes it, and an enclosure is only as good.
#pragma once

#include <string>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// The field that no kernel worth verifying would declare, or that contract.hpp rules out for this problem, or empty.
/// NaN and negative errors would make enclosures that nothing can leave; errors as large as those of 8 bits would make
/// ones that a wrong kernel does not leave.
std::string contract_fault(const contract& declared, const problem& planned);

}  // namespace assay
