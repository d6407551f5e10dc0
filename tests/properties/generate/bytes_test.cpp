#include "properties/generate/bytes.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/generate/mutate.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

TEST_CASE("every case of the space that is within the byte form's limits survives it", "[bytes]") {
  int as_they_are = 0;
  test::for_cases(3000, [&](const attention_case& c) {
    const attention_case near = nearest_encodable(c);
    INFO(to_json(near));
    REQUIRE(decode_case(encode_case(near)) == near);
    as_they_are += near == c ? 1 : 0;
  });
  CHECK(as_they_are > 1000);
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
        [&](const attention_case& drawn) {
          const attention_case c = nearest_encodable(drawn, one);
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
  attention_case c = nearest_encodable(test::arbitrary(5, 50));
  REQUIRE_NOTHROW(encode_case(c));
  SECTION("a scale that no choice makes") {
    c.scale = 0.123F;
  }
  SECTION("a context longer than the byte form has") {
    c = attention_case{};
    c.sequences = {{.q = 1, .k = byte_limits.max_k + 1, .prefix_offset = {}, .pages = {}}};
    for (std::int64_t page = 0; page * c.page_size < byte_limits.max_k + 1; ++page)
      c.sequences[0].pages.push_back(page);
    c.pool_pages = static_cast<std::int64_t>(c.sequences[0].pages.size());
    REQUIRE_NOTHROW(validate(c));
  }
  SECTION("an override") {
    c.data.overrides.push_back({"q", {0, 0, 0}, 1});
  }
  CHECK_THROWS_AS(encode_case(c), case_error);
}
