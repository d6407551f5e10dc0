/// What ends a command with a status of its own. what() is one line, ready for stderr.
#pragma once

#include <stdexcept>

namespace assay {

/// Bad input: names the file and the field. Exit status 2.
struct case_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The environment lacks something. Exit status 3.
struct environment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace assay
