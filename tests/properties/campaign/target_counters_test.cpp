#include "properties/campaign/target_counters.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/system/write_file.hpp"
#include "tests/properties/campaign/fake_target.hpp"

namespace assay::campaign {
namespace {

TEST_CASE("counters of all processes are summed by name, but for the largest; lines that are none do not count") {
  const testing::fake_target fake;
  const auto file = fake.root() / "counters";
  std::map<std::string, std::int64_t> sums;
  add_counters(file, sums);
  CHECK(sums.empty());
  write_by_rename(file, "empty splits 3\npage gap 1\nempty splits 4\nmost_pairs 5\nempty spl\nx 5y\npage gap 12");
  add_counters(file, sums);
  write_by_rename(file, "empty splits 1\nmost_pairs 4\n");
  add_counters(file, sums);
  CHECK(sums == std::map<std::string, std::int64_t>{{"empty splits", 8}, {"page gap", 1}, {"most_pairs", 5}});
}

}  // namespace
}  // namespace assay::campaign
