// What bad_problem_rejected says of a library that refuses too little.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/relations/expect_caught.hpp"

namespace assay::relations {
namespace {

using testing::call;
using testing::small_case;

TEST_CASE("bad_problem_rejected names one defect once", "[relations]") {
  // Neither function refuses the sign.
  const auto plan = [](const problem* p, std::int64_t budget, assay_plan* out) {
    return p->soft_cap < 0 ? assay_status{} : library::built_in()->find("split_kv")->plan(p, budget, out);
  };
  const auto run = [](const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
    return p->soft_cap < 0 ? assay_status{} : library::built_in()->find("split_kv")->run(p, tensors, count, launch);
  };
  static const assay_kernel kernel{"split_kv", plan, library::built_in()->find("split_kv")->declare, run, nullptr};
  static const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library unsigned_cap(&table, "unsigned cap");
  CHECK(bad_problem_rejected.check(unsigned_cap, small_case()).what ==
        "plan() and run() accepted soft_cap -1: status 0 ''");

  // It takes an offset of the whole pool and of two pages; then another one ends the process.
  // Not null itself, where UndefinedBehaviorSanitizer would end the process first, but in the page that is never
  // mapped.
  static int* volatile nowhere = reinterpret_cast<int*>(std::uintptr_t{64});  // NOLINT(performance-no-int-to-ptr)
  const auto odd = testing::faulty_library([](call& c) {
    const auto has_offset = [&](const char* name) { return c.has(name) && c.at(name).view.byte_offset == 8; };
    if (c.stated.num_pages == 2 && has_offset("v")) *nowhere = 1;
    return has_offset("k") ? assay_status{} : c.run();
  });
  CHECK(isolated_judge(*odd, bad_problem_rejected, 60)(small_case()).what ==
        "run() accepted k with an offset of four elements, not eight: status 0 ''; run() did not refuse v with an "
        "offset of four elements, not eight: a null pointer was written through");
}

TEST_CASE("bad_problem_rejected catches a library that leaves the refusal to outcome()", "[relations]") {
  const auto run = [](const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
    return p->soft_cap < 0 ? assay_status{} : library::built_in()->find("split_kv")->run(p, tensors, count, launch);
  };
  const auto outcome = [](const problem* p, const assay_tensor*, std::int32_t, const assay_launch*) {
    return p->soft_cap < 0 ? assay_status{ASSAY_REJECTED, "soft_cap is negative"} : assay_status{};
  };
  const assay_kernel& clean = *library::built_in()->find("split_kv");
  static const assay_kernel kernel{"split_kv", clean.plan, clean.declare, run, outcome};
  static const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library late(&table, "late");
  CHECK(bad_problem_rejected.check(late, small_case()).what == "run() accepted soft_cap -1: status 0 ''");
}

TEST_CASE("bad_problem_rejected catches a library that runs without a tensor") {
  expect_caught(bad_problem_rejected,
                testing::faulty_library([](call& c) { return c.has("lse") ? c.run() : assay_status{ASSAY_OK, {}}; }),
                "run() accepted a call without lse");
}

TEST_CASE("bad_problem_rejected catches a library that accepts a negative size") {
  expect_caught(bad_problem_rejected, testing::faulty_library([](call& c) {
                  return c.stated.num_seqs < 0 ? assay_status{ASSAY_OK, {}} : c.run();
                }),
                "run() accepted num_seqs -1");
}

TEST_CASE("bad_problem_rejected catches a library that takes a table too narrow for the longest sequence") {
  expect_caught(bad_problem_rejected, testing::faulty_library([](call& c) {
                  return c.stated.max_k > 1 << 20 ? assay_status{ASSAY_OK, {}} : c.run();
                }),
                "run() accepted max_k larger than the block table allows");
}

TEST_CASE("bad_problem_rejected catches a library that takes a scale of NaN") {
  expect_caught(bad_problem_rejected, testing::faulty_library([](call& c) {
                  return std::isnan(c.stated.v_scale) ? assay_status{ASSAY_OK, {}} : c.run();
                }),
                "run() accepted v_scale NaN");
}

TEST_CASE("bad_problem_rejected catches a library that gives no reason") {
  expect_caught(bad_problem_rejected, testing::faulty_library([](call& c) {
                  assay_status status = c.run();
                  if (status.code == ASSAY_REJECTED) status.message[0] = '\0';
                  return status;
                }),
                "run() accepted num_seqs -1: status 1 ''");
}

/// The built-in kernel, which gets the description of a tensor as it was before `mend` finds it broken.
void expect_break(const char* name, const std::function<bool(DLTensor&)>& is_broken, const std::string& message,
                  const attention_case& c = small_case()) {
  expect_caught(bad_problem_rejected, testing::faulty_library([=](call& one) {
                  return one.has(name) && is_broken(one.at(name).view) ? assay_status{ASSAY_OK, {}} : one.run();
                }),
                "run() accepted " + message, c);
}

TEST_CASE("bad_problem_rejected catches each kind of broken description of a tensor") {
  expect_break(
      "seqlens_k", [](DLTensor& t) { return t.strides != nullptr && t.strides[0] == 2; },
      "seqlens_k with a last stride of 2");
  expect_break("q", [](DLTensor& t) { return t.shape == nullptr; }, "q without a shape");
  expect_break("v", [](DLTensor& t) { return t.strides == nullptr; }, "v without strides");
  expect_break(
      "lse", [](DLTensor& t) { return t.strides != nullptr && t.strides[0] == 0; },
      "lse with a stride of 0 in dimension 0");
  expect_break(
      "o", [](DLTensor& t) { return t.strides != nullptr && t.strides[0] == 255; },
      "o with a stride at which elements overlap in dimension 0");
  expect_break("k", [](DLTensor& t) { return t.byte_offset == 8; }, "k with an offset of four elements, not eight");
  expect_break(
      "block_table", [](DLTensor& t) { return t.shape != nullptr && t.ndim == 2 && t.shape[1] == 2; },
      "block_table with a column too few for the longest sequence");
  expect_break(
      "o_partial", [](DLTensor& t) { return t.shape != nullptr && t.ndim == 4 && t.shape[2] == 5; },
      "o_partial with an extent that is too long by 1 in dimension 2");
  expect_break("q", [](DLTensor& t) { return t.device.device_type != kDLCPU; }, "q on a device of another kind");
}

TEST_CASE("bad_problem_rejected catches a table that is read past its end") {
  for (const std::int32_t operation : {3, -1, 99, std::numeric_limits<std::int32_t>::max()})
    expect_caught(bad_problem_rejected, testing::faulty_library([=](call& c) {
                    return static_cast<std::int32_t>(c.stated.operation) == operation ? assay_status{ASSAY_OK, {}}
                                                                                      : c.run();
                  }),
                  "run() accepted operation ");
}

TEST_CASE("bad_problem_rejected catches a library that launches before it rejects") {
  expect_caught(bad_problem_rejected, testing::faulty_library([](call& c) {
                  const assay_status status = c.run();
                  if (status.code == ASSAY_REJECTED && c.has("o")) set_bits(c.view("o"), 0, 0);
                  return status;
                }),
                "run() launched in spite of");
}

}  // namespace
}  // namespace assay::relations
