#include "fuzz/case_bytes.hpp"

#include "fuzz/input_form.hpp"
#include "properties/bytes.hpp"

namespace assay::fuzz {

std::optional<std::vector<std::uint8_t>> input_of(std::string_view json) {
  if (form.takes_text) return std::vector<std::uint8_t>(json.begin(), json.end());
  if (form.kernels.empty()) return std::nullopt;
  try {
    attention_case c = from_json(json, "input");
    c.why.clear();
    std::vector<std::uint8_t> bytes = encode_case(c, form.kernels);
    bytes.insert(bytes.begin(), form.head_bytes, 0);
    return bytes;
  } catch (const case_error&) {
    return std::nullopt;
  }
}

}  // namespace assay::fuzz
