/// The teeth of a verdict: which standard faults it would have seen. After a case passes, its results are changed as
/// each fault would change them, and the judge is asked again.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "oracle/enclosure.hpp"
#include "properties/run/execution.hpp"

namespace assay {

/// How one fault fared.
struct bite {
  std::int64_t asked = 0;  ///< places where the fault changed a bit of the results
  std::int64_t seen = 0;   ///< those of them that the judge saw, or the residual test
  double smallest = std::numeric_limits<double>::infinity();  ///< relative size of the smallest change seen
  bite& operator+=(const bite& other);
  bool operator==(const bite&) const = default;
};

struct named_bite {
  std::string fault;  ///< of oracle::standard_faults()
  bite counts;
  bool operator==(const named_bite&) const = default;
};

/// Of a run whose results passed. `bounds` is their enclosure; `seed` chooses the places. Faults without a place are
/// left out. The enclosure is asked of the fault in one row. With `has_residuals`, a fault that it does not see is
/// asked of the residual test, as all rows of the sequence show it, where that costs little: so the shares of large
/// cases are lower bounds.
std::vector<named_bite> measure_teeth(const inputs& in, const execution& ran, const oracle::enclosure& bounds,
                                      std::uint64_t seed, bool has_residuals);

}  // namespace assay
