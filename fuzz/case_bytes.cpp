#include "fuzz/case_bytes.hpp"

#include <algorithm>

#include "fuzz/input_form.hpp"
#include "properties/bytes.hpp"
#include "properties/mutate.hpp"

namespace assay::fuzz {

std::optional<std::vector<std::uint8_t>> input_of(std::string_view json) {
  if (form.takes_text) return std::vector<std::uint8_t>(json.begin(), json.end());
  if (form.kernels.empty()) return std::nullopt;
  try {
    const attention_case c = from_json(json, "input");
    if (std::ranges::find(form.kernels, c.kernel) == form.kernels.end()) return std::nullopt;
    std::vector<std::uint8_t> bytes = encode_case(nearest_encodable(c, form.kernels), form.kernels);
    bytes.insert(bytes.begin(), form.head_bytes, 0);
    return bytes;
  } catch (const case_error&) {
    return std::nullopt;
  }
}

}  // namespace assay::fuzz
