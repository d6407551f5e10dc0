/// Each operation has its evaluations in one table.
#include "oracle/operations.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "tests/oracle/append_setting.hpp"

namespace assay::oracle {

TEST_CASE("every operation has an exact evaluation and one of its contract", "[oracle]") {
  for (const operation_kind kind : {operation_kind::attention, operation_kind::mqa_logits, operation_kind::append_kv}) {
    const operation& o = operation_of(kind);
    CHECK(o.kind == kind);
    CHECK(o.enclose != nullptr);
    CHECK(o.evaluate_exactly != nullptr);
  }
}

TEST_CASE("an unknown operation is refused with its number", "[oracle]") {
  problem p;
  p.operation = static_cast<operation_kind>(77);
  p.num_splits = 1;
  const auto message_of = [](auto evaluate) -> std::string {
    try {
      evaluate();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return {};
  };
  CHECK(message_of([&] { enclose(p, {}, contract{}); }).find("77") != std::string::npos);
  CHECK(message_of([&] { evaluate_exactly(p, {}); }).find("77") != std::string::npos);
  CHECK(message_of([&] { evaluate_in_binary64(p, {}); }).find("77") != std::string::npos);
}

TEST_CASE("without an evaluation in binary64, MPFR's is taken", "[oracle][append]") {
  const testing::setting s = testing::make_append_setting({});
  const enclosure fast = evaluate_in_binary64(s.stated, s.tensors()), exact = evaluate_exactly(s.stated, s.tensors());
  REQUIRE(fast.tensors.size() == exact.tensors.size());
  for (std::size_t t = 0; t < fast.tensors.size(); ++t)
    for (std::size_t i = 0; i < fast.tensors[t].elements.size(); ++i) {
      CHECK(fast.tensors[t].elements[i].lo == exact.tensors[t].elements[i].lo);
      CHECK(fast.tensors[t].elements[i].hi == exact.tensors[t].elements[i].hi);
    }
}

}  // namespace assay::oracle
