#include "fuzz/check_case.hpp"

#include "fuzz/counters.hpp"
#include "fuzz/report_failure.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/fit.hpp"

namespace assay::fuzz {

void check_case(const attention_case& c) {
  const library& lib = under_test();
  announce(to_json(c));
  clear_edges(lib);
  const detailed_run run = run_in_detail(lib, c);
  count_edges(lib);
  count_features_of(c, run);
  count_run(run.result.result);
  expect_no_failure(run.result);
}

attention_case supported_case(std::span<const std::uint8_t> bytes, std::span<const std::string> kernels) {
  const attention_case c = decode_case(bytes, kernels);
  return fit(c, under_test().support_of(c.kernel));
}

void check_bytes(std::span<const std::uint8_t> bytes, const std::string& kernel) {
  check_case(supported_case(bytes, std::span(&kernel, 1)));
}

}  // namespace assay::fuzz
