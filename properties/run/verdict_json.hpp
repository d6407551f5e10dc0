/// Verdicts between processes.
#pragma once

#include <string>

#include "properties/run/verdict.hpp"
#include "properties/system/worker.hpp"

namespace assay {

/// Without judgements: `what` summarises them.
std::string verdict_to_json(const verdict& v);
verdict verdict_from_json(const std::string& text);

/// The verdict in a worker's reply; that the worker ended is a failure: of origin "memory" where its last words say
/// what it touched, "hang" where it took too long, else "crash".
verdict verdict_of(const work_result& result);

const char* name_of(outcome result);

}  // namespace assay
