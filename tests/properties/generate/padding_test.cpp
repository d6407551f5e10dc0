// Rows behind the last sequence's: drawn, written down, and the first thing that shrinking removes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "properties/case/operation.hpp"
#include "properties/case/planning.hpp"
#include "properties/generate/shrink.hpp"
#include "tests/properties/data/decode.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

#include "properties/case/number.hpp"
#include "properties/data/recipe.hpp"

namespace assay {
namespace {

TEST_CASE("a few cases of attention have rows behind the last sequence's, none in batch mode", "[padding]") {
  std::int64_t cases = 0, padded = 0;
  test::for_cases(1500, [&](const attention_case& c) {
    REQUIRE_NOTHROW(validate(c));
    std::int64_t rows = c.padding_rows;
    for (const sequence& s : c.sequences) rows += s.q;
    REQUIRE(to_problem(c).total_q == rows);
    REQUIRE(batch_extents(c).total_q == rows);
    if (c.padding_rows > 0) REQUIRE(c.batching == q_batching::group);
    if (describe(c).kind != operation_kind::attention) REQUIRE(c.padding_rows == 0);
    cases += describe(c).kind == operation_kind::attention ? 1 : 0;
    padded += c.padding_rows > 0 ? 1 : 0;
    if (c.padding_rows > 0) REQUIRE(from_json(to_json(c), "").padding_rows == c.padding_rows);
  });
  CHECK(padded > cases / 40);
  CHECK(padded < cases / 4);
}

TEST_CASE("shrinking first takes the rows behind the last sequence's away, then some of them", "[padding]") {
  attention_case c;
  c.pool_pages = 1;
  c.padding_rows = 8;
  c.sequences = {{.q = 2, .k = 3, .prefix_offset = {}, .pages = {0}}};
  const std::vector<attention_case> steps = simpler(c);
  REQUIRE(steps.size() > 4);
  CHECK(steps[0].padding_rows == 0);
  CHECK(steps[1].padding_rows == 1);
  CHECK(steps[2].padding_rows == 4);
  CHECK(steps[3].padding_rows == 7);
}

TEST_CASE("the queries and bias of rows behind the last sequence's are poison", "[padding]") {
  for (const poison_kind poison : {poison_kind::nan, poison_kind::inf, poison_kind::huge, poison_kind::zero}) {
    attention_case c;
    c.pool_pages = 2;
    c.padding_rows = 2;
    c.heads_q = 2;
    c.bias_type = dtype::f32;
    c.q_order = q_layout::heads;
    c.input_margin = 3;
    c.data.poison = poison;
    c.sequences = {{.q = 2, .k = 3, .prefix_offset = {}, .pages = {1}}};
    const inputs in = fill(c);
    CHECK(in.stated.total_q == 4);
    const tensor &q = test::tensor_of(in, "q"), &bias = test::tensor_of(in, "bias");
    for (std::int64_t row = 0; row < 4; ++row)
      for (std::int64_t head = 0; head < 2; ++head) {
        for (std::int64_t d = 0; d < q.shape[2]; ++d)
          if (row >= 2) REQUIRE(test::bits_at(q, q.offset(row, head, d)) == poison_pattern(q.type, poison));
        for (std::int64_t key = 0; key < 3; ++key) {
          const bool is_poison = test::bits_at(bias, bias.offset(head, row, key)) == poison_pattern(dtype::f32, poison);
          REQUIRE(is_poison == (row >= 2));
        }
      }
  }
}

}  // namespace
}  // namespace assay
