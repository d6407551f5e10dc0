/// Errors that end a command with an exit status of their own. what() is one line for stderr.
#pragma once

#include <stdexcept>

namespace assay {

/// Bad input. The message names the file and the field. Exit status 2.
struct case_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Something the command needs is missing or not usable. Exit status 3.
struct environment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace assay
