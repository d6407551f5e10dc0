#include "properties/run/fitting_contract.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/run/hint.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

/// Enough keys and tiles for the parts of a contract to differ.
attention_case several_tiles() {
  attention_case c = testing::small_case();
  c.num_splits = 1;
  for (sequence& s : c.sequences) s.k = 300;
  c.sequences[0].pages.clear();
  std::int64_t page = 0;
  for (sequence& s : c.sequences) {
    s.pages.clear();
    for (std::int64_t n = 0; n < (s.k + c.page_size - 1) / c.page_size; ++n) s.pages.push_back(page++);
  }
  c.pool_pages = page;
  return c;
}

std::string hint_under(const std::function<void(contract&)>& change, const attention_case& c) {
  const auto lib = testing::declaring_library(change);
  const verdict v = run_case(*lib, c);
  return hint_for(*lib, c, v);
}

TEST_CASE("a contract that differs from the kernel in one part or two is not a wrong kernel") {
  const attention_case c = several_tiles();
  CHECK(hint_under([](contract&) {}, c).empty());  // it passes
  CHECK(hint_under([](contract& d) { d.tile_keys = 64; }, c) ==
        "the outputs fit another contract: tile_keys 16 (not 64)");
  CHECK(hint_under([](contract& d) { d.states = 1; }, c).starts_with("the outputs fit another contract: states "));
  CHECK(hint_under([](contract& d) { d.p_type = dtype::f32; }, c) ==
        "the outputs fit another contract: p_type f16 (not f32)");
  CHECK(hint_under([](contract& d) { d.order = tile_order::descending; }, c) ==
        "the outputs fit another contract: order ascending (not descending)");
  CHECK(hint_under([](contract& d) { d.base_of_lse = lse_base::two; }, c) ==
        "the outputs fit another contract: base_of_lse natural (not two)");
  CHECK(hint_under([](contract& d) { d.tile_keys = 64, d.p_type = dtype::bf16; }, c) ==
        "the outputs fit another contract: tile_keys 16 (not 64), p_type f16 (not bf16)");
}

TEST_CASE("where no order is declared, a convention of the LSE may still be another one") {
  const attention_case c = several_tiles();
  const auto open = [](contract& d) {
    d.order = tile_order::any;
    d.base_of_lse = lse_base::two;
  };
  CHECK(hint_under(open, c) == "the outputs fit another contract: base_of_lse natural (not two)");
  const auto both = [&](contract& d) {
    open(d);
    d.lse_without_keys = empty_lse::plus_infinity;
  };
  attention_case with_empty = c;
  with_empty.sequences[0] = {.q = 2, .k = 0, .prefix_offset = {}, .pages = {}};
  CHECK(hint_under(both, with_empty) ==
        "the outputs fit another contract: base_of_lse natural (not two), lse_without_keys minus_infinity (not "
        "plus_infinity)");
}

TEST_CASE("a wrong kernel gets no hint that its contract is wrong") {
  const attention_case c = several_tiles();
  const auto wrong = testing::corrupting_library([](testing::call& one) {
    const tensor o = one.view("o");
    const auto bits = static_cast<std::uint16_t*>(o.data);
    for (std::int64_t d = 0; d < 64; ++d) bits[d] = static_cast<std::uint16_t>(bits[d] + 0x100);  // 25% to 50% more
  });
  const verdict v = run_case(*wrong, c);
  REQUIRE(v.result == outcome::fail);
  REQUIRE(v.origin == "enclosure");
  CHECK(hint_for(*wrong, c, v).empty());
}

TEST_CASE("the hint on a wrong kernel is what contributes wrongly") {
  attention_case c = several_tiles();
  c.causal = false;
  const auto wrong = testing::faulty_library([](testing::call& one) {
    std::vector<std::int32_t> keys;
    for (std::int64_t s = 0; s < one.stated.num_seqs; ++s) keys.push_back(one.i32("seqlens_k", s) - 1);
    one.at("seqlens_k").view.data = keys.data();
    return one.run();
  });
  wrong->checks.accesses = false;  // the checker knows the case's own lengths
  const verdict v = run_case(*wrong, c);
  REQUIRE(v.origin == "enclosure");
  const std::string hint = hint_for(*wrong, c, v);
  INFO(hint);
  CHECK(hint.starts_with("before it was shrunk, "));
  CHECK(hint.find("% too little to o: ") != std::string::npos);
  CHECK((hint.find("the last visible key") != std::string::npos || hint.find("key 299") != std::string::npos));
}

}  // namespace
}  // namespace assay
