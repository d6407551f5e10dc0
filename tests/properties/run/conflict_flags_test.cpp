#include "properties/run/conflict_flags.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

std::ptrdiff_t conflicts_of(const library& lib) {
  std::ranges::fill(lib.edge_flags(), std::uint8_t{0});
  CHECK(run_case(lib, testing::small_case()).result == outcome::pass);
  return std::ranges::count(conflict_flags(lib), std::uint8_t{1});
}

TEST_CASE("a library's conflict flags are among its own edge flags, whichever module has them") {
  const auto loaded = library::load(ASSAY_BINARY_DIR "/lib/assay_kernels_cpu.so");
  for (const auto& lib : {library::built_in(), loaded}) {
    const auto conflicts = conflict_flags(*lib);
    const auto edges = lib->edge_flags();
    REQUIRE(conflicts.size() == 4096);
    CHECK((conflicts.data() >= edges.data() && &conflicts.back() <= &edges.back()));
    CHECK(conflicts_of(*lib) > 0);
  }
  CHECK(conflict_flags(*loaded).data() != conflict_flags(*library::built_in()).data());
}

TEST_CASE("a library that does not say which edges it has has no conflict flags") {
  const auto unchecked = library::load(ASSAY_BINARY_DIR "/lib/assay_kernels_cpu_unchecked.so");
  CHECK(unchecked->edge_flags().empty());
  CHECK(conflict_flags(*unchecked).empty());
}

}  // namespace
}  // namespace assay
