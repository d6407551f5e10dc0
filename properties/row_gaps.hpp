/// What lies between the rows of outputs: memory of the allocation that belongs to no element.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "properties/inputs.hpp"

namespace assay {

/// Remembers what the gaps hold before a run, so that a store there is seen whatever they hold.
class row_gaps {
 public:
  explicit row_gaps(const std::vector<buffer>& buffers);
  /// The first byte that changed, as a line; empty if there is none. The same buffers, at the same addresses.
  std::string first_change() const;

 private:
  struct gap {
    const buffer* of;
    index_range bytes;  ///< relative to the elements' start
    std::vector<std::byte> held;
  };
  std::vector<gap> gaps_;
};

}  // namespace assay
