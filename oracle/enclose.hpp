/// enclose() with counts.
#pragma once

#include <span>

#include "oracle/enclosure.hpp"
#include "oracle/replay.hpp"

namespace assay::oracle {

/// Like enclose(); adds the P codes that the contract rounds to `counts`.
enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                  code_counts& counts);

}  // namespace assay::oracle
