#include "fuzz/case_bytes.hpp"

#include <algorithm>
#include <random>

#include "properties/generate/bytes.hpp"
#include "properties/generate/mutate.hpp"
#include "properties/system/write_file.hpp"

namespace assay::fuzz {

std::optional<std::vector<std::uint8_t>> input_of(const input_form& form, std::string_view json,
                                                  std::string_view origin) {
  if (form.takes_text) return std::vector<std::uint8_t>(json.begin(), json.end());
  if (form.kernels.empty()) return std::nullopt;
  const attention_case c = from_json(json, origin);
  if (std::ranges::find(form.kernels, c.kernel) == form.kernels.end()) return std::nullopt;
  const std::vector<std::uint8_t> bytes = encode_case(nearest_encodable(c, form.kernels), form.kernels);
  std::vector<std::uint8_t> input(form.head_bytes);
  std::mt19937_64 random(fingerprint(json));
  std::ranges::generate(input, [&random] { return static_cast<std::uint8_t>(random()); });
  input.insert(input.end(), bytes.begin(), bytes.end());
  return input;
}

}  // namespace assay::fuzz
