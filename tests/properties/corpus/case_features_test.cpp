#include "properties/corpus/case_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "properties/run/features.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::corpus {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, "split_kv: " + name) != names.end();
}

TEST_CASE("a case shows its fields, its verdict, counted features and edges, each beginning with the kernel") {
  const auto lib = library::built_in();
  attention_case c = testing::small_case();
  const auto names = features_of(*lib, c);
  CHECK(has(names, "causal true"));
  CHECK(has(names, "kernel") == false);
  CHECK(has(names, "page_size 16"));
  CHECK(has(names, "types f16"));
  CHECK(has(names, "verdict pass "));
  CHECK(std::ranges::is_sorted(names));
  const auto edges = std::ranges::count_if(names, [](const std::string& n) { return n.find(": edge ") != n.npos; });
  CHECK(edges > 20);
  c.causal = false;
  const auto others = features_of(*lib, c);
  CHECK_FALSE(has(others, "causal true"));
  CHECK(others != names);
  CHECK(features_of(*lib, testing::small_case()) == names);  // what ran before does not show
}

TEST_CASE("an offset shows as given or not, and by its sign and size") {
  const auto lib = library::built_in();
  attention_case c = testing::small_case();
  CHECK(has(features_of(*lib, c), "prefix_offset none"));
  c.sequences[0].prefix_offset = -3;
  c.sequences[1].prefix_offset = 9;
  const auto names = features_of(*lib, c);
  CHECK_FALSE(has(names, "prefix_offset none"));
  CHECK(has(names, "prefix_offset negative"));
  CHECK(has(names, fmt::format("prefix_offset bucket {}", bucket_of(9))));
}

TEST_CASE("many cases give the same numbers on one process and on three, and survive one that crashes") {
  const auto crashing = testing::faulty_library([](testing::call& c) -> assay_status {
    if (c.stated.causal == 0) std::abort();
    return c.run();
  });
  std::vector<attention_case> cases(4, testing::small_case());
  cases[1].causal = false;
  cases[2].window = 9;
  feature_names names;
  feature_names again;
  const auto one = features_of(*crashing, cases, 1, 60, names);
  const auto three = features_of(*crashing, cases, 3, 60, again);
  CHECK(one == three);
  CHECK(one[0] == one[3]);
  CHECK(one[0] != one[2]);
  const auto name = [&](std::uint32_t f) { return names.name_of(f); };
  CHECK(std::ranges::count(one[1], "split_kv: ends its process: crash", name) == 1);
  CHECK(std::ranges::count(one[1], "split_kv: causal false", name) == 1);
}

}  // namespace
}  // namespace assay::corpus
