#include "fuzz/check_case.hpp"

#include <chrono>
#include <optional>

#include "fuzz/counters.hpp"
#include "fuzz/judge_beside.hpp"
#include "fuzz/report_failure.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/fit.hpp"

namespace assay::fuzz {

namespace {

/// Runs the library whose coverage guides the engine.
void judge_first(const attention_case& c) {
  const library& lib = under_test();
  std::optional<running_on> named;
  if (beside() != nullptr) named.emplace(lib);
  clear_edges(lib);
  const auto start = std::chrono::steady_clock::now();
  const detailed_run run = run_in_detail(lib, c);
  const auto took = std::chrono::steady_clock::now() - start;
  count_edges(lib);
  count_features_of(c, run);
  count_run(run.result.result);
  if (named) count_side(lib, run.result.result, took);
  expect_no_failure(run.result);
}

}  // namespace

void check_case(const attention_case& c) {
  announce(to_json(c));
  judge_first(c);
  if (beside() != nullptr) judge_beside(c);
}

attention_case supported_case(std::span<const std::uint8_t> bytes, std::span<const std::string> kernels) {
  const attention_case c = decode_case(bytes, kernels);
  const attention_case fitted = fit(c, under_test().support_of(c.kernel));
  return beside() == nullptr ? fitted : fit(fitted, beside()->support_of(c.kernel));
}

void check_bytes(std::span<const std::uint8_t> bytes, const std::string& kernel) {
  check_case(supported_case(bytes, std::span(&kernel, 1)));
}

}  // namespace assay::fuzz
