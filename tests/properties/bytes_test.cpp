#include "properties/bytes.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/properties/arbitrary.hpp"

using namespace assay;

TEST_CASE("every case of the space survives the byte form", "[bytes]") {
  test::for_cases(3000, [](const attention_case& c) { REQUIRE(decode_case(encode_case(c)) == c); });
}

TEST_CASE("any bytes are some valid case, and its bytes are the case again", "[bytes]") {
  rc::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(random.next() % 400));
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random.next());
    const attention_case c = decode_case(bytes);
    INFO(to_json(c));
    REQUIRE_NOTHROW(validate(c));
    REQUIRE(decode_case(encode_case(c)) == c);
  }
}

TEST_CASE("a fuzzer of one kernel decodes its cases alone, and without a byte for the choice", "[bytes]") {
  for (const std::string& kernel : kernels_of_the_space()) {
    const std::vector<std::string> one{kernel};
    test::for_cases(
        300,
        [&](const attention_case& c) {
          REQUIRE(c.kernel == kernel);
          REQUIRE(decode_case(encode_case(c, one), one) == c);
          REQUIRE(encode_case(c, one).size() < encode_case(c).size());
        },
        one);
  }
}

TEST_CASE("no bytes are the smallest case", "[bytes]") {
  const attention_case c = decode_case({});
  REQUIRE(c.sequences.size() == 1);
  CHECK(c.sequences[0].q == 1);
  CHECK(c.sequences[0].k == 0);
  CHECK(c.num_splits == 1);
}

TEST_CASE("a case outside the space has no byte form", "[bytes]") {
  attention_case c = test::arbitrary(5, 50);
  SECTION("a scale that no choice makes") {
    c.scale = 0.123F;
  }
  SECTION("an override") {
    c.data.overrides.push_back({"q", {0, 0, 0}, 1});
  }
  CHECK_THROWS_AS(encode_case(c), case_error);
}
