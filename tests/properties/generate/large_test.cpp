// The large and cheap cases of the space.
#include "properties/generate/large.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <set>
#include <string>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/choice.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/shrink.hpp"

using namespace assay;

namespace {

attention_case drawn(std::uint64_t seed, const std::string& kernel) {
  attention_case c;
  std::mt19937_64 random(seed);
  random_source source([&] { return random(); });
  const std::vector<std::string> one{kernel};
  walk(c, source, {}, one);
  return c;
}

std::int64_t usual_rows_of(const std::string& kernel) {
  return kernel == "split_kv" ? 40 : kernel == "batch_prefill" ? 130 : kernel == "append_kv" ? 1100 : 4;
}

bool is_large(const attention_case& c) {
  const large_kind kind = large_kind_of(c, usual_rows_of(c.kernel));
  return kind != large_kind::none && (c.kernel != "mqa_logits" || kind != large_kind::heads);
}

std::set<std::string> extents_of(const attention_case& c) {
  std::set<std::string> in;
  const auto add_if = [&in](bool is, const std::string& name) {
    if (is) in.insert(name);
  };
  std::int64_t longest = 0, columns = 0;
  for (const sequence& s : c.sequences) {
    longest = std::max<std::int64_t>(longest, s.k);
    columns = std::max<std::int64_t>(columns, static_cast<std::int64_t>(s.pages.size()) + c.spare_table_entries);
    add_if(s.q >= 300, "300 rows");
    add_if(s.q >= 300 && s.k > 128, "300 rows on three tiles");
    add_if(s.q >= 1000, "1000 rows");
  }
  add_if(longest > 8200, "long context");
  add_if(longest > 65536, "more than 65536 keys");
  add_if(c.sequences.size() > 32, "more than 32 sequences");
  add_if(c.sequences.size() > 256, "more than 256 sequences");
  add_if(c.sequences.size() > 65536 && c.sequences.back().q > 0, "rows of a sequence beyond 65536");
  add_if(columns > 1 << 15, "wide table");
  add_if(c.window >= 200 && c.window <= 4000 && c.window < longest, "window of 200 to 4000");
  add_if(c.heads_kv > 8, "more than 8 kv heads");
  add_if(c.heads_kv == 64, "64 kv heads");
  in.insert("group " + std::to_string(c.heads_q / c.heads_kv));
  in.insert("page " + std::to_string(c.page_size));
  return in;
}

}  // namespace

TEST_CASE("a few percent of each kernel's cases are large, cheap, valid, and written down by a recorder", "[large]") {
  for (const std::string& kernel : kernels_of_the_space()) {
    const std::vector<std::string> one{kernel};
    constexpr int cases = 1500;
    int large = 0;
    for (std::uint64_t i = 0; i < cases; ++i) {
      const attention_case c = drawn(i, kernel);
      if (!is_large(c)) continue;
      ++large;
      INFO(to_json(c).substr(0, 2000));
      REQUIRE_NOTHROW(validate(c));
      REQUIRE(multiply_adds(c) <= 20'000'000);
      byte_recorder recorder;
      attention_case again = c;
      walk(again, recorder, {}, one);
      REQUIRE(again == c);
      const std::vector<std::uint8_t> bytes = recorder.take();
      byte_source decoder(bytes);
      attention_case decoded;
      walk(decoded, decoder, {}, one);
      REQUIRE(decoded == c);
      REQUIRE_THROWS_AS(encode_case(c, one), case_error);  // fuzzers stay small
    }
    INFO(kernel << ": " << large << " of " << cases);
    CHECK(large >= 0.02 * cases);
    CHECK(large <= 0.08 * cases);
  }
}

TEST_CASE("extents that users run are met in 20,000 cases of a kernel", "[large][long]") {
  const std::map<std::string, std::vector<std::string>> wanted{
      {"split_kv",
       {"300 rows",
        "300 rows on three tiles",
        "1000 rows",
        "long context",
        "more than 65536 keys",
        "more than 32 sequences",
        "more than 256 sequences",
        "rows of a sequence beyond 65536",
        "wide table",
        "window of 200 to 4000",
        "more than 8 kv heads",
        "64 kv heads",
        "group 6",
        "group 9",
        "group 12",
        "group 32",
        "group 71",
        "group 128",
        "page 2048",
        "page 4096"}},
      {"batch_prefill",
       {"300 rows", "300 rows on three tiles", "1000 rows", "long context", "more than 65536 keys",
        "more than 32 sequences", "more than 256 sequences", "rows of a sequence beyond 65536", "wide table",
        "more than 8 kv heads", "64 kv heads", "group 6", "group 9", "group 12", "group 32", "group 71", "group 128",
        "page 2048", "page 4096"}},
      {"mqa_logits",
       {"long context", "more than 65536 keys", "more than 32 sequences", "more than 256 sequences", "wide table",
        "page 2048", "page 4096"}},
      {"append_kv",
       {"long context", "more than 65536 keys", "more than 32 sequences", "more than 256 sequences",
        "rows of a sequence beyond 65536", "more than 8 kv heads", "64 kv heads", "page 4096"}},
  };
  for (const auto& [kernel, names] : wanted) {
    std::map<std::string, int> counts;
    for (std::uint64_t i = 0; i < 20'000; ++i)
      for (const std::string& name : extents_of(drawn(1'000'000 + i, kernel))) ++counts[name];
    for (const std::string& name : names) {
      INFO(kernel << ", " << name << ": " << counts[name] << " of 20000");
      CHECK(counts[name] >= 3);
    }
  }
}

TEST_CASE("large cases shrink to what a failure needs, within few steps", "[large][shrink]") {
  const auto descend = [](attention_case c, const auto& fails) {
    int steps = 0;
    for (bool moved = true; moved; ++steps) {
      moved = false;
      for (attention_case& candidate : simpler(c))
        if (fails(candidate)) {
          c = std::move(candidate);
          moved = true;
          break;
        }
      REQUIRE(steps < 400);
    }
    return c;
  };
  const auto keys = [](const attention_case& c) {
    std::int64_t most = 0;
    for (const sequence& s : c.sequences) most = std::max<std::int64_t>(most, s.k);
    return most;
  };
  attention_case from;
  from.head_dim_qk = from.head_dim_v = 64;
  for (std::int32_t s = 0; s < 300; ++s) from.sequences.push_back({1, s % 70, std::nullopt, {}});
  for (sequence& s : from.sequences)
    for (std::int64_t page = 0; page < pages_for(s.k, 16); ++page) s.pages.push_back(from.pool_pages++);
  CHECK(descend(from, [](const attention_case& c) { return c.sequences.size() > 256; }).sequences.size() == 257);
  const attention_case long_ninth =
      descend(from, [&](const attention_case& c) { return c.sequences.size() > 8 && keys(c) > 64; });
  CHECK(long_ninth.sequences.size() == 9);
  CHECK(keys(long_ninth) == 65);
  attention_case wide;
  wide.page_size = 1;
  wide.sequences = {{1, 70'000, std::nullopt, {}}};
  for (std::int64_t page = 0; page < 70'000; ++page) wide.sequences[0].pages.push_back(page);
  wide.pool_pages = 70'000;
  const attention_case narrow = descend(wide, [&](const attention_case& c) { return keys(c) > 65'536; });
  CHECK(keys(narrow) == 65'537);
  CHECK(narrow.page_size == 16);
}
