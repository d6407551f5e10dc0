#include "properties/bytes.hpp"

#include "properties/choice.hpp"

namespace assay {

attention_case decode_case(std::span<const std::uint8_t> bytes) {
  byte_source source(bytes);
  attention_case c;
  walk(c, source);
  return c;
}

std::vector<std::uint8_t> encode_case(const attention_case& c) {
  validate(c);
  byte_recorder recorder;
  attention_case walked = c;
  walk(walked, recorder);
  std::vector<std::uint8_t> bytes = recorder.take();
  // Fields that the walk derives or leaves alone do not pass through the recorder.
  if (walked != c || decode_case(bytes) != c) throw case_error("outside the case space");
  return bytes;
}

}  // namespace assay
