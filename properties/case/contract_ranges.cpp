#include "properties/case/contract_ranges.hpp"

#include <fmt/format.h>

namespace assay {

std::string range_fault(std::span<const bounded_field> fields) {
  for (const bounded_field& f : fields)
    if (!(f.value >= f.least && f.value <= f.most))  // false for NaN
      return fmt::format("{} is {}, must be in [{}, {}]", f.name, f.value, f.least, f.most);
  return {};
}

}  // namespace assay
