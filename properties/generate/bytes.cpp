#include "properties/generate/bytes.hpp"

#include "properties/generate/choice.hpp"

namespace assay {
namespace {

void walk_some(attention_case& c, choice_source& source, std::span<const std::string> kernels) {
  if (kernels.empty())
    walk(c, source, byte_limits);
  else
    walk(c, source, byte_limits, kernels);
}

}  // namespace

attention_case decode_case(std::span<const std::uint8_t> bytes, std::span<const std::string> kernels) {
  byte_source source(bytes);
  attention_case c;
  walk_some(c, source, kernels);
  return c;
}

std::vector<std::uint8_t> encode_case(const attention_case& c, std::span<const std::string> kernels) {
  validate(c);
  byte_recorder recorder;
  attention_case walked = c;
  walk_some(walked, recorder, kernels);
  std::vector<std::uint8_t> bytes = recorder.take();
  // Fields that the walk derives or leaves alone do not pass through the recorder.
  if (walked != c || decode_case(bytes, kernels) != c) throw case_error("the case is outside the case space");
  return bytes;
}

bool is_in_space(const attention_case& c) {
  byte_recorder recorder;
  attention_case copy = c;
  try {
    walk(copy, recorder, {}, std::vector{c.kernel});
  } catch (const case_error&) {
    return false;
  } catch (const std::invalid_argument&) {
    return false;  // a kernel that has no cases
  }
  return copy == c;
}

}  // namespace assay
