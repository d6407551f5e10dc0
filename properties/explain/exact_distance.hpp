/// How far an output is from the exact result, in units of the last place (ulp) of its type.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/enclosure.hpp"
#include "properties/data/inputs.hpp"

namespace assay {

/// Of each element that the call reaches and writes, ascending; infinite where one of the two is not finite.
std::vector<double> distances_to_exact(const buffer& b, const oracle::enclosed_tensor& exact);

/// How many elements lie how far from exact.
struct ulp_histogram {
  std::string tensor;
  std::vector<double> ends;          ///< upper ends of the bins but the last two, in ulp
  std::vector<std::int64_t> counts;  ///< of each bin; then above the last end; then without a finite distance
  double median = 0, largest = 0;    ///< in ulp; at most 1e300
};
BOOST_DESCRIBE_STRUCT(ulp_histogram, (), (tensor, ends, counts, median, largest))

/// `distances` are ascending and not empty.
ulp_histogram count_ulps(const std::string& tensor, const std::vector<double>& distances);

}  // namespace assay
