/// The program, run by itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

struct child_end {
  int status = 0;  ///< exit status; 128 + n: ended by signal n; 124: took longer than the limit and was killed
  double seconds = 0;
};

/// Runs the file with these arguments, its output going to `log`, and waits. The child and what it started end with
/// this process. Throws environment_error if it cannot be started.
child_end run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                    const std::filesystem::path& log, double limit_seconds);

/// This program's own file.
std::filesystem::path own_program();

}  // namespace assay
