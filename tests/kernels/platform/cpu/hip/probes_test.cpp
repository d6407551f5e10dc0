/// Every probe compiles (probes.hip), and gives what it must under each schedule, with nothing to report.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"
#include "tests/kernels/platform/cpu/hip/probes.hpp"

using namespace assay::cpu;

TEST_CASE("What foreign kernels use of HIP gives what it must, and nothing to report", "[hip][probes]") {
  const std::vector<probes::probe> all = probes::all();
  REQUIRE(all.size() >= 45);
  for (const probes::probe& p : all) {
    INFO(p.name);
    for (const int wave_size : {32, 64}) {
      std::array<double, 64> out{};
      toy_tensor given("out", out.data(), {64}, {1}, ASSAY_OUTPUT);
      const std::array tensors{given.get()};
      const assay_launch l = parameters(wave_size, ASSAY_RANDOM, 7);
      const auto seen = checked_defects(l, tensors, [&] { p.run(out.data()); });
      for (const seen_defect& d : seen)
        if (d.kind >= 0) FAIL_CHECK(d.message);  // kind -1: nothing was launched
      for (int lane = 0; lane < 64; ++lane) {
        INFO("lane " << lane << " of waves of " << wave_size);
        CHECK(out[static_cast<std::size_t>(lane)] == p.wanted(lane));
      }
    }
  }
}
