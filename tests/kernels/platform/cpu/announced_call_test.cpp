/// A run() that names no launch: what the suite announces around it sets the launch, the checks and the tensors.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/library_call.hpp"
#include "kernels/platform/current.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"
#include "tests/kernels/platform/cpu/source_pass/launched.hpp"
#include "tests/source_place.hpp"

using namespace assay::cpu;

namespace {

std::string launched_line(std::string_view text) {
  return assay::testing::place_of(ASSAY_SOURCE_DIR "/tests/kernels/platform/cpu/source_pass/launched.hip", text);
}

std::shared_ptr<void> announce(const assay_call& call) {
  return {assay_begin_call_v1(&call), assay_end_call_v1};
}

struct foreign_call {
  std::array<int, 128> in{}, out{};
  std::vector<seen_defect> seen;
  std::int64_t accesses = 0;
  assay_launch launch = parameters(32, ASSAY_RANDOM, 5);
  toy_tensor given{"in", in.data(), {128}, {1}, ASSAY_INPUT}, result{"out", out.data(), {128}, {1}, ASSAY_OUTPUT};
  std::array<assay_tensor, 2> tensors{given.get(), result.get()};
  assay_load_watch watch{};
  assay_call call{sizeof(assay_call), &launch, tensors.data(), 2, nullptr};

  foreign_call() {
    launch.checked = 1;
    launch.context = &seen;
    launch.on_defect = &collect;
    launch.accesses_checked = &accesses;
  }
  std::vector<seen_defect> run(bool flaw) {
    const auto announced = announce(call);
    launched::run_reverse(out.data(), in.data(), flaw);
    static_cast<void>(hipGetLastError());
    return std::exchange(seen, {});
  }
};

__global__ void wave_sizes(int* out) {
  out[threadIdx.x] = warpSize;
}

}  // namespace

TEST_CASE("Kernels of an announced call run checked, under its launch and on its tensors", "[call]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  foreign_call c;
  CHECK(c.run(false).empty());
  CHECK(c.accesses > 0);
  const auto raced = c.run(true);
  REQUIRE(!raced.empty());
  CHECK(raced[0].kernel == "reverse<int,(2>1?0:1)>");
  toy_tensor shorter("out", c.out.data(), {100}, {1}, ASSAY_OUTPUT);
  c.tensors[1] = shorter.get();
  const auto outside = c.run(false);
  REQUIRE(!outside.empty());
  CHECK(outside[0].kind == ASSAY_OUT_OF_BOUNDS);
  CHECK(mentions(outside[0], "out of shape [100]"));
  CHECK(mentions(outside[0], launched_line("] = part[")));
}

TEST_CASE("A tensor whose dimension of one element has any stride is known", "[call]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  foreign_call c;
  toy_tensor given("in", c.in.data(), {1, 128}, {-5, 1}, ASSAY_INPUT);
  c.tensors[0] = given.get();
  CHECK(c.run(false).empty());
}

TEST_CASE("So do launches of other OS threads, one at a time", "[call]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  foreign_call c;
  {
    const auto announced = announce(c.call);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        launched::run_reverse(c.out.data(), c.in.data(), false);
        hipDeviceProp_t p;
        if (hipGetDeviceProperties(&p, 0) != hipSuccess || p.warpSize != 32) c.accesses = -1;
      });
    launched::run_reverse(c.out.data(), c.in.data(), false);
    for (std::thread& t : threads) t.join();
  }
  CHECK(c.seen.empty());
  const std::int64_t of_five = c.accesses;
  c.accesses = 0;
  CHECK(c.run(false).empty());
  CHECK(of_five == 5 * c.accesses);
}

TEST_CASE("The scope of an announced call ends with it, and one inside of it wins", "[call]") {
  std::array<int, 64> out{};
  foreign_call c;
  const auto size = [&] {
    hipLaunchKernelGGL(wave_sizes, 1, 64, 0, nullptr, out.data());
    return out[0];
  };
  c.launch.checked = 0;
  {
    const auto announced = announce(c.call);
    CHECK(size() == 32);
    CHECK(is_announced(c.launch));
    const launch_scope inner(parameters(64));
    CHECK(size() == 64);
  }
  CHECK_FALSE(is_announced(c.launch));
  c.launch.wave_size = 32;
  CHECK(size() == 64);  // a launch without a scope
}

TEST_CASE("A call of another version, or with tensors that are described wrongly, does no harm", "[call]") {
  foreign_call c;
  c.call.size_bytes = 8;
  CHECK(assay_begin_call_v1(&c.call) == nullptr);
  assay_end_call_v1(nullptr);
  c.call.size_bytes = sizeof(assay_call);
  CHECK(assay_begin_call_v1(nullptr) == nullptr);
  c.tensors[0].view.shape = nullptr;
  c.tensors[1].name = nullptr;
  const auto announced = announce(c.call);
  CHECK(announced != nullptr);
}

TEST_CASE("A watch sees the loads of inputs, and the lines of those that it takes", "[call]") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  struct seen_loads {
    int asked = 0;
    std::vector<std::string> taken;
  } loads;
  foreign_call c;
  c.watch.context = &loads;
  c.watch.wants = [](void* context, const assay_load* load) {
    ++static_cast<seen_loads*>(context)->asked;
    return load->offset_bytes == 4 * 77 ? 1 : 0;
  };
  c.watch.take = [](void* context, const assay_load* load, const char* line) {
    static_cast<seen_loads*>(context)->taken.push_back(std::string(load->tensor) + " " + line + " " +
                                                       std::to_string(load->block[0]) + " " +
                                                       std::to_string(load->wave) + " " + std::to_string(load->lane));
  };
  c.call.watch = &c.watch;
  CHECK(c.run(false).empty());
  CHECK(loads.asked == 128);
  CHECK(loads.taken == std::vector<std::string>{"in " + launched_line("part[threadIdx.x] = in[") + " 1 0 13"});
}
