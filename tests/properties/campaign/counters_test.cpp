#include "properties/campaign/counters.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/write_file.hpp"
#include "tests/properties/campaign/fake_target.hpp"

namespace assay::campaign {
namespace {

TEST_CASE("counters of all processes are summed by name; what a kill left half-written does not count") {
  const testing::fake_target fake;
  const auto file = fake.root() / "counters";
  CHECK(read_counters(file).empty());
  write_by_rename(file, "empty splits 3\npage gap 1\nempty splits 4\nempty spl\nx 5y\npage gap 12");
  const auto sums = read_counters(file);
  CHECK(sums == std::map<std::string, std::int64_t>{{"empty splits", 7}, {"page gap", 1}});
}

}  // namespace
}  // namespace assay::campaign
