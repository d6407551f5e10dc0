/// The corpus of a campaign: a folder of inputs that processes share.
#pragma once

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// Has the target make inputs of the cases in `given.seeds` that it takes, and keeps those that are not there, failing
/// or too long. Throws case_error for a file that is no case, environment_error when the target cannot be asked.
void plant_seeds(const options& given, result& into);

/// Moves corpus entries with these bytes out of the way: each new process runs the whole corpus first, and would end
/// there. Returns how many.
int put_aside(const folders& at, const std::string& bytes);

/// Gives entries put aside by campaigns before another chance: those that pass by now go back. Without a case, all do.
void readmit(const options& given, const library& lib);

}  // namespace assay::campaign
