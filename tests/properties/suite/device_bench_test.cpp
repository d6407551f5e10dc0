// The benchmark of a device, over the driver of tests/device/fake_driver.cpp, on which each launch takes half a
// millisecond.
#include <dlfcn.h>

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "properties/suite/device_bench.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

const std::string path = ASSAY_BINARY_DIR "/lib/fake/libcuda.so.1";

int launches = 0;

/// The built-in kernel on tensors that are said to be on the device; sequences of more than 64 keys are refused.
assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
  if (p->max_k > 64) return {ASSAY_UNSUPPORTED, "too many keys"};
  testing::call one(*p, *launch, {tensors, tensors + count});
  for (assay_tensor& t : one.tensors) t.view.device = {kDLCPU, 0};
  ++launches;
  return one.run();
}

int outcomes = 0;

assay_status plan_workspace(const problem* p, std::int64_t budget, assay_plan* out) {
  const assay_status status = library::built_in()->find("split_kv")->plan(p, budget, out);
  out->workspace_bytes += 1000;
  return status;
}

/// Needs a workspace on the device, to which it writes.
assay_status run_with_workspace(const problem* p, const assay_tensor* tensors, std::int32_t count,
                                const assay_launch* launch) {
  if (launch->workspace == nullptr || launch->workspace_bytes != 1000) return {ASSAY_REJECTED, "no workspace"};
  static_cast<char*>(launch->workspace)[999] = 1;
  return run(p, tensors, count, launch);
}

assay_status refusing_outcome(const problem*, const assay_tensor*, std::int32_t, const assay_launch* launch) {
  ++outcomes;
  if (launch->workspace == nullptr) return {ASSAY_FAILED, "no workspace"};
  return {ASSAY_REJECTED, "a wrong row"};
}

bench_shape shape_of(std::int32_t keys) {
  attention_case c = testing::small_case();
  for (sequence& s : c.sequences) {
    s.k = keys;
    s.pages.resize(static_cast<std::size_t>((keys + c.page_size - 1) / c.page_size));
  }
  return {"small", c};
}

TEST_CASE("a device's benchmark runs each shape and says what it read and computed", "[device]") {
  if (!std::filesystem::exists(path)) SKIP("the fake driver is not built");
  void* const driver = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(driver != nullptr);
  static const assay_kernel& built_in = *library::built_in()->find("split_kv");
  static const assay_kernel kernel{"split_kv", built_in.plan, built_in.declare, run, nullptr};
  static const assay_library table = ASSAY_DEVICE_LIBRARY("fake", &kernel, 1, kDLCUDA);
  const library lib(&table, "fake");
  launches = 0;
  const device_bench_result result = measure_device(lib, {shape_of(32), shape_of(128)}, 8);
  CHECK(launches == 2 + 8);
  const auto most_queued = reinterpret_cast<int (*)()>(dlsym(driver, "fake_driver_most_events_queued"));
  CHECK(most_queued() == 2 * 8);  // no launch waits for the host
  CHECK(result.device == "a fake device");
  CHECK(result.copy_bytes_per_second == 2.0 * (1 << 30) / 0.5e-3);
  REQUIRE(result.speeds.size() == 2);
  const device_speed& s = result.speeds[0];
  CHECK(s.refusal.empty());
  CHECK(s.splits == 2);
  CHECK(s.median_seconds == 0.5e-3);
  CHECK(s.copy_seconds == 0.5e-3 / (1 << 16));  // a copy of 16 KiB, which reads and writes as many bytes as the shape
  CHECK(s.of_copy_as_big() == 1.0 / (1 << 16));
  CHECK(s.bytes == 2 * 32 * 2 * (64 + 64) * 2);                // sequences, keys, heads, dims of K and V, bytes
  CHECK(s.operations == 2.0 * 2 * (31 + 32) * 4 * (64 + 64));  // causal: the first of two rows sees one key less
  CHECK(result.speeds[1].refusal == "too many keys");
  CHECK(device_bench_text(result).find("not measured: too many keys") != std::string::npos);
  CHECK(result.speeds[1].copy_seconds == 0);
  CHECK(device_bench_text(result).find("TB/s   copy as big") != std::string::npos);
  CHECK(boost::json::parse(device_bench_json(result)).at_pointer("/speeds/0/launches").to_number<int>() == 8);
  device_bench_result slower = result;
  slower.speeds[0].copy_seconds = s.median_seconds / 4;
  CHECK(device_bench_text(slower).find(" 25%") != std::string::npos);
}

TEST_CASE("a benchmark gives each launch the workspace, and asks for one outcome behind all", "[device]") {
  if (!std::filesystem::exists(path)) SKIP("the fake driver is not built");
  REQUIRE(dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
  static const assay_kernel kernel{"split_kv", plan_workspace, library::built_in()->find("split_kv")->declare,
                                   run_with_workspace, refusing_outcome};
  static const assay_library table = ASSAY_DEVICE_LIBRARY("fake", &kernel, 1, kDLCUDA);
  const library lib(&table, "fake");
  launches = outcomes = 0;
  const device_bench_result result = measure_device(lib, {shape_of(32)}, 8);
  CHECK(launches == 2 + 8);
  CHECK(outcomes == 1);
  CHECK(result.speeds.at(0).refusal == "a wrong row");
}

TEST_CASE("the kernels take the shapes of the benchmark") {
  const std::vector<bench_shape> shapes = bench_shapes(*library::built_in());
  CHECK(shapes.size() == 18 + 4 + 3 + 2);
  for (const bench_shape& s : shapes) {
    INFO(s.name);
    problem planned;
    const assay_kernel& kernel = *library::built_in()->find(s.stated.kernel);
    CHECK(plan_problem(kernel, to_problem(s.stated), 0, &planned).code == ASSAY_OK);
  }
}

TEST_CASE("shapes of the benchmark are found by their name, kernel and types") {
  const bench_shape shape = bench_shapes(*library::built_in()).at(6);
  CHECK(shape.name == "decode 16 x 8k, pages of 16");
  for (const char* text : {"decode 16", "pages of 16", "split_kv", "bf16/e4m3fn"}) CHECK(mentions(shape, text));
  for (const char* text : {"64 x 8k", "prefill", "16 bf16", "i8"}) CHECK(!mentions(shape, text));
}

}  // namespace
}  // namespace assay
