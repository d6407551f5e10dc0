/// Elements of outputs and their places in an enclosure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "oracle/enclosure.hpp"

namespace assay {

/// Place of an element among those that are enclosed; nothing where none is.
inline std::optional<std::int64_t> flat_of(const oracle::enclosed_tensor& t, const std::vector<std::int64_t>& index) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < index.size(); ++d) flat = flat * t.shape[d] + index[d];
  if (!t.indices) return flat;
  const auto at = std::ranges::lower_bound(*t.indices, index[0]);
  if (at == t.indices->end() || *at != index[0]) return std::nullopt;
  std::int64_t inner = 1;
  for (std::size_t d = 1; d < t.shape.size(); ++d) inner *= t.shape[d];
  return flat + (at - t.indices->begin() - index[0]) * inner;
}

/// Coordinates in the whole tensor of a covered element: the inverse.
inline std::vector<std::int64_t> index_of(const oracle::enclosed_tensor& t, std::int64_t flat) {
  std::vector<std::int64_t> index(t.shape.size());
  for (std::size_t d = index.size(); d-- > 1; flat /= t.shape[d]) index[d] = flat % t.shape[d];
  if (!index.empty()) index[0] = t.indices ? (*t.indices)[static_cast<std::size_t>(flat)] : flat;
  return index;
}

inline double middle(const oracle::interval& e) {
  return e.lo == e.hi ? e.lo : e.lo + (e.hi - e.lo) / 2;
}

}  // namespace assay
