/// Any bytes as JSON text are refused with a case_error or are a valid case whose text is that case again; any bytes
/// are the byte form of some case, whose bytes are that case again.
#include "fuzz/finding.hpp"
#include "fuzz/input_form.hpp"
#include "properties/generate/bytes.hpp"

using namespace assay;

const fuzz::input_form fuzz::form{{}, 0, true};

namespace {

void check_text(std::string_view text) {
  try {
    const attention_case c = from_json(text, "input");
    fuzz::announce(to_json(c));
    validate(c);
    if (from_json(to_json(c), "output") != c) fuzz::report("json", "the case's text is another case");
  } catch (const case_error& e) {
    if (std::string_view(e.what()).starts_with("output")) fuzz::report("json", e.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_text({reinterpret_cast<const char*>(data), size});
  const attention_case c = decode_case({data, size});
  if (decode_case(encode_case(c)) == c) return 0;
  fuzz::announce(to_json(c));
  fuzz::report("bytes", "the case's bytes are another case");
}
