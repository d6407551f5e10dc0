#include <catch2/catch_test_macros.hpp>

#include "properties/html/markup.hpp"
#include "properties/html/nights.hpp"
#include "properties/html/page_strip.hpp"
#include "properties/html/race_timeline.hpp"
#include "tests/properties/html/some_pictures.hpp"

namespace assay::html {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// As the checker writes it. tests/html/pages_test.sh reads one that the checker wrote.
const std::string race =
    "split_kv: race on LDS byte 15874: store of 2 bytes (split_kv_kernel.hpp:277) by thread 65 and load by thread 0 "
    "(vector.hpp:42, from mma.hpp:44, from split_kv_kernel.hpp:173), with no barrier, wave-level order, or fence and "
    "atomic between them (block 0,2,0 wave 1 lane 1)";

TEST_CASE("a race's message becomes two accesses with their waves") {
  const auto story = read_race(race, 64);
  REQUIRE(story);
  CHECK(story->place == "LDS byte 15874");
  CHECK(story->earlier.kind == "load");
  CHECK(story->earlier.thread == 0);
  CHECK(story->earlier.wave == 0);
  CHECK(story->earlier.where == "vector.hpp:42, from mma.hpp:44, from split_kv_kernel.hpp:173");
  CHECK(story->later.kind == "store of 2 bytes");
  CHECK(story->later.thread == 65);
  CHECK(story->later.wave == 1);
  CHECK(story->later.where == "split_kv_kernel.hpp:277");
  CHECK(story->block == "0,2,0");
  CHECK(read_race(race, 32)->later.wave == 2);
}

TEST_CASE("a race of two blocks, and with others of a wave, is read, too") {
  const auto story = read_race(
      "k: race on o[0, 1]: atomic load of 4 bytes (a.hpp:1) by thread 3 and store by thread 7 of block number 12 and "
      "other lanes of its wave (b.hpp:2), with no barrier, wave-level order, or fence",
      64);
  REQUIRE(story);
  CHECK(story->later.kind == "atomic load of 4 bytes");
  CHECK(story->earlier.block == "block number 12");
  CHECK(story->earlier.others == "and other lanes of its wave");
  CHECK(story->block.empty());
}

TEST_CASE("other messages are no race") {
  CHECK_FALSE(read_race("load of 4 bytes (a.hpp:1) of k[0, 1], which no thread has written", 64));
  CHECK_FALSE(read_race("race on " + std::string(100'000, 'x'), 64));
  CHECK_FALSE(read_race("", 64));
}

TEST_CASE("the timeline has a line for each wave, and says that nothing orders the accesses") {
  const std::string figure = race_figure(*read_race(race, 64));
  CHECK(has(figure, ">wave 0<"));
  CHECK(has(figure, ">wave 1<"));
  CHECK(has(figure, "nothing orders them"));
  CHECK(has(figure, "split_kv_kernel.hpp:277"));
  CHECK_FALSE(has(race_svg(*read_race(race, 128)), ">wave 1<"));  // then both are of one wave
}

TEST_CASE("the strip tells pages of one entry, shared ones, dead ones and dead tails") {
  attention_case c = testing::small_case();
  c.pool_pages = 6;
  c.sequences = {{.q = 1, .k = 20, .prefix_offset = {}, .pages = {4, 1}},
                 {.q = 1, .k = 16, .prefix_offset = {}, .pages = {4}}};
  const page_use use = use_of_pages(c);
  CHECK(use.used == 2);
  CHECK(use.shared == 1);
  REQUIRE(use.pages.size() == 6);
  CHECK(use.pages[4].sequences == std::vector<std::int64_t>{0, 1});
  CHECK(use.pages[4].entries == 2);
  CHECK(use.pages[1].live_slots == 4);
  CHECK(use.pages[0].sequences.empty());
  const std::string svg = page_strip_svg(use);
  CHECK(has(svg, "6 pages of the pool: 2 used, 1 shared, 4 dead"));
  CHECK(has(svg, "class=\"shared\""));
  CHECK(has(svg, "class=\"tail\" x=\"28\""));
  CHECK(has(svg, "class=\"bar\" x=\"28\" y=\"2\" width=\"5.8\""));  // 4 of 16 slots
  CHECK(has(svg, "class=\"dead\" x=\"2\""));
  CHECK(has(page_figure(use), "4 dead"));
  c.pool_pages = 0;
  c.sequences.clear();
  CHECK(page_figure(use_of_pages(c)).empty());
}

TEST_CASE("a page that one sequence names twice is shared") {
  attention_case c = testing::small_case();
  c.sequences = {{.q = 1, .k = 32, .prefix_offset = {}, .pages = {0, 0}}};
  CHECK(use_of_pages(c).shared == 1);
  CHECK(has(page_strip_svg(use_of_pages(c)), "class=\"shared\""));
}

TEST_CASE("numbers over nights become lines from the oldest to the newest") {
  const std::string table = history_table({{"bench", "cases/s", {1, 3, 2}}, {"faults", "caught", {}}});
  CHECK(has(table, "d=\"M4.0 24.0L80.0 4.0L156.0 14.0\""));
  CHECK(has(table, "cases/s of bench over 3 nights: from 1 to 2"));
  CHECK_FALSE(has(table, "faults"));
  CHECK(history_table({}).empty());
}

TEST_CASE("numbers are written for readers") {
  CHECK(number(0.25) == "0.25");
  CHECK(number(1234) == "1,234");
  CHECK(number(1234.4) == "1,234");
  CHECK(number(-1234567) == "-1.23e+06");
  CHECK(whole(1234567) == "1,234,567");
  CHECK(whole(-123) == "-123");
  CHECK(error_number(error_not_finite) == "not finite");
}

}  // namespace
}  // namespace assay::html
