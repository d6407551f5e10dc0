/// The order in which the rows of an atom are joined: see device/head_atoms.hpp.
#pragma once

namespace assay::device {

/// Additions that a head passes through on its way into the sum of its atom, at the most.
inline constexpr int most_head_joins = 4;

/// Strides of rows in the order in which a sum of heads joins them; 0 behind the last.
struct row_tree {
  int stride[most_head_joins];
};

}  // namespace assay::device
