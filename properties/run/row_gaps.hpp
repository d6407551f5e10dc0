/// The gaps between the rows of outputs: allocated memory that holds no elements.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// Remembers the bytes of the gaps before a run, and so detects a store to a gap. Dense, row-major buffers only.
class row_gaps {
 public:
  explicit row_gaps(const std::vector<buffer>& buffers);
  /// The first byte that changed, as a line that says behind which row: "o was written between its rows: at [1, 0, 64]
  /// of [2, 4, 64], byte 640 of 1280". Empty if there is none. The same buffers, at the same addresses.
  std::string first_change() const;

 private:
  struct held_gaps {
    const buffer* of;
    std::vector<index_range> gaps;
    std::vector<std::byte> held;  ///< of all gaps, one after the other
  };
  std::vector<held_gaps> all_;
};

}  // namespace assay
