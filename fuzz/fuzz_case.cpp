/// Any bytes, as JSON text, are refused with a case_error or are a valid case that survives being written and read
/// again. Any bytes, as bytes of a case, are a case that survives being encoded and decoded again.
#include "fuzz/input_form.hpp"
#include "fuzz/report_failure.hpp"
#include "properties/generate/bytes.hpp"

using namespace assay;

const fuzz::input_form fuzz::form{{}, 0, true};

namespace {

void check_text(std::string_view text) {
  try {
    const attention_case c = from_json(text, "input");
    fuzz::announce(to_json(c));
    validate(c);
    if (from_json(to_json(c), "output") != c)
      fuzz::report("json", "the case changes when it is written and read again");
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
  fuzz::report("bytes", "the case changes when it is encoded and decoded again");
}
