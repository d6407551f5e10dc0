/// Which of a relation's runs the access checker watches.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {
namespace {

using testing::small_case;

TEST_CASE("relations check the accesses of the base run, and of others where they can differ") {
  attention_case c = small_case();
  const std::int64_t once = run_case(*library::built_in(), c).accesses_checked;
  REQUIRE(once > 0);
  for (const property* p : {&page_permutation, &page_sharing, &v_scaling, &nothing_else_written}) {
    CAPTURE(p->name);
    CHECK(p->check(*library::built_in(), c).accesses_checked == once);
  }
  for (const property* p : {&row_strides, &pool_shift, &dead_memory}) {
    CAPTURE(p->name);
    CHECK(p->check(*library::built_in(), c).accesses_checked >= 2 * once);
  }
  const auto checked_by = [&](const property& p) { return p.check(*library::built_in(), c).accesses_checked; };
  const std::int64_t of_orders = checked_by(wave_schedule);  // of the base, the descending and two random orders
  CHECK(of_orders > 3 * once);
  CHECK(of_orders < 5 * once);
  c.spare_table_entries = 2;
  const std::int64_t of_tails =
      checked_by(table_tail);  // of the base, 3 wrong entries, the cut table, a sequence alone
  CHECK(of_tails > 5 * once);
  CHECK(of_tails <= 6 * once);
}

}  // namespace
}  // namespace assay::relations
