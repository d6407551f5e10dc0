#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "kernels/platform/cpu/hip/runtime_api.h"
#include "oracle/decode.hpp"
#include "properties/data/difference.hpp"
#include "tests/kernels/platform/cpu/source_pass/launched.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

using testing::call;
using testing::corrupting_library;
using testing::small_case;

void expect_failure(const std::shared_ptr<library>& lib, const std::string& origin, const std::string& part) {
  const verdict v = run_case(*lib, small_case());
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == origin);
  CHECK(v.what.find(part) != std::string::npos);
}

/// The f16 pattern after x in the direction away from zero.
std::uint32_t outward_f16(std::uint32_t bits) {
  return bits + 1;
}

TEST_CASE("the clean kernels pass") {
  const verdict v = run_case(*library::built_in(), small_case());
  CAPTURE(v.what);
  CHECK(v.result == outcome::pass);
  CHECK(v.judgements.size() == 4);
}

TEST_CASE("a NaN in the output fails") {
  expect_failure(corrupting_library([](call& c) { set_bits(c.view("o"), 5, 0x7E00); }), "enclosure",
                 "o[0, 0, 5] = nan");
}

TEST_CASE("a NaN in the LSE fails") {
  expect_failure(corrupting_library([](call& c) { set_bits(c.view("lse"), 1, 0x7FC00000); }), "enclosure", "lse[0, 1]");
}

TEST_CASE("a NaN in a split workspace fails") {
  expect_failure(corrupting_library([](call& c) { set_bits(c.view("o_partial"), 0, 0x7FC00000); }), "enclosure",
                 "o_partial[0, 0, 0, 0]");
}

TEST_CASE("a zero of the wrong sign fails, and so does a number where NaN is due") {
  attention_case c = small_case();
  c.sequences[0].k = 0;
  c.sequences[0].pages.clear();
  const auto minus_zero = corrupting_library([](call& called) { set_bits(called.view("o"), 3, 0x8000); });
  const verdict zero = run_case(*minus_zero, c);
  CHECK(zero.origin == "enclosure");
  CHECK(zero.what.find("o[0, 0, 3] is -0 where +0 is due; 1 of ") == 0);
  c = small_case();
  c.data.overrides = {{"q", {0, 0, 0}, 0x7E00}};
  CHECK(run_case(*library::built_in(), c).result == outcome::pass);
  const auto no_nan = corrupting_library([](call& called) { set_bits(called.view("o"), 3, 0x3C00); });
  const verdict lost = run_case(*no_nan, c);
  CHECK(lost.origin == "enclosure");
  CHECK(lost.what.find("o[0, 0, 3] = 1 where NaN is due; 1 of ") == 0);
}

TEST_CASE("an output one ulp outside its enclosure fails, and one at its end does not") {
  const detailed_run clean = run_in_detail(*library::built_in(), small_case());
  const oracle::interval e = clean.bounds.tensors.front().elements[7];
  REQUIRE(clean.bounds.tensors.front().name == "o");
  // The f16 code nearest to the far end, found by walking outward from the output itself.
  const tensor& o = find_buffer(clean.ran.written.buffers, "o")->view();
  std::uint32_t bits = bits_at(o, 7);
  const double end = std::fmax(std::fabs(e.lo), std::fabs(e.hi));
  const auto beyond = [&](std::uint32_t code) {
    // A tie at the end rounds to even, so half a spacing beyond it is still inside for some codes.
    const double middle =
        (std::fabs(oracle::decode(dtype::f16, code - 1)) + std::fabs(oracle::decode(dtype::f16, code))) / 2;
    return middle > end;
  };
  while (!beyond(outward_f16(bits))) bits = outward_f16(bits);
  const std::uint32_t inside = bits;
  CHECK(run_case(*corrupting_library([&](call& c) { set_bits(c.view("o"), 7, inside); }), small_case()).result ==
        outcome::pass);
  expect_failure(corrupting_library([&](call& c) { set_bits(c.view("o"), 7, outward_f16(inside)); }), "enclosure",
                 "o[0, 0, 7]");
}

TEST_CASE("an LSE in base 2 fails") {
  expect_failure(corrupting_library([](call& c) {
                   const tensor lse = c.view("lse");
                   for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] *= 1.44269504F;
                 }),
                 "enclosure", "lse[");
}

TEST_CASE("a key read from a wrong page fails") {
  expect_failure(testing::faulty_library([](call& c) {
                   const tensor table = c.view("block_table");
                   std::vector<std::int32_t> wrong(static_cast<std::int32_t*>(table.data),
                                                   static_cast<std::int32_t*>(table.data) + table.size());
                   std::swap(wrong[0], wrong[1]);
                   c.at("block_table").view.data = wrong.data();
                   return c.run();
                 }),
                 "enclosure", "lies outside");
}

TEST_CASE("two swapped heads fail") {
  expect_failure(corrupting_library([](call& c) {
                   const tensor o = c.view("o");
                   auto* data = static_cast<std::uint16_t*>(o.data);
                   for (std::int64_t d = 0; d < o.shape[2]; ++d)
                     std::swap(data[o.offset(0, 0, d)], data[o.offset(0, 1, d)]);
                 }),
                 "enclosure", "o[0, ");
}

TEST_CASE("a row that is not written fails") {
  expect_failure(corrupting_library([](call& c) {
                   const tensor o = c.view("o");
                   std::memset(static_cast<std::uint16_t*>(o.data) + o.offset(2), 0xFF,
                               static_cast<std::size_t>(o.stride[0] * 2));
                 }),
                 "enclosure", "o[2, 0, 0] = ");
}

TEST_CASE("a write past the end of an output fails") {
  expect_failure(corrupting_library([](call& c) {
                   const tensor lse = c.view("lse");
                   static_cast<float*>(lse.data)[lse.size()] = 0;
                 }),
                 "memory", "lse was written outside its memory, at byte 64 of 64");
}

TEST_CASE("a write before an output fails") {
  expect_failure(corrupting_library([](call& c) { static_cast<float*>(c.view("lse").data)[-1] = 0; }), "memory",
                 "lse was written outside its memory");
}

TEST_CASE("a changed input fails") {
  expect_failure(corrupting_library([](call& c) { *static_cast<char*>(c.view("k").data) ^= 1; }), "memory",
                 "input k was written, at byte 0");
}

TEST_CASE("a diverging barrier that the platform reports fails, even where the output is right") {
  expect_failure(corrupting_library([](call& c) {
                   const assay_defect defect{ASSAY_DIVERGENT_BARRIER, "split_kv", "waits at a.hip:1", {1, 2, 3}, 1, 17};
                   c.launch.on_defect(c.launch.context, &defect);
                 }),
                 "platform defect", "split_kv: waits at a.hip:1 (block 1,2,3 wave 1 lane 17)");
}

TEST_CASE("each kind of wrong access is an origin of its own, and a race comes before reads of what was not written") {
  const auto reporting = [](const std::vector<assay_defect_kind>& kinds) {
    return corrupting_library([kinds](call& c) {
      for (const assay_defect_kind kind : kinds) {
        const assay_defect defect{kind, "split_kv", "at a.hip:1", {0, 0, 0}, 0, 0};
        c.launch.on_defect(c.launch.context, &defect);
      }
    });
  };
  expect_failure(reporting({ASSAY_OUT_OF_BOUNDS}), "out of bounds", "split_kv: at a.hip:1");
  expect_failure(reporting({ASSAY_WILD_ACCESS}), "wild access", "at a.hip:1");
  expect_failure(reporting({ASSAY_UNWRITTEN_READ}), "unwritten read", "at a.hip:1");
  expect_failure(reporting({ASSAY_DATA_RACE}), "data race", "at a.hip:1");
  expect_failure(reporting({ASSAY_INPUT_STORE}), "input store", "at a.hip:1");
  expect_failure(reporting({ASSAY_MISALIGNED}), "misaligned access", "at a.hip:1");
  expect_failure(reporting({ASSAY_DEADLOCK}), "platform defect", "at a.hip:1");
  expect_failure(reporting({ASSAY_UNWRITTEN_READ, ASSAY_DATA_RACE}), "data race", "at a.hip:1");
  expect_failure(reporting({ASSAY_OUT_OF_BOUNDS, ASSAY_DATA_RACE}), "out of bounds", "at a.hip:1");
}

TEST_CASE("a failed launch fails") {
  expect_failure(testing::faulty_library([](call&) { return assay_status{ASSAY_FAILED, "no device"}; }), "launch",
                 "no device");
}

TEST_CASE("a rejected case is a failure, for it is valid") {
  const verdict v = run_case(*testing::refusing_library(ASSAY_REJECTED), small_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "refusal");
  CHECK(v.what == "rejected: planted refusal");
}

TEST_CASE("an unsupported case is a discard that says why") {
  const verdict v = run_case(*testing::refusing_library(ASSAY_UNSUPPORTED), small_case());
  CHECK(v.result == outcome::discard);
  CHECK(v.what == "unsupported: planted refusal");
}

TEST_CASE("kernels that run() launches without naming a launch are checked, under the case's launch") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  const auto lib = testing::faulty_library([](call& c) {
    const tensor v = c.view("v"), o = c.view("o");
    launched::run_copy_element(static_cast<unsigned short*>(o.data), static_cast<const unsigned short*>(v.data), -1, 0);
    hipDeviceProp_t device;
    return hipGetDeviceProperties(&device, 0) == hipSuccess && device.warpSize == c.launch.wave_size
               ? assay_status{}
               : assay_status{ASSAY_FAILED, "another wave size"};
  });
  for (const std::int32_t wave_size : {32, 64}) {
    attention_case c = small_case();
    c.schedule.wave_size = wave_size;
    const verdict v = run_case(*lib, c);
    CAPTURE(v.what);
    CHECK(v.origin == "out of bounds");
    CHECK(v.what.find("v, 2 bytes before its start") != std::string::npos);
    CHECK(v.accesses_checked > 0);
  }
}

TEST_CASE("host code that throws since its launch failed leaves the defect as the failure") {
  const auto lib = testing::faulty_library([](call& c) -> assay_status {
    const assay_defect defect{ASSAY_OUT_OF_BOUNDS, "kernel", "load behind the end of mask", {0, 0, 0}, 0, 0};
    if (c.stated.num_seqs > 1) c.launch.on_defect(c.launch.context, &defect);
    throw std::runtime_error("CUDA error");
  });
  attention_case c = small_case();
  const verdict v = run_case(*lib, c);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "out of bounds");
  CHECK(v.what.find("load behind the end of mask") != std::string::npos);
  c.sequences.resize(1);
  CHECK_THROWS_AS(run_case(*lib, c), std::runtime_error);

  const auto of_own_type = testing::faulty_library([](call& one) -> assay_status {
    const assay_defect defect{ASSAY_OUT_OF_BOUNDS, "kernel", "load behind the end of mask", {0, 0, 0}, 0, 0};
    one.launch.on_defect(one.launch.context, &defect);
    throw 7;
  });
  CHECK(run_case(*of_own_type, small_case()).origin == "out of bounds");
}

TEST_CASE("a kernel that the library does not have is a discard") {
  attention_case c = small_case();
  c.kernel = "no_such_kernel";
  CHECK(run_case(*library::built_in(), c).result == outcome::discard);
}

}  // namespace
}  // namespace assay
