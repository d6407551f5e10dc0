/// Mutants that change nothing that a user can see, each with its reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/mutants/mutate.hpp"

namespace assay::mutants {

/// A known equivalent mutant. It is known by the lines' content, not by their number.
struct equivalent {
  std::string path;
  std::string before;
  std::string after;
  std::string reason;
};

/// Reads blocks of four lines, "PATH", "- BEFORE", "+ AFTER", "reason: TEXT", with empty lines between them; lines that
/// begin with '#' are comments. Throws case_error that names the file and the line.
std::vector<equivalent> read_equivalents(const std::filesystem::path& file);

/// The entry for a mutant, or null.
const equivalent* find(const std::vector<equivalent>& all, const mutant& change);

}  // namespace assay::mutants
