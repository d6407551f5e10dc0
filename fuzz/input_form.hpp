/// The form of a target's inputs, for its mutator, its replaying main and its writer of seeds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay::fuzz {

struct input_form {
  std::vector<std::string> kernels;  ///< whose cases they are, as for decode_case
  std::size_t head_bytes;            ///< bytes in front of the case's own
  bool takes_text = false;           ///< the inputs are texts of cases
};

/// Defined by each target.
extern const input_form form;

}  // namespace assay::fuzz
