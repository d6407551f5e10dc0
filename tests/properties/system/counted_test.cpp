// Numbers with their nouns.
#include "properties/system/counted.hpp"

#include <catch2/catch_test_macros.hpp>

TEST_CASE("a number has its noun in the right form") {
  CHECK(assay::counted(1, "key") == "1 key");
  CHECK(assay::counted(64, "key") == "64 keys");
  CHECK(assay::counted(0, "query") == "0 queries");
  CHECK(assay::counted(2, "case") == "2 cases");
}
