/// What becomes of the records of block-local memory if a launch splits them, and after it. Apart from the checker's
/// other tests, which are instrumented.
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "kernels/platform/cpu/checker/access_checker.hpp"

using namespace assay::cpu;

TEST_CASE("Both bytes of a half-word have its records after a split, to the last of an odd number",
          "[checker][grain]") {
  for (const std::uint64_t size : {7U, 8U}) {
    std::array<access_record, 9> writes{1, 2, 3, 4}, reads{10, 20, 0, 40};
    writes.back() = reads.back() = 99;  // of something else
    local_area area{0, size, writes.data(), reads.data()};
    REQUIRE(area.grain_bytes == 2);
    area.split_grains();
    CHECK(area.grain_bytes == 1);
    CHECK(writes == std::array<access_record, 9>{1, 1, 2, 2, 3, 3, 4, 4, 99});
    CHECK(reads == std::array<access_record, 9>{10, 10, 20, 20, 0, 0, 40, 40, 99});
  }
}

TEST_CASE("A launch starts with records of bytes if the one before it made odd accesses", "[checker][grain]") {
  local_area area;
  area.begin_launch();
  CHECK(area.grain_bytes == 2);
  area.split_grains();
  area.has_odd_accesses = true;
  area.begin_launch();
  CHECK(area.grain_bytes == 1);
  area.begin_launch();  // that launch made none
  CHECK(area.grain_bytes == 2);
}
