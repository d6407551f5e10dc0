#include "fuzz/case_bytes.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/generate/bytes.hpp"
#include "properties/generate/kernel_space.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;

namespace {

attention_case decoded(const fuzz::input_form& form, const std::vector<std::uint8_t>& input) {
  return decode_case(std::span(input).subspan(form.head_bytes), form.kernels);
}

}  // namespace

TEST_CASE("a case becomes bytes from which the target makes it again", "[fuzz]") {
  const attention_case c = testing::small_case();
  for (const fuzz::input_form& form : {fuzz::input_form{{"split_kv"}, 0}, {kernels_of_the_space(), 32}}) {
    const auto input = fuzz::input_of(form, to_json(c), "a.json");
    REQUIRE(input);
    CHECK(decoded(form, *input) == c);
  }
}

TEST_CASE("cases begin with different heads, each always with its own", "[fuzz]") {
  const fuzz::input_form form{{"split_kv"}, 32};
  attention_case c = testing::small_case();
  const auto first = *fuzz::input_of(form, to_json(c), "a.json");
  CHECK(fuzz::input_of(form, to_json(c), "a.json") == first);
  ++c.data.seed;
  const auto second = *fuzz::input_of(form, to_json(c), "a.json");
  CHECK_FALSE(std::equal(first.begin(), first.begin() + 32, second.begin()));
}

TEST_CASE("a target takes cases of its kernels, texts, or nothing", "[fuzz]") {
  const std::string text = to_json(testing::small_case());
  CHECK_FALSE(fuzz::input_of({{"mqa_logits"}, 0}, text, "a.json"));
  CHECK_FALSE(fuzz::input_of({}, text, "a.json"));
  CHECK(fuzz::input_of({{}, 0, true}, "no case", "a.json") ==
        std::vector<std::uint8_t>{'n', 'o', ' ', 'c', 'a', 's', 'e'});
  CHECK_THROWS_AS(fuzz::input_of({{"split_kv"}, 0}, "no case", "a.json"), case_error);
}
