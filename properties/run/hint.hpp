/// One more line beside a failure, which helps to find its cause.
#pragma once

#include <string>

#include "properties/run/verdict.hpp"

namespace assay {

/// Of a case whose outputs lie outside of their enclosure: which keys contribute too much or too little
/// (residual_check.hpp), else whether another contract describes the outputs (fitting_contract.hpp). Runs the case
/// again, in this process; empty where there is nothing to say.
std::string hint_for(const library& lib, const attention_case& c, const verdict& failed);

}  // namespace assay
