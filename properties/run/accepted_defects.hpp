/// Defects that a user knows and accepts, each by its name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/library.h"

namespace assay {

/// What `--accept FILE` names. A line is a kind, a place and a reason; lines that begin with # and empty ones are for
/// people:
///
///     data-race split_kv_kernel.hpp:120 all blocks store the same value
///
/// Only kinds after which a launch can go on: data-race, unwritten-read and out-of-bounds, of which those count that
/// hit a gap between the rows of a tensor. The place is one of the access that is reported, or of what inlined it.
/// Which side of a race is reported depends on the schedule: a race between two places takes a line for each. Else the
/// other side's races with third places would be accepted unseen.
class accepted_defects {
 public:
  accepted_defects() = default;
  /// Throws case_error that names file and line.
  accepted_defects(const std::string& text, const std::string& file);
  bool empty() const { return entries_.empty(); }
  /// Whether this one is accepted, and counts it.
  bool accepts(const assay_defect& defect);
  /// How often each line accepted since the last call; of all lines.
  std::map<std::string, std::int64_t> take_counts();

 private:
  struct entry {
    std::int32_t kind;
    std::string place;
    std::string line;
    std::int64_t times = 0;
  };
  std::vector<entry> entries_;
};

}  // namespace assay
