/// Each operation has its evaluations in one table.
#include "oracle/operations.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

namespace assay::oracle {

TEST_CASE("every operation has an exact evaluation and one of its contract", "[oracle]") {
  for (std::size_t i = 0; i < std::size(operation_names); ++i) {
    const auto kind = static_cast<operation_kind>(i);
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

}  // namespace assay::oracle
