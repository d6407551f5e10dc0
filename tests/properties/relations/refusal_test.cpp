// What bad_problem_rejected says of a library that refuses too little.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

using relations::bad_problem_rejected;
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
  static const assay_kernel kernel{"split_kv", plan, library::built_in()->find("split_kv")->declare, run};
  static const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library unsigned_cap(&table, "unsigned cap");
  CHECK(bad_problem_rejected.check(unsigned_cap, small_case()).what ==
        "plan() and run() accepted soft_cap -1: status 0 ''");

  // It takes an offset of the whole pool and of two pages; then another one ends the process.
  // Not null itself, where UndefinedBehaviorSanitizer would end the process first, but in the page that is never mapped.
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

}  // namespace
}  // namespace assay
