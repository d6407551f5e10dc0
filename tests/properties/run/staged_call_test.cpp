// Libraries with device tensors, over the driver of tests/device/fake_driver.cpp.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "properties/suite/replay_cases.hpp"
#include "properties/system/device_driver.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/worker.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

using testing::call;
using testing::small_case;

const std::string path = ASSAY_BINARY_DIR "/lib/fake/libcuda.so.1";

void* fake_driver() {
  static void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(handle != nullptr);
  return handle;
}
template <class Function>
Function* fake(const char* name) {
  return reinterpret_cast<Function*>(dlsym(fake_driver(), name));
}

std::function<void(call&)> after;

/// The built-in kernel, for tensors that are said to be on the device.
assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
  call one(*p, *launch, {tensors, tensors + count});
  if (launch->stream != fake<void*()>("fake_driver_stream")()) return {ASSAY_FAILED, "another stream"};
  for (assay_tensor& t : one.tensors) {
    if (t.view.device.device_type != kDLCUDA) return {ASSAY_REJECTED, "a tensor on another device"};
    t.view.device = {kDLCPU, 0};
  }
  const assay_status status = one.run();
  if (after) after(one);
  return status;
}

std::shared_ptr<library> device_library(std::function<void(call&)> then = {}) {
  fake_driver();
  after = std::move(then);
  static const assay_kernel& built_in = *library::built_in()->find("split_kv");
  static const assay_kernel kernel{"split_kv", built_in.plan, built_in.declare, run, nullptr};
  static const assay_library table = ASSAY_DEVICE_LIBRARY("fake", &kernel, 1, kDLCUDA);
  auto made = std::make_shared<library>(&table, "fake");
  made->checks.accesses = false;  // the checker knows the host's tensors
  return made;
}

std::string fault_after(std::function<void(call&)> then, const attention_case& c = small_case()) {
  const verdict v = run_case(*device_library(std::move(then)), c);
  CHECK(v.result == outcome::fail);
  return v.what;
}

bool is_missing() {
  return !std::filesystem::exists(path);
}

TEST_CASE("what a kernel computes on a device is judged as on the host", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto lib = device_library();
  CHECK(lib->tensors_on() == kDLCUDA);
  CHECK(library::built_in()->tensors_on() == kDLCPU);
  attention_case c = small_case();
  for (const auto& layout : {pool_layout::nhd, pool_layout::hnd})
    for (const std::int32_t margin : {0, 24}) {
      c.layout = layout;
      c.row_margin = c.input_margin = margin;
      const verdict v = run_case(*lib, c);
      INFO(v.what);
      CHECK(v.result == outcome::pass);
    }
  const auto wrong = device_library([](call& one) { set_bits(one.view("o"), 0, bits_at(one.view("o"), 0) ^ 0x4000U); });
  CHECK(run_case(*wrong, c).origin == "enclosure");
}

TEST_CASE("relations that edit and move tensors run on a device", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto lib = device_library();
  for (const property* p : {&relations::page_permutation, &relations::pool_shift, &relations::row_strides,
                            &relations::nothing_else_written, &relations::far_rows}) {
    const verdict v = check_property(*lib, *p, small_case());
    INFO(p->name << ": " << v.what);
    CHECK(v.result == outcome::pass);
  }
}

TEST_CASE("a library of a device has to refuse broken calls on that device", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto judged = [](const std::shared_ptr<library>& lib) {
    const verdict v = isolated_judge(*lib, relations::bad_problem_rejected, 60)(small_case());
    return v.result == outcome::pass ? "" : v.what;
  };
  CHECK(judged(device_library()).empty());
  // What it is to refuse it refuses, but only after it has written or launched.
  const auto is_odd = [](call& one) { return one.has("k") && one.at("k").view.byte_offset == 8; };
  CHECK(judged(device_library([=](call& one) {
          if (is_odd(one)) set_bits(one.view("o"), 0, 0x1234);
        })) == "run() launched in spite of k with an offset of four elements, not eight");
  CHECK(judged(device_library([=, writes = true](call& one) mutable {  // once: not when the calls are made again
          if (is_odd(one) && writes) set_bits(one.view("o"), 0, 0x1234), writes = false;
        })) == "run() launched in spite of a broken call that it refused");
  CHECK(judged(device_library([=](call& one) {
          if (is_odd(one)) fake<void()>("fake_driver_fail_next")();
        })) ==
        "run() did not refuse k with an offset of four elements, not eight: the device: an illegal memory "
        "access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)");
}

TEST_CASE("what is written beside a tensor of the device is reported", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  CHECK(fault_after([](call& one) { set_bits(one.view("k"), 5, 0x1234); }) ==
        "input k was written, at byte 10 of 32768");
  CHECK(fault_after([](call& one) {
          const tensor o = one.view("o");
          set_bits(o, o.size(), 0x1234);
        }).starts_with("o was written outside its memory, at byte "));
  CHECK(fault_after([](call& one) {
          const tensor t = one.view("seqlens_k");  // whose host memory ends with its last element
          set_bits(t, t.size() + 3, 7);
        }) == "seqlens_k was written outside its memory, at byte 20 of 8");
}

TEST_CASE("the workspace of a call is on the device, between canaries", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  fake_driver();
  static std::int64_t written = 0;
  static const assay_kernel& built_in = *library::built_in()->find("split_kv");
  static const assay_kernel kernel{
      "split_kv",
      [](const problem* p, std::int64_t budget, assay_plan* out) {
        const assay_status status = built_in.plan(p, budget, out);
        out->workspace_bytes += 100;
        return status;
      },
      built_in.declare,
      [](const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
        auto* const workspace = static_cast<unsigned char*>(launch->workspace);
        if (launch->workspace_bytes != 100 || workspace[0] != 0x5A) return assay_status{ASSAY_FAILED, "no workspace"};
        if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return assay_status{ASSAY_FAILED, "not aligned"};
        workspace[written] = 1;
        return run(p, tensors, count, launch);
      },
      nullptr};
  static const assay_library table = ASSAY_DEVICE_LIBRARY("fake", &kernel, 1, kDLCUDA);
  library lib(&table, "fake");
  lib.checks.accesses = false;
  after = {};
  const auto fault_of_store_at = [&](std::int64_t byte) {
    written = byte;
    const verdict v = run_case(lib, small_case());
    return v.result == outcome::pass ? "" : v.what;
  };
  CHECK(fault_of_store_at(0).empty());
  CHECK(fault_of_store_at(99).empty());
  CHECK(fault_of_store_at(100) == "workspace was written outside its memory, at byte 100 of 100");
  CHECK(fault_of_store_at(-1) == "workspace was written outside its memory, at byte -1 of 100");
  CHECK(fault_of_store_at(900) == "workspace was written outside its memory, at byte 900 of 100");
}

TEST_CASE("a pool of 64 GiB has memory on the device for its pages in use, and no other", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  attention_case c = small_case();
  c.pool_pages = std::int64_t{1} << 24;
  std::int64_t page = c.pool_pages - 1;
  for (sequence& s : c.sequences)
    for (std::int64_t& p : s.pages) p = page, page -= 3'000'000;
  const verdict v = run_case(*device_library(), c);
  INFO(v.what);
  CHECK(v.result == outcome::pass);
  const auto what_of = [&](const auto& then) {
    const verdict judged = isolated_judge(*device_library(then), enclosure_property(), 20)(c);
    CHECK(judged.result == outcome::fail);
    CHECK(judged.origin == "memory");
    return judged.what;
  };
  // A page that no sequence uses, far from those in use, has no memory: the fake device faults there as the host does.
  CHECK_FALSE(what_of([](call& one) {
                const tensor k = one.view("k");
                if (bits_at(k, k.offset(12345)) == 0x1234) set_bits(k, 0, 0);
              }).empty());
  // Beside a page in use, within the device's larger page, there is memory.
  const std::int64_t beside = c.sequences[0].pages[0] - 1;
  CHECK(what_of([=](call& one) {
          set_bits(one.view("k"), one.view("k").offset(beside, 3), 0x1234);
        }).starts_with("k was written outside its memory, at byte "));
  CHECK(what_of([=](call& one) {
          set_bits(one.view("k"), one.view("k").offset(beside + 1, 3), 0x1234);
        }).starts_with("input k was written, at byte "));
}

TEST_CASE("an error of the device ends the worker, and the next case has another one", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  static bool fails = true;
  const auto lib = device_library([](call&) {
    if (fails) fake<void()>("fake_driver_fail_next")();
  });
  const judge_function judge = isolated_judge(*lib, enclosure_property(), 20);
  const verdict v = judge(small_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("an illegal memory access was encountered") != std::string::npos);
  fails = false;
  CHECK(run_case(*lib, small_case()).result == outcome::pass);
}

TEST_CASE("host code that throws is a finding once the device is done, whose error comes first", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto found = [](bool device_fails) {
    const auto lib = device_library([=](call&) {
      if (device_fails) fake<void()>("fake_driver_fail_next")();
      throw std::runtime_error("no such stream");
    });
    return isolated_judge(*lib, enclosure_property(), 20)(small_case());
  };
  const verdict thrown = found(false), failed = found(true);
  CHECK(thrown.result == outcome::fail);
  CHECK(thrown.what.find("no such stream") != std::string::npos);
  CHECK(failed.result == outcome::fail);
  CHECK(failed.what.find("an illegal memory access was encountered") != std::string::npos);
}

TEST_CASE("what the driver says of a run is the finding, by name", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto said = [](int code) {
    const auto lib = device_library([=](call&) { fake<void(int)>("fake_driver_fail_next_as")(code); });
    const verdict v = isolated_judge(*lib, enclosure_property(), 20)(small_case());
    CHECK(v.result == outcome::fail);
    return v.origin + ": " + v.what;
  };
  CHECK(said(700) == "memory: the device: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)");
  CHECK(said(702) == "device: the device: the launch timed out and was terminated (CUDA_ERROR_LAUNCH_TIMEOUT, 702)");
  // Of a kernel, this too: only memory that the suite asks for may be short.
  CHECK(said(2) == "device: the device: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

TEST_CASE("a stored case that ends a device's process is tried again in a fresh one", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const testing::scratch here;
  const auto replayed = [&](const library& lib) {
    const replay_options options{{&enclosure_property()}, 1, 20, false, false};
    std::map<std::string, int> skipped;
    auto cases = read_replays({here.write("c.json", to_json(small_case()))}, lib, options, skipped);
    replay(lib, cases, options, [](const replayed_case&) {});
    CHECK(cases[0].result() == outcome::fail);
    return cases[0].verdicts[0].what;
  };
  CHECK(replayed(*device_library([](call&) {
          fake<void()>("fake_driver_fail_next")();
        })).ends_with("(CUDA_ERROR_ILLEGAL_ADDRESS, 700); again in a fresh process"));
  const std::string once = here.file("once");
  CHECK(replayed(*device_library([=](call&) {
          if (std::ofstream(once, std::ios::app).tellp() == 0) fake<void()>("fake_driver_fail_next")();
          std::ofstream(once, std::ios::app) << "ran\n";
        })).ends_with("; not again in a fresh process: it is flaky"));
}

TEST_CASE("a kernel that hangs on the device costs one worker, and is a finding", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto lib = device_library([](call&) {
    for (;;) pause();
  });
  const verdict v = isolated_judge(*lib, enclosure_property(), 0.1)(small_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "hang");
}

TEST_CASE("a device that has too little memory for a case leaves it undecided", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  const auto lib = device_library();
  attention_case c = small_case();
  c.pool_pages = std::int64_t{1} << 24;  // a sparse pool, of which each run maps what is in use
  fake<void(int)>("fake_driver_has_memory")(0);
  const verdict v = isolated_judge(*lib, enclosure_property(), 20)(c);
  fake<void(int)>("fake_driver_has_memory")(1);
  CHECK(v.result == outcome::undecided);
  CHECK(v.origin == "device");
  CHECK(v.what == "reserving addresses of the device: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

TEST_CASE("workers take devices in turn, of those that ASSAY_DEVICES names", "[device]") {
  if (is_missing()) SKIP("the fake driver is not built");
  fake<void(int)>("fake_driver_has_devices")(3);
  const auto chosen_by = [&](int number) {
    worker one(
        [](const std::string&) {
          try {
            return std::to_string(device_driver::number_for_worker(kDLCUDA));
          } catch (const environment_error& e) {
            return std::string(e.what());
          }
        },
        number);
    one.send("");
    while (!one.receive()) {
    }
    return *one.reply();
  };
  CHECK(chosen_by(0) == "0");
  CHECK(chosen_by(4) == "1");
  setenv("ASSAY_DEVICES", "2,0", 1);
  CHECK(chosen_by(0) == "2");
  CHECK(chosen_by(3) == "0");
  for (const char* const wrong : {"", "3", "-1", "0,", "a", "1;2"}) {
    setenv("ASSAY_DEVICES", wrong, 1);
    CHECK(chosen_by(0).starts_with("ASSAY_DEVICES: '" + std::string(wrong) + "' is no list of devices"));
  }
  unsetenv("ASSAY_DEVICES");
  CHECK(device_driver::devices_text(kDLCUDA) == "3 x a fake device");
  fake<void(int)>("fake_driver_has_devices")(1);
}

TEST_CASE("a library whose tensors are on an unknown device is not usable", "[device]") {
  static const assay_library table = ASSAY_DEVICE_LIBRARY("strange", nullptr, 0, kDLVulkan);
  CHECK_THROWS_AS(library(&table, "strange"), environment_error);
}

}  // namespace
}  // namespace assay
