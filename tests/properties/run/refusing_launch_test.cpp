// A launch of the kit that refuses what its author checks, with the tensors of a case.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "kernels/host/attention_library.hpp"
#include "kernels/platform/cpu/hip/runtime_api.h"
#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;

namespace {

constexpr assay_support takes_all = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  return s;
}();
assay_status refusing_launch(const problem&, const attention_tensors& t) {
  return t.k.stride[0] == t.v.stride[0] ? assay_status{} : refuse(ASSAY_UNSUPPORTED, "V has strides of its own");
}
contract no_declaration(const problem&) {
  return {};
}

}  // namespace

TEST_CASE("the launch of an attention library may refuse what its author checks", "[run]") {
  using kit = attention_library<takes_all, no_declaration, refusing_launch>;
  const auto lib = testing::faulty_library([](testing::call& c) {
    const auto run = [&] {
      return kit::run(&c.stated, c.tensors.data(), static_cast<std::int32_t>(c.tensors.size()), &c.launch);
    };
    CHECK(run().code == ASSAY_OK);
    std::vector<std::int64_t> strides(c.at("v").view.strides, c.at("v").view.strides + 4);
    strides[0] *= 2;
    c.at("v").view.strides = strides.data();
    const assay_status status = run();
    CHECK(status.code == ASSAY_UNSUPPORTED);
    CHECK(std::string(status.message) == "V has strides of its own");
    return status;
  });
  CHECK(run_case(*lib, testing::small_case()).result == outcome::discard);
}

namespace {

/// A launch that fails and does not look: the platform remembers the error.
void failing_launch(const problem&, const attention_tensors&) {
  int nothing_of_hip_malloc = 0;
  static_cast<void>(hipFree(&nothing_of_hip_malloc));
}

}  // namespace

TEST_CASE("an error that the launch of an attention library does not ask for fails the call", "[run]") {
  using kit = attention_library<takes_all, no_declaration, failing_launch>;
  const auto lib = testing::faulty_library([](testing::call& c) {
    return kit::run(&c.stated, c.tensors.data(), static_cast<std::int32_t>(c.tensors.size()), &c.launch);
  });
  const verdict v = run_case(*lib, testing::small_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("the kernel: invalid") != std::string::npos);
}
