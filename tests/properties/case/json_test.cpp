#include <bit>
#include <cmath>
#include <limits>

#include <rapidcheck.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

std::string error_of(const std::string& text) {
  try {
    from_json(text, "a.json");
  } catch (const case_error& e) {
    return e.what();
  }
  return "accepted";
}

/// A case with one sequence, with more fields spliced in.
std::string with(const std::string& fields) {
  return R"({"version": 1, "pool_pages": 64, )" + fields + R"("sequences": [{"k": 3, "pages": [5]}]})";
}

bool round_trips(const attention_case& c) {
  return from_json(to_json(c), "test") == c;
}

}  // namespace

TEST_CASE("decode(encode(c)) == c for every case of the space", "[json]") {
  test::for_cases(2000, [](const attention_case& c) { REQUIRE(round_trips(c)); });
}

TEST_CASE("decode(encode(c)) == c for any float, seed and text", "[json]") {
  attention_case c;
  c.pool_pages = 9;
  c.sequences = {{1, 3, std::nullopt, {4}}};
  const bool holds = rc::check([&](std::uint32_t bits, std::uint64_t seed, const std::string& why) {
    const float value = std::bit_cast<float>(bits);
    RC_PRE(std::isfinite(value));
    c.scale = value;
    c.data.seed = seed;
    c.why = why;
    // JSON holds text, not bytes: what is no UTF-8 is refused, never mangled.
    for (char& ch : c.why) ch = static_cast<char>(ch & 0x7F);
    const attention_case read = from_json(to_json(c), "test");
    RC_ASSERT(read == c);
    RC_ASSERT(std::bit_cast<std::uint32_t>(read.scale) == bits);
  });
  CHECK(holds);
  for (const float value :
       {-0.0F, 1e-45F, std::numeric_limits<float>::max(), std::numeric_limits<float>::min(), 0.1F}) {
    c.scale = value;
    const attention_case read = from_json(to_json(c), "test");
    CHECK(std::bit_cast<std::uint32_t>(read.scale) == std::bit_cast<std::uint32_t>(value));
  }
  c.data.seed = std::numeric_limits<std::uint64_t>::max();
  c.data.overrides = {{"q", {0, 0, 3}, 0x7E00}};
  CHECK(round_trips(c));
}

TEST_CASE("per-page descales and batch mode have names in the JSON form", "[json]") {
  attention_case c;
  c.kernel = "batch_prefill";
  c.q_type = c.kv_type = dtype::e4m3fn;
  c.page_size = 64;
  c.pool_pages = 2;
  c.batching = q_batching::batch;
  c.kv_descale = descale_kind::per_page;
  c.sequences = {{1, 70, std::nullopt, {1, 0}}};
  c.data.descale_ratio = 1.02F;
  c.data.overrides = {{"v_descale", {1, 0}, 0x3F000000}};
  CHECK(round_trips(c));
  const std::string text = to_json(c);
  for (const char* part : {R"("batching": "batch")", R"("kv_descale": "per_page")", R"("descale_ratio": 1.02)"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(error_of(with(R"("kv_descale": "per_head", )")) ==
        "a.json: kv_descale: 'per_head' is not one of per_tensor, per_page");
}

TEST_CASE("the JSON form writes what differs from the default, lists of numbers on one line", "[json]") {
  attention_case c;
  c.why = "an example";
  c.pool_pages = 5000;
  c.sequences = {{1, 20, std::nullopt, {4096, 4097}}};
  CHECK(to_json(c) == R"({
  "version": 1,
  "why": "an example",
  "pool_pages": 5000,
  "sequences": [
    {"k": 20, "pages": [4096, 4097]}
  ]
}
)");
}

TEST_CASE("bad input is one line that names file and field", "[json]") {
  const std::pair<std::string, std::string> errors[] = {
      {R"({"version": 1, "pool_pages": 64, "sequences": [{"k": 0}, {"k": 1, "pages": [99]}]})",
       "a.json: sequences[1].pages[0]: page id 99 is outside the pool of 64 pages"},
      {with(R"("colour": 1, )"), "a.json: colour: unknown field"},
      {R"({"version": 1, "sequences": [{"length": 1}]})", "a.json: sequences[0].length: unknown field"},
      {with(R"("heads_q": "two", )"), "a.json: heads_q: must be an integer"},
      {with(R"("heads_q": 1.5, )"), "a.json: heads_q: must be an integer"},
      {with(R"("heads_q": null, )"), "a.json: heads_q: must be an integer"},
      {with(R"("heads_q": 3000000000, )"), "a.json: heads_q: 3000000000 is not in [-2147483648, 2147483647]"},
      {with(R"("heads_q": -1, )"), "a.json: heads_q: -1 is not in [1, 1024]"},
      {with(R"("heads_q": 3, "heads_kv": 2, )"), "a.json: heads_kv: 2 does not divide heads_q 3"},
      {with(R"("data": {"seed": -1}, )"), "a.json: data.seed: -1 is not in [0, 18446744073709551615]"},
      {with(R"("causal": 1, )"), "a.json: causal: must be true or false"},
      {with(R"("scale": 1e39, )"), "a.json: scale: must be finite as a float"},
      {with(R"("why": 3, )"), "a.json: why: must be a string"},
      {with(R"("q_type": "f15", )"),
       "a.json: q_type: 'f15' is not one of none, f32, f16, bf16, e4m3fn, e4m3fnuz, i8, i32, i64, e5m2, "
       "e5m2fnuz"},
      {with(R"("q_type": "f16\u0000", )"),
       "a.json: q_type: 'f16\\u0000' is not one of none, f32, f16, bf16, e4m3fn, e4m3fnuz, i8, i32, i64, e5m2, "
       "e5m2fnuz"},
      {with(R"("causal": true, "causal": false, )"), "a.json: 1:57: field 'causal' is given twice"},
      {R"({"sequences": []})", "a.json: version: missing"},
      {R"({"version": 2})", "a.json: version: 2 is unknown; this program reads version 1"},
      {R"({"version": "1"})", "a.json: version: \"1\" is unknown; this program reads version 1"},
      {R"({"version": 1, "sequences": 5})", "a.json: sequences: must be a list"},
      {"[1, 2]", "a.json: a case is a JSON object"},
      {with("") + "\n x", "a.json: 2:2: text after the end of the case"},
      {"{\n  \"version\": 1,\n  oops}", "a.json: 3:3: syntax error"},
      {"", "a.json: 1:1: incomplete JSON"},
  };
  for (const auto& [text, error] : errors) CHECK(error_of(text) == error);
}

TEST_CASE("NaN and infinity are no scales", "[json]") {
  for (const char* value : {"NaN", "Infinity", "-Infinity", "1e999"})
    CHECK(error_of(with(R"("scale": )" + std::string(value) + ", ")) != "accepted");
}

TEST_CASE("hostile text neither crashes nor passes", "[json]") {
  CHECK(error_of(std::string(1'000'000, '[')) == "a.json: 1:17: too deep");
  std::string nested = "{\"version\": 1, \"data\": ";
  for (int i = 0; i < 100'000; ++i) nested += "{\"data\": ";
  CHECK(error_of(nested).find("too deep") != std::string::npos);

  const std::string good = to_json(test::arbitrary(40, 60));
  rc::Random random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int edits = 0; edits < 3; ++edits) {
      const std::size_t at = random.next() % text.size();
      switch (random.next() % 3) {
        case 0: text.erase(at, random.next() % 20); break;
        case 1: text[at] = static_cast<char>(random.next()); break;
        default: text.insert(at, good.substr(random.next() % good.size(), random.next() % 30));
      }
      if (text.empty()) text = "{";
    }
    const std::string error = error_of(text);
    CHECK(error.find('\n') == std::string::npos);
  }
}
