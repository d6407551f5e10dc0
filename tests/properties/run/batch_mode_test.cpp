// Batch mode of split_kv: the rows of the sequences without cu_seqlens_q.
#include <catch2/catch_test_macros.hpp>

#include "properties/data/difference.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

TEST_CASE("split_kv gives the same bits in batch mode as in group mode", "[batch]") {
  for (const std::int32_t splits : {1, 2}) {
    attention_case c = testing::small_case();
    c.num_splits = splits;
    const detailed_run group = run_in_detail(*library::built_in(), c);
    c.batching = q_batching::batch;
    const detailed_run batch = run_in_detail(*library::built_in(), c);
    CAPTURE(splits, batch.result.what);
    CHECK(batch.result.result == outcome::pass);
    CHECK(find_buffer(batch.given.buffers, "cu_seqlens_q") == nullptr);
    CHECK_FALSE(first_difference(group.ran.written, batch.ran.written).has_value());
  }
}

TEST_CASE("cu_seqlens_q is not read in batch mode", "[batch]") {
  attention_case c = testing::small_case();
  inputs in = fill(c);
  const execution group = execute(*library::built_in(), c, in);
  in.stated.batching = c.batching = q_batching::batch;
  for (std::int64_t s = 0; s < 3; ++s) i32_at(in, "cu_seqlens_q", s) = -1;
  const execution batch = execute(*library::built_in(), c, in);
  CHECK_FALSE(verdict_of(batch).has_value());
  CHECK_FALSE(first_difference(group.written, batch.written).has_value());
}

TEST_CASE("some cases of split_kv are in batch mode, with several rows and several sequences", "[batch]") {
  int drawn = 0, telling = 0;
  test::for_cases(800,
                  [&](const attention_case& c) {
                    if (c.batching == q_batching::group) return;
                    ++drawn;
                    telling += c.sequences.size() > 1 && c.sequences.front().q > 1 ? 1 : 0;
                  },
                  {"split_kv"});
  CHECK(drawn > 20);
  CHECK(drawn < 200);
  CHECK(telling > 3);
}

}  // namespace
}  // namespace assay
