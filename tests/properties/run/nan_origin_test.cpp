/// The line that says which load explains a NaN, for kernels that copy an element of V to O.
#include "properties/run/nan_origin.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>

#include "properties/data/edit.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "tests/kernels/platform/cpu/source_pass/launched.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/source_place.hpp"

namespace assay {
namespace {

using testing::call;

/// Keys 20 and 37 in pages of 16: the second page of the first sequence has 4 live slots.
attention_case poisoned(poison_kind poison) {
  attention_case c = testing::small_case();
  c.data.poison = poison;
  return c;
}

/// Kernels after which another one copies v[page of ordinal 1 of sequence 0, slot, 0, 12] to o[0, 0, 0], and before it
/// loads the same of slot `before`.
std::shared_ptr<library> copying_library(std::int64_t slot, std::int64_t before) {
  return testing::corrupting_library([=](call& c) {
    const tensor v = c.view("v"), o = c.view("o");
    const std::int64_t page = c.i32("block_table", 0, 1);
    launched::run_copy_element(static_cast<unsigned short*>(o.data), static_cast<const unsigned short*>(v.data),
                               v.offset(page, slot, 0, 12), v.offset(page, before, 0, 12));
  });
}

std::string first_load_of(const library& lib, const attention_case& c) {
  verdict v = check_property(lib, enclosure_property(), c);
  REQUIRE(v.result == outcome::fail);
  tell_first_load(lib, c, v);
  return v.first_load;
}

std::string page_of(const attention_case& c) {
  return std::to_string(c.sequences[0].pages[1]);
}

}  // namespace

TEST_CASE("A NaN in an output is followed to the dead slot that was loaded, by element, line and thread",
          "[nan_origin]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  const attention_case c = poisoned(poison_kind::nan);
  const std::string place = "v[" + page_of(c) + ", 7, 0, 12]";
  const std::string line =
      testing::place_of(ASSAY_SOURCE_DIR "/tests/kernels/platform/cpu/source_pass/launched.hip", "out[0] = in[at]");
  CHECK(first_load_of(*copying_library(7, 0), c) == "the first NaN loaded: " + place +
                                                        " (dead: a slot behind the sequence's end), " + line +
                                                        ", block (0,0,0) wave 0 lane 0");
  CHECK(first_load_of(*copying_library(9, 7), c).find(place) !=
        std::string::npos);  // the first one, not the copied one
  CHECK(first_load_of(*copying_library(7, 0), poisoned(poison_kind::inf))
            .starts_with("the first infinity loaded: " + place + " (dead: a slot"));
}

TEST_CASE("A dead key that is in a sequence is said to be one that no row sees", "[nan_origin]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  attention_case c = poisoned(poison_kind::nan);
  c.causal = true;
  c.window = 1;
  const std::string line = first_load_of(*copying_library(0, 0), c);
  INFO(line);
  CHECK(line.find("v[" + page_of(c) + ", 0, 0, 12] (dead: of keys that no row sees)") != std::string::npos);
}

TEST_CASE("A live NaN is reported, behind dead ones", "[nan_origin]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  attention_case c = poisoned(poison_kind::zero);
  c.sequences[0].k = 20;
  constexpr std::uint32_t nan_of_f16 = 0x7E00;
  c.data.overrides.push_back({"v", {c.sequences[0].pages[1], 2, 0, 12}, nan_of_f16});
  const std::string line = first_suspect_load(*copying_library(2, 0), c);
  CHECK(line.starts_with("the first NaN loaded: v[" + page_of(c) + ", 2, 0, 12] (live), "));
  c.data.poison = poison_kind::nan;
  CHECK(first_suspect_load(*copying_library(2, 6), c)
            .starts_with("the first NaN loaded: v[" + page_of(c) + ", 6, 0, 12] (dead: "));
}

TEST_CASE("A NaN that no load explains arose in the kernel", "[nan_origin]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  const auto lib =
      testing::corrupting_library([](call& c) { *static_cast<unsigned short*>(c.view("o").data) = 0x7E00; });
  CHECK(first_load_of(*lib, poisoned(poison_kind::nan)) ==
        "no NaN, no infinity and no dead element was loaded: it arose in the kernel");
}

TEST_CASE("Nothing is reported of a wrong number, of an element that is not written, or where loads are not seen",
          "[nan_origin]") {
  const attention_case c = poisoned(poison_kind::nan);
  const auto wrong =
      testing::corrupting_library([](call& k) { *static_cast<unsigned short*>(k.view("o").data) = 0x7BFF; });
  CHECK(first_load_of(*wrong, c).empty());
  const auto unwritten =
      testing::corrupting_library([](call& k) { *static_cast<unsigned short*>(k.view("o").data) = 0xFFFF; });
  CHECK(first_load_of(*unwritten, c).empty());
  verdict v = failed("data race", "two stores");
  CHECK_FALSE(asks_for_loads(v));
  v.origin = "dead_memory";
  CHECK(asks_for_loads(v));
  CHECK(first_suspect_load(*library::built_in_unchecked(), c).empty());
}

}  // namespace assay
