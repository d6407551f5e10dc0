/// Any bytes are a case of the kernel that the build names; its run must not fail.
#include "fuzz/check_case.hpp"
#include "fuzz/input_form.hpp"

const assay::fuzz::input_form assay::fuzz::form{{ASSAY_FUZZ_KERNEL}, 0};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::check_bytes({data, size}, assay::fuzz::form.kernels.front());
  return 0;
}
