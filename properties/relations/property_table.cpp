#include <array>

#include "properties/generate/kernel_space.hpp"
#include "properties/relations/relations.hpp"

namespace assay {

bool applies(const property& p, std::string_view kernel) {
  return (capabilities_of(kernel) & p.needs) == p.needs;
}

std::span<const property> properties() {
#define ASSAY_PROPERTY_ENTRY(name) relations::name,
  static const std::array table{ASSAY_PROPERTIES(ASSAY_PROPERTY_ENTRY)};
#undef ASSAY_PROPERTY_ENTRY
  return table;
}

const property& enclosure_property() {
  return properties().front();
}

}  // namespace assay
