/// The corpus of a campaign: a folder of inputs that processes share.
#pragma once

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// Makes inputs of the cases in `given.seeds` that are about the target, unless they are there or failing. A target
/// whose bytes are no case takes the files themselves if its name says so (fuzz_case), else nothing.
void plant_seeds(const options& given, result& into);

/// Moves corpus entries with these bytes out of the way: each new process runs the whole corpus first, and would end
/// there. Returns how many.
int put_aside(const folders& at, const std::string& bytes);

/// Gives entries put aside by campaigns before another chance: those that pass by now go back. Without a case, all do.
void readmit(const options& given, const library& lib);

}  // namespace assay::campaign
