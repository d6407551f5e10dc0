#include "properties/relations/descales.hpp"
#include "properties/data/difference.hpp"

#include <bit>
#include <cmath>

namespace assay::relations {
namespace {

/// Replaces each descale of the chosen pages by change(descale).
void edit(inputs& in, const std::string& name, const page_choice& chosen, const std::function<float(double)>& change) {
  buffer* b = find_buffer(in.buffers, name);
  if (b == nullptr) return;
  const tensor& t = b->view();
  for_each_index(*b, [&](const std::vector<std::int64_t>& index) {
    if (!chosen(index[0])) return;
    const std::int64_t at = offset_of(t, index);
    set_bits(t, at, std::bit_cast<std::uint32_t>(change(value_at(t, at))));
  });
}

}  // namespace

void scale_descale(inputs& in, const std::string& name, int exponent, const page_choice& chosen) {
  edit(in, name, chosen, [exponent](double was) { return static_cast<float>(std::ldexp(was, exponent)); });
}

void scale_descales(inputs& in, int exponent, const page_choice& chosen) {
  for (const char* name : {"k_descale", "v_descale"}) scale_descale(in, name, exponent, chosen);
}

void set_descales(inputs& in, const page_choice& chosen, float value) {
  for (const char* name : {"k_descale", "v_descale"}) edit(in, name, chosen, [value](double) { return value; });
}

bool is_usable_descale(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace assay::relations
