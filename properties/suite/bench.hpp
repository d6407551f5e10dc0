/// The cost of verifying, and how sharp it is.
#pragma once

#include <string>
#include <vector>

#include "properties/run/kernel_library.hpp"

namespace assay {

/// The width of the output's enclosure before its final rounding, on normal data of one combination of types.
struct sharpness {
  /// As in the run's table, then "paged" for per-page descales and the output's name if it is not "o".
  std::string types;
  std::int64_t elements = 0;
  double median_radius_ulp = 0;  ///< in units of the output type's last place
  double p99_radius_ulp = 0;
  double sharp_share = 0;        ///< elements whose enclosure holds at most two output values
  double ambiguous_p_share = 0;  ///< codes of P that the contract does not determine
};

/// Cost of a set of cases.
struct throughput {
  std::int64_t cases = 0;
  double seconds = 0;  ///< on one core, everything included
  double kernel_seconds = 0;
  double oracle_seconds = 0;
  double cases_per_second() const { return static_cast<double>(cases) / seconds; }
  double oracle_per_kernel() const { return oracle_seconds / kernel_seconds; }
  std::int64_t accesses_checked = 0;
};

struct bench_result {
  std::vector<sharpness> sharp;
  throughput suite;             ///< the default suite's cases, enclosure checked
  throughput unchecked_suite;   ///< the same without checks of loads and stores
  throughput tiny;              ///< one row on 16 keys, again and again
  double exact_seconds = 0;     ///< MPFR evaluation of one case
  double contract_seconds = 0;  ///< contract evaluation of the same case
  std::int64_t unquantised_elements = 0;
  std::int64_t unquantised_contained = 0;  ///< of those: enclosures that hold the exact value; all must
  double switch_seconds = 0;               ///< from fiber to fiber
};

/// Measures on this machine for some seconds. `unchecked` is the same kernels without checks of loads and stores.
bench_result measure(const library& lib, const library& unchecked);

std::string bench_text(const bench_result& result);
std::string bench_json(const bench_result& result);

}  // namespace assay
