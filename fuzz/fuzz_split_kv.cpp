/// Any bytes are a case of split_kv; its run must not fail.
#include "fuzz/check_case.hpp"
#include "fuzz/input_form.hpp"

const assay::fuzz::input_form assay::fuzz::form{{"split_kv"}, 0};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::check_bytes({data, size}, assay::fuzz::form.kernels.front());
  return 0;
}
