// The workspace and the outcome of a call: of libraries that break them, and of those that know neither.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "properties/run/kernel_call.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

constexpr std::int64_t planned_bytes = 512;

std::function<void(const assay_launch&)> at_run;
std::int64_t asked_bytes = planned_bytes;

const assay_kernel& built_in() {
  return *library::built_in()->find("split_kv");
}

assay_status plan(const problem* p, std::int64_t budget, assay_plan* out) {
  const assay_status status = built_in().plan(p, budget, out);
  out->workspace_bytes += asked_bytes;
  return status;
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
  at_run(*launch);
  return built_in().run(p, tensors, count, launch);
}

assay_status refuse(const problem*, const assay_tensor*, std::int32_t, const assay_launch*) {
  return {ASSAY_REJECTED, "row 7 is wrong"};
}

verdict judged(const assay_kernel& kernel, std::int64_t bytes, std::function<void(const assay_launch&)> then) {
  at_run = std::move(then);
  asked_bytes = bytes;
  const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  return run_case(library(&table, "x"), testing::small_case());
}

const assay_kernel writing{
    "split_kv", plan, [](const problem* p, const assay_launch* l, contract* c) { return built_in().declare(p, l, c); },
    run, nullptr};

std::byte* start_of(const assay_launch& launch) {
  return static_cast<std::byte*>(launch.workspace);
}

}  // namespace

TEST_CASE("a call has the workspace that its plan asks for beside the partials") {
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{100}, planned_bytes}) {
    const verdict v = judged(writing, bytes, [=](const assay_launch& launch) {
      CHECK(launch.workspace_bytes == bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(launch.workspace) % 256 == 0);
      for (std::int64_t at = 0; at < bytes; ++at) {
        CHECK(start_of(launch)[at] == std::byte{0x5A});
        start_of(launch)[at] = std::byte{1};
      }
    });
    INFO(v.what);
    CHECK(v.result == outcome::pass);
  }
  const verdict none = judged(writing, 0, [](const assay_launch& launch) {
    CHECK(launch.workspace == nullptr);
    CHECK(launch.workspace_bytes == 0);
  });
  CHECK(none.result == outcome::pass);
}

TEST_CASE("a store beside the workspace is found") {
  for (const std::int64_t at : {-1, 100, 120}) {
    const verdict v = judged(writing, 100, [=](const assay_launch& launch) { start_of(launch)[at] = std::byte{1}; });
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "memory");
    CHECK(v.what == "workspace was written outside its memory, at byte " + std::to_string(at) + " of 100");
  }
}

TEST_CASE("a workspace of more than a call gets is a failure of the plan") {
  const verdict v = judged(writing, largest_workspace_bytes + 1, [](const assay_launch&) {});
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("plan() asks for a workspace of 4294967297 bytes beside the partials") != std::string::npos);
}

TEST_CASE("what outcome() says is the call's status") {
  assay_kernel refusing = writing;
  refusing.outcome = refuse;
  const verdict v = judged(refusing, 0, [](const assay_launch&) {});
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == refusal_origin);
  CHECK(v.what.find("row 7 is wrong") != std::string::npos);
  // It comes too late to discard a case.
  refusing.outcome = [](const problem*, const assay_tensor*, std::int32_t, const assay_launch*) {
    return assay_status{ASSAY_UNSUPPORTED, "these rows"};
  };
  const verdict late = judged(refusing, 0, [](const assay_launch&) {});
  CHECK(late.result == outcome::fail);
  CHECK(late.what == "outcome() says 'unsupported', which only plan() and run() may: these rows");
  // Where run() refuses, there is none.
  refusing.run = [](const problem*, const assay_tensor*, std::int32_t, const assay_launch*) {
    return assay_status{ASSAY_UNSUPPORTED, "too much"};
  };
  CHECK(judged(refusing, 0, [](const assay_launch&) {}).what.find("too much") != std::string::npos);
}

TEST_CASE("a library that knows no workspace and no outcome goes on") {
  struct old_kernel {
    const char* name;
    decltype(assay_kernel::plan) plan;
    decltype(assay_kernel::declare) declare;
    decltype(assay_kernel::run) run;
  };
  const old_kernel kernels[] = {{"mqa_logits", writing.plan, writing.declare, writing.run},
                                {"split_kv", writing.plan, writing.declare, writing.run}};
  assay_library table = ASSAY_LIBRARY("cpu", reinterpret_cast<const assay_kernel*>(kernels), 2);
  table.kernel_bytes = sizeof(old_kernel);
  table.launch_bytes = static_cast<std::int32_t>(offsetof(assay_launch, workspace));
  const library lib(&table, "old");
  CHECK(lib.kernels() == std::vector<std::string>{"mqa_logits", "split_kv"});
  CHECK_FALSE(lib.knows_workspace());
  CHECK(lib.find("split_kv")->outcome == nullptr);
  asked_bytes = planned_bytes;
  at_run = [](const assay_launch& launch) { CHECK(launch.workspace == nullptr); };
  const verdict v = run_case(lib, testing::small_case());
  INFO(v.what);
  CHECK(v.result == outcome::pass);
}

}  // namespace assay
