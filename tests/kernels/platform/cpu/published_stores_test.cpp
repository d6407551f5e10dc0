#include "kernels/platform/cpu/checker/published_stores.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace assay::cpu;

namespace {

constexpr access_record by(int thread, std::uint32_t stamp) {
  return record::at(stamp) | static_cast<access_record>(thread) << record::thread_shift;
}
constexpr int storing = 3, in_wave = 7, reading = 200, other = 100;

/// As if all fences up to that stamp happened before the read.
bool hold(const published_stores& fences, std::uint32_t store, std::uint32_t stamp) {
  return fences.hold(
      by(storing, store), by(reading, 1000), [&](access_record fence) { return record::stamp(fence) <= stamp; },
      [](access_record a, access_record b) { return (record::thread(a) ^ record::thread(b)) < 32; });
}

}  // namespace

TEST_CASE("A fence publishes the stores of its thread before it", "[checker]") {
  published_stores fences;
  CHECK_FALSE(hold(fences, 5, 1000));
  fences.add({by(storing, 10)});
  fences.add({by(other, 20)});
  CHECK(hold(fences, 9, 1000));
  CHECK_FALSE(hold(fences, 9, 9));      // the fence may be after the read
  CHECK_FALSE(hold(fences, 10, 1000));  // stored behind the fence
  fences.add({by(storing, 30)});
  CHECK(hold(fences, 9, 15));  // the first fence is enough
  CHECK_FALSE(hold(fences, 15, 15));
  fences.clear();
  CHECK_FALSE(hold(fences, 9, 1000));
}

TEST_CASE("Another thread's fence publishes what a barrier put before it", "[checker]") {
  published_stores fences;
  fences.add({by(other, 20), record::at(15)});
  CHECK_FALSE(hold(fences, 5, 19));  // that thread and the reader have not met
  CHECK(hold(fences, 5, 20));
  CHECK_FALSE(hold(fences, 15, 1000));
  fences.pass_barrier();
  CHECK(hold(fences, 5, 0));
  CHECK_FALSE(hold(fences, 15, 0));
  fences.add({by(reading, 40)});  // the reader's own
  CHECK(hold(fences, 39, 0));
  CHECK_FALSE(hold(fences, 40, 0));
}

TEST_CASE("A lane's fence publishes what a collective of its wave put before it", "[checker]") {
  published_stores fences;
  fences.add({by(in_wave, 20), 0, record::at(15)});
  CHECK(hold(fences, 14, 20));
  CHECK_FALSE(hold(fences, 14, 19));
  CHECK_FALSE(hold(fences, 15, 1000));
  fences.add({by(other, 30), 0, record::at(29)});  // of another wave
  CHECK_FALSE(hold(fences, 15, 1000));
}

TEST_CASE("Of many fences those that decide are kept", "[checker]") {
  published_stores fences;
  const auto floor_of = [](std::uint32_t fence) { return fence - fence % 70; };
  for (std::uint32_t fence = 10; fence < 1000; fence += 10)
    fences.add({by(storing, fence), record::at(floor_of(fence))});
  // Those behind the last barrier, at 980, and the last one before it.
  CHECK(hold(fences, 985, 990));
  CHECK_FALSE(hold(fences, 985, 985));
  CHECK(hold(fences, 975, 980));
  CHECK(hold(fences, 5, 979));
  CHECK_FALSE(hold(fences, 990, 1000));
}
