#include "properties/campaign/kinds.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::campaign {
namespace {

TEST_CASE("failures that differ in numbers only are of one kind") {
  const complaint one{"enclosure",
                      "lse_partial[1, 0, 0] = -4.413356781005859 lies outside [6.8, 6.9e+02] by factor "
                      "4.711e+06; 1 of 2 elements do"};
  const complaint other{"enclosure",
                        "lse_partial[0, 12, 3] = nan lies outside [-inf, 0x1f] by factor inf; 7 of 9 "
                        "elements do"};
  CHECK(kind_of(one) == "enclosure: lse_partial[N, N, N] = N lies outside [N, N] by factor N; N of N elements do");
  CHECK(kind_of(one) == kind_of(other));
  CHECK(name_of_kind(one) == name_of_kind(other));
}

TEST_CASE("another check, tensor or source line is another kind") {
  CHECK(kind_of({"enclosure", "o[1] = 2 lies outside"}) != kind_of({"enclosure", "lse[1] = 2 lies outside"}));
  CHECK(kind_of({"enclosure", "o[1]"}) != kind_of({"memory", "o[1]"}));
  CHECK(kind_of({"platform defect", "at barrier (x.hip:7)"}) != kind_of({"platform defect", "at barrier (x.hip:8)"}));
  CHECK(kind_of({"a", "types f16 and e4m3fn"}) != kind_of({"a", "types f32 and e4m3fn"}));
  CHECK(kind_of({"a", "info"}) != kind_of({"a", "nfo"}));
}

TEST_CASE("how a process ended does not make a kind: builds differ in it") {
  CHECK(kind_of({"crash", "deadly signal"}) == kind_of({"crash", "the target was killed"}));
  CHECK(kind_of({"hang", "timeout"}) != kind_of({"crash", "timeout"}));
}

TEST_CASE("the name of a kind is the name of a file") {
  const std::string name = name_of_kind({"platform defect/..", "x"});
  CHECK(name.starts_with("platform_defect___-"));
}

}  // namespace
}  // namespace assay::campaign
