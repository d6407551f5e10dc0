#include "properties/html/heat_map.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "properties/html/bars.hpp"
#include "tests/properties/html/some_pictures.hpp"

namespace assay::html {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("a step of colour is inside of the enclosure, or how far outside, or not finite") {
  CHECK(step_of(0) == 0);
  CHECK(step_of(1) == 0);  // the edge is allowed
  CHECK(step_of(1.0001) == 1);
  CHECK(step_of(10) == 2);
  CHECK(step_of(11) == 3);
  CHECK(step_of(1e4) == 4);
  CHECK(step_of(1e5) == 5);
  CHECK(step_of(error_not_finite) == 6);
}

TEST_CASE("a cell of a heat map has its place and the colour of its error; neighbours of a colour are one shape") {
  error_map map;
  map.tensor = "o";
  map.column_axis = "column";
  reduce_to_cells({0, 0, 5, 0, 0, 2000}, 2, 3, map);
  CHECK(map.cells == std::vector<double>{0, 0, 5, 0, 0, 2000});
  const std::string svg = heat_map_svg(map);
  CAPTURE(svg);
  CHECK(svg.find("<path class=\"h0\" d=\"M44 18h32v16h-32zM44 34h32v16h-32z\"/>") != std::string::npos);
  CHECK(svg.find("<path class=\"h2\" d=\"M76 18h16v16h-16z\"/>") != std::string::npos);
  CHECK(svg.find("<path class=\"h4\" d=\"M76 34h16v16h-16z\"/>") != std::string::npos);
  CHECK(occurrences(svg, "<path") == 3);
}

TEST_CASE("a reduced map shows the largest error of each cell") {
  error_map map;
  std::vector<double> values(100 * 200, 0.5);
  values[99 * 200 + 199] = std::numeric_limits<double>::infinity();
  values[50 * 200 + 3] = 7;
  reduce_to_cells(values, 100, 200, map);
  CHECK(map.map_rows == most_map_rows);
  CHECK(map.map_columns == most_map_columns);
  CHECK(map.cells.back() == error_not_finite);
  CHECK(map.cells[static_cast<std::size_t>(50 * most_map_rows / 100 * most_map_columns + 3 * most_map_columns / 200)] ==
        7);
  CHECK(std::ranges::count(map.cells, 0.5) == most_map_rows * most_map_columns - 2);
}

TEST_CASE("the map of a run marks the wrong row and head, and each sum adds up to the whole") {
  const error_map map = map_errors(testing::wrong_head_run(), "o");
  CHECK(map.rows == 16);  // 4 query rows of 4 heads
  CHECK(map.columns == 64);
  CHECK(map.outside == 64);
  for (std::int64_t r = 0; r < 16; ++r)
    for (std::int64_t c = 0; c < 64; ++c) {
      CAPTURE(r, c);
      CHECK((map.cells[static_cast<std::size_t>(r * 64 + c)] > 1) == (r == 1 * 4 + 2));
    }
  REQUIRE(map.sums.size() == 5);
  for (const error_sum& sum : map.sums) {
    double error = 0;
    for (const error_share& s : sum.shares) error += s.error;
    CAPTURE(sum.kind);
    CHECK(error == Catch::Approx(map.total.error));
  }
  CHECK(map.sums[0].kind == "page");
  CHECK(map.sums[0].shares.size() == 2);  // 20 keys on pages of 16: the row is one of the first sequence
  CHECK(map.sums[3].kind == "head");
  REQUIRE(map.sums[3].shares.size() == 1);
  CHECK(map.sums[3].shares[0].name == "head 2");
  CHECK(map.sums[4].shares.size() == 16);
  REQUIRE(map.worst.size() == 8);
  CHECK(map.worst[0].index.starts_with("[1, 2, "));
  CHECK(map.worst[0].error >= map.worst[7].error);
}

TEST_CASE("a run that passes has a map without anything outside, and no sums") {
  const error_map map = map_errors(
      run_in_detail(*testing::faulty_library([](testing::call& c) { return c.run(); }), testing::small_case()), "o");
  CHECK(map.outside == 0);
  CHECK(map.sums.empty());
  CHECK(*std::ranges::max_element(map.cells) <= 1);
}

TEST_CASE("elements without a finite error are counted beside the sum") {
  const auto lib = testing::corrupting_library([](testing::call& c) {
    const tensor o = c.view("o");
    static_cast<std::uint16_t*>(o.data)[o.offset(0, 0, 5)] = 0x7E00;  // NaN
  });
  const error_map map = map_errors(run_in_detail(*lib, testing::small_case()), "o");
  CHECK(map.outside == 1);
  CHECK(map.total.error == 0);
  CHECK(map.total.not_finite == 1);
  CHECK(map.cells[5] == error_not_finite);
  CHECK(error_figures(map).find("not finite") != std::string::npos);
  for (const error_sum& sum : map.sums) CHECK(sum_svg(sum).find("class=\"bar\"") != std::string::npos);
}

TEST_CASE("the longest bar is of the largest size, and what is not 0 shows") {
  const std::string svg = bars_svg({{"a", 0, "0"}, {"b", 1000, "1,000"}, {"c", 1e-9, "1e-09"}}, "three");
  CHECK(svg.find("width=\"150.0\"") != std::string::npos);
  CHECK(svg.find("width=\"1.0\"") != std::string::npos);
  CHECK(svg.find("width=\"0.0\"") != std::string::npos);
  CHECK(svg.find("aria-label=\"three\"") != std::string::npos);
}

TEST_CASE("distances to exact fall into their bins") {
  const double infinity = std::numeric_limits<double>::infinity();
  const ulp_histogram h = count_ulps("o", {0, 0.5, 0.6, 3, 1e9, infinity});
  CHECK(h.counts == std::vector<std::int64_t>{2, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1});
  CHECK(h.median == 3);
  const std::string svg = histogram_svg(h);
  CHECK(svg.find("above 65,536") != std::string::npos);
  CHECK(svg.find("up to 0.5") != std::string::npos);
}

}  // namespace
}  // namespace assay::html
