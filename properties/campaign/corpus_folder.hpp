/// The corpus of a campaign: a folder of inputs that processes share.
#pragma once

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// Has the target make inputs of the cases in `given.seeds`, and adds them to the corpus, except those that are already
/// there, known to fail or too long. Throws case_error for a bad case file, environment_error if the target does not
/// run.
void plant_seeds(const options& given, result& into);

/// Moves corpus entries with these bytes to `failing`: each new process runs the whole corpus first and would end
/// there. Returns how many it moved.
int put_aside(const folders& at, const std::string& bytes);

/// Moves failing entries of earlier campaigns back into the corpus, except cases that still fail.
void readmit(const options& given, const library& lib);

}  // namespace assay::campaign
