/// Errors summed by page, tile, split, head and lane.
#pragma once

#include "properties/explain/error_map.hpp"

namespace assay {

/// An element outside of its enclosure.
struct error_at {
  std::int64_t flat = 0;            ///< among the elements of the enclosure
  std::vector<std::int64_t> index;  ///< in the tensor
  double error = 0;                 ///< above 1; infinite where it has no finite one
};

/// Adds a part of an element's error to a share.
void add_error(error_share& share, double error, double part);

/// Columns of a matrix atom, which its lanes hold in turn: lane l has the columns that leave l.
inline constexpr std::int64_t columns_of_atom = 16;

/// Sums by each of the kinds that the tensor's elements have. Head, lane, page of a pool and split of a partial result
/// follow from the index, page and tile of a logit from its key. An element of O or of the LSE comes from many keys:
/// its error is shared among their pages, tiles and splits by their weight in the softmax of its row. `axes` are
/// axes_of(tensor). Where there are more than 24 shares, those with the smallest sums are joined as "others".
std::vector<error_sum> sum_errors(const detailed_run& run, const std::string& tensor,
                                  const std::vector<std::string>& axes, const std::vector<error_at>& outside);

}  // namespace assay
