#include "kernels/platform/cpu/base/fiber.hpp"

#include <catch2/catch_test_macros.hpp>

#include "kernels/platform/cpu/executor/executor.hpp"

using namespace assay::cpu;

TEST_CASE("The measured cost of a switch is a plausible time") {
  const double seconds = measure_switch_seconds();
  CHECK(seconds > 0.5e-9);
  CHECK(seconds < 5e-6);  // sanitizers included
}

namespace {

fiber home, away;
int visits = 0;

void visit(boost::context::detail::transfer_t from) {
  note_arrival(from);
  for (;;) {
    volatile char frame[64 * 1024];  // stacks hold large frames, down to their last page
    frame[sizeof frame - 1] = 0;
    frame[0] = 1;
    visits += frame[0];
    switch_fiber(away, home);
  }
}

}  // namespace

TEST_CASE("A stack can be started over, which forgets what ran on it") {
  stack_slab slab(4);
  for (int round = 1; round <= 3; ++round) {
    slab.start(away, 3, visit);
    switch_fiber(home, away);
    switch_fiber(home, away);
    CHECK(visits == 2 * round);
  }
}
