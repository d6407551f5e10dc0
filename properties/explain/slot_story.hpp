/// The story of one element of a pool that append_kv writes, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/run/execute.hpp"

namespace assay {

/// What the element held before; for K and V the row that goes to its slot and the row's element, or that none does;
/// the page's descale before and after. `index` is of `pool`: k, v, k_descale or v_descale.
std::string slot_lines(const detailed_run& run, const std::string& pool, const std::vector<std::int64_t>& index);

}  // namespace assay
