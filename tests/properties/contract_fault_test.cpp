#include "properties/contract_fault.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

contract declared_for(const library& lib) {
  const attention_case c = testing::small_case();
  inputs in = fill(c);
  return execute(lib, c, in).declared;
}

TEST_CASE("the built-in kernels and the textbook's contract are taken as they are") {
  CHECK(contract_fault(declared_for(*library::built_in())).empty());
  CHECK(contract_fault(contract{}).empty());
  contract hopper;  // FP8: 13 bits, accumulated over 32 products
  hopper.qk = hopper.pv = {32, 13, 33.0F, 0x1p-23F, 0x1p-126F};
  hopper.p_type = dtype::e4m3fn;
  CHECK(contract_fault(hopper).empty());
}

TEST_CASE("a contract that nothing can leave is a failure, whatever the outputs are") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  void (*const edits[])(contract&) = {
      [](contract& c) { c.pv.alignment_terms = nan; },
      [](contract& c) { c.qk.alignment_terms = std::numeric_limits<float>::infinity(); },
      [](contract& c) { c.pv.alignment_bits = -100; },
      [](contract& c) { c.pv.result_roundoff = 1; },
      [](contract& c) { c.pv.flush = 1; },
      [](contract& c) { c.exp2_relative_error = 1; },
      [](contract& c) { c.exp2_relative_error = -1; },
      [](contract& c) { c.log_absolute_error = nan; },
      [](contract& c) { c.tanh_relative_error = 0.5F; },
      [](contract& c) { c.normalise_roundings = 1 << 20; },
      [](contract& c) { c.p_flush = 1; },
      [](contract& c) { c.tile_keys = 0; },
      [](contract& c) { c.p_type = dtype::i8; },
  };
  for (const auto edit : edits) {
    const verdict v = run_case(*testing::declaring_library(edit), testing::small_case());
    CAPTURE(v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.what.starts_with("the declared contract says nothing: "));
  }
}

}  // namespace
}  // namespace assay
