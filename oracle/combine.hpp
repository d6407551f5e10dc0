/// The combine step of the contract: partial results of all splits of one row and head become its result.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/contract.hpp"
#include "oracle/enclosure.hpp"

namespace assay::oracle {

/// `lse`: one per split. `outputs`: out.size() values per split; split s starts at `outputs[s * split_stride]`. Returns
/// the LSE.
interval combine_splits(std::span<const interval> lse, const interval* outputs, std::int64_t split_stride,
                        const contract& declared, std::span<interval> out);

}  // namespace assay::oracle
