/// The inputs of a target that takes cases: what its mutator and its replaying main need to know.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay::fuzz {

struct input_form {
  std::vector<std::string> kernels;  ///< whose cases they are, as for decode_case
  std::size_t head_bytes;            ///< bytes in front of the case's own
};

/// Defined by each such target.
extern const input_form form;

}  // namespace assay::fuzz
