#include "properties/run/features.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <utility>

#include "properties/generate/bytes.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/mutate.hpp"
#include "properties/run/reach.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

std::int64_t count_of(const feature_counts& counts, const std::string& name) {
  for (std::size_t i = 0; i < num_features; ++i)
    if (features()[i].name == name) return counts[i];
  FAIL("no feature " << name);
  return 0;
}

}  // namespace

TEST_CASE("features have names of their own and say what they count", "[features]") {
  std::set<std::string> names;
  for (const feature& f : features()) {
    CHECK(names.insert(f.name).second);
    CHECK(std::string(f.name).find(' ') == std::string::npos);
    CHECK(std::string(f.sentence).size() > 10);
  }
}

TEST_CASE("cases of the byte form's space reach every feature", "[features][long]") {
  std::array<int, num_features> runs_with{};
  int most = 0;
  const auto kernels = kernels_of_the_space();
  for (std::uint64_t i = 0; i < 4000 && most < static_cast<int>(num_features); ++i) {
    const attention_case c =
        nearest_encodable(test::arbitrary(i, static_cast<int>(i % 60), {kernels[i % kernels.size()]}));
    const feature_counts counts = count_features(c, run_in_detail(*library::built_in(), c));
    for (std::size_t f = 0; f < num_features; ++f)
      if (counts[f] > 0 && runs_with[f]++ == 0) ++most;
  }
  for (std::size_t f = 0; f < num_features; ++f) {
    INFO(features()[f].name);
    CHECK(runs_with[f] > 0);
  }
}

TEST_CASE("rows of two blocks are more than 64, though a wave of the kernel has 16", "[features]") {
  const library& lib = *library::built_in();
  if (!lib.has("batch_prefill")) SKIP("the library has no batch_prefill");
  for (const auto& [rows, blocks] : {std::pair{17, 0}, {64, 0}, {65, 1}, {130, 1}}) {
    attention_case c = from_json(R"({"version": 1, "kernel": "batch_prefill", "q_type": "e4m3fn", "kv_type": "e4m3fn",
        "num_splits": 1, "page_size": 64, "pool_pages": 1, "sequences": [{"q": 1, "k": 3, "pages": [0]}]})",
                                 "test");
    c.sequences.front().q = rows;
    const detailed_run run = run_in_detail(lib, c);
    INFO(rows << " rows");
    REQUIRE(run.result.result == outcome::pass);
    CHECK(count_of(count_features(c, run), "rows_of_two_blocks") == blocks);
    CHECK(((reached_by(c, run.ran) & reach_named("row_blocks")) != 0) == (blocks == 1));
  }
}

TEST_CASE("a case's features are those of its sizes and pages", "[features]") {
  const attention_case c = from_json(R"({"version": 1, "num_splits": 4, "page_size": 4, "pool_pages": 20,
      "causal": true, "sequences": [{"q": 2, "k": 17, "pages": [3, 3, 4, 2, 4]}, {"q": 1, "k": 16,
      "pages": [10, 3, 12, 13]}, {"q": 3, "k": 1, "pages": [0]}, {"q": 1, "k": 0, "pages": []}]})",
                                     "test");
  const detailed_run run = run_in_detail(*library::built_in(), c);
  REQUIRE(run.result.result == outcome::pass);
  const feature_counts counts = count_features(c, run);
  CHECK(count_of(counts, "tiles_none") == 1);
  CHECK(count_of(counts, "tiles_one") == 2);
  CHECK(count_of(counts, "tiles_two") == 1);
  CHECK(count_of(counts, "tiles_many") == 0);
  CHECK(count_of(counts, "splits_empty") == 2 + 3 + 3);
  CHECK(count_of(counts, "splits_filled") == 1);
  CHECK(count_of(counts, "page_same") == 1);
  CHECK(count_of(counts, "page_next") == 1 + 1);
  CHECK(count_of(counts, "page_previous") == 0);
  CHECK(count_of(counts, "page_gap") == 1);
  CHECK(count_of(counts, "page_far") == 1 + 2);
  CHECK(count_of(counts, "page_shared") == 1);
  CHECK(count_of(counts, "page_ends_in_tile") == 2);
  CHECK(count_of(counts, "keys_past_tile") == 2);
  CHECK(count_of(counts, "keys_at_tile") == 1);
  CHECK(count_of(counts, "rows_blind") == 2);  // of the third sequence, whose third row alone sees its key
  CHECK(count_of(counts, "lse_sees_nothing") == 3);
}

TEST_CASE("counts fall into libFuzzer's buckets", "[features]") {
  int before = 0;
  for (const std::int64_t least : {1, 2, 3, 4, 8, 16, 32, 128}) {
    CHECK(bucket_of(least) == before + 1);
    CHECK(bucket_of(least - 1) == before);
    before = bucket_of(least);
  }
  CHECK(bucket_of(1'000'000) == 8);
}
