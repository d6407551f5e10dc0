#include <map>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "properties/case/tensor_plan.hpp"
#include "properties/generate/choice.hpp"
#include "properties/generate/empty.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

const std::vector<std::string> prefill{"batch_prefill"};

/// Names of the edge classes that a case belongs to.
std::set<std::string> classes_of(const attention_case& c) {
  std::set<std::string> in;
  const auto add_if = [&in](bool is, const std::string& name) {
    if (is) in.insert(name);
  };
  const bool paged = c.kv_descale == descale_kind::per_page;
  for (const sequence& s : c.sequences) {
    const std::int64_t tiles = pages_for(s.k, 64);
    in.insert("tiles " + std::to_string(std::min<std::int64_t>(tiles, 4)));
    add_if(s.k % 64 == 0 && s.k > 0, "last tile full");
    add_if(s.k % 64 == 1, "last tile has one key");
    add_if(s.q >= 63 && s.q <= 65, "rows around a block");
    add_if(s.q > 65, "two blocks");
    add_if(s.q > 65 && s.k > 64, "two blocks, several tiles");
    add_if(s.q > 65 && s.k > 128 && c.causal, "two blocks, pipeline, causal");
    bool changes = false;  // of the descales that a tile and the one which takes its slot have
    for (std::int64_t tile = 0; paged && tile + 2 < tiles; ++tile)
      changes = changes || s.pages[static_cast<std::size_t>(tile * 64 / c.page_size)] !=
                               s.pages[static_cast<std::size_t>((tile + 2) * 64 / c.page_size)];
    add_if(changes && s.q > 0 && c.data.descale_ratio != 1, "descale changes in a slot");
    add_if(c.causal && s.q > s.k, "rows that see nothing");
    for (std::size_t i = 1; i < s.pages.size(); ++i) {
      const std::int64_t step = s.pages[i] - s.pages[i - 1];
      add_if(step == 0, "same page twice");
      add_if(step == 1 && s.pages[i] % 2 == 1, "consecutive, even first");
      add_if(step == 1 && s.pages[i] % 2 == 0, "consecutive, odd first");
      add_if(step == 2, "gap");
      add_if(step == -1, "backwards");
      add_if(paged && c.page_size / 64 * static_cast<std::int64_t>(i) % 2 == 0, "boundary at an even tile");
      add_if(paged && c.page_size / 64 * static_cast<std::int64_t>(i) % 2 == 1, "boundary at an odd tile");
    }
  }
  add_if(c.sequences.size() > 1, "several sequences");
  add_if(c.batching == q_batching::batch, "batch mode");
  add_if(paged, "paged");
  add_if(paged && c.page_size == 64, "paged 64");
  add_if(paged && c.page_size == 128, "paged 128");
  add_if(paged && c.page_size == 1024, "paged 1024");
  add_if(!paged, "page " + std::to_string(c.page_size));
  add_if(paged, "ratio " + std::to_string(static_cast<int>(c.data.descale_ratio * 100)));
  add_if(c.causal, "causal");
  add_if(c.soft_cap > 0, "soft cap");
  add_if(c.head_dim_qk != c.head_dim_v, "two head dims");
  add_if(c.q_type == dtype::e4m3fnuz, "fnuz");
  add_if(c.o_type == dtype::bf16, "bf16");
  add_if(!is_fp8(c.q_type), "16-bit");
  add_if(c.heads_q > c.heads_kv, "group");
  return in;
}

}  // namespace

TEST_CASE("cases of batch_prefill are what the kernel does", "[space]") {
  test::for_cases(
      2000,
      [](const attention_case& c) {
        INFO(to_json(c));
        REQUIRE(c.kernel == "batch_prefill");
        REQUIRE_NOTHROW(validate(c));
        REQUIRE(c.kv_type == c.q_type);
        REQUIRE((c.o_type == dtype::f16 || c.o_type == dtype::bf16));
        REQUIRE((c.q_type == c.o_type || c.q_type == dtype::e4m3fn || c.q_type == dtype::e4m3fnuz));
        for (const std::int32_t dim : {c.head_dim_qk, c.head_dim_v})
          REQUIRE((dim % 16 == 0 && dim >= 64 && dim <= 128));
        REQUIRE((c.window == 0 && c.bias_type == dtype::none && !c.sinks && c.num_splits <= 1));
        if (c.kv_descale == descale_kind::per_page) REQUIRE((c.page_size % 64 == 0 && is_fp8(c.kv_type)));
        if (c.kv_descale == descale_kind::per_tensor) REQUIRE(c.data.descale_ratio == 1);
      },
      prefill);
}

TEST_CASE("edges of batch_prefill are drawn often", "[space]") {
  constexpr int cases = 4000;
  int whole = 0;
  std::map<std::string, int> counts;
  test::for_cases(
      cases,
      [&](const attention_case& c) {
        attention_case copy = c;
        if (fill_in(copy) != empty_kind::none) return;  // without edges
        ++whole;
        for (const std::string& name : classes_of(c)) ++counts[name];
      },
      prefill);
  const auto check = [&](const std::string& name, double share) {
    INFO(name << ": " << counts[name] << " of " << cases);
    CHECK(counts[name] >= share * whole);
  };
  for (int tiles = 0; tiles <= 4; ++tiles) check("tiles " + std::to_string(tiles), 0.06);
  for (const char* name : {"last tile full", "last tile has one key", "several sequences", "paged", "causal", "group",
                           "fnuz", "bf16", "16-bit", "two head dims"})
    check(name, 0.1);
  for (const char* name :
       {"rows around a block", "two blocks", "rows that see nothing", "same page twice", "consecutive, even first",
        "consecutive, odd first", "gap", "backwards", "boundary at an even tile", "boundary at an odd tile",
        "batch mode", "paged 64", "paged 128", "paged 1024", "soft cap"})
    check(name, 0.05);
  check("descale changes in a slot", 0.1);
  check("two blocks, several tiles", 0.03);
  check("two blocks, pipeline, causal", 0.01);
  for (const int page : {1, 16, 64, 1024}) check("page " + std::to_string(page), 0.03);
  for (const int percent : {100, 110, 200, 1000, 100000}) check("ratio " + std::to_string(percent), 0.02);
}

TEST_CASE("pages beyond 2^31, 2^32 and 2^35 bytes have ids of 31 bits and a byte form, and runs that cross",
          "[space]") {
  space_limits limits;
  limits.high_pages = true;
  std::map<int, int> beyond;
  int crossing = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    rc::Random numbers(rc::Random::Key{12, i, 0, 0});
    random_source random([&numbers] { return numbers.next(); });
    attention_case c;
    walk(c, random, limits, prefill);
    REQUIRE(c.pool_pages < std::int64_t{1} << 31);
    byte_recorder recorder;
    attention_case again = c;
    walk(again, recorder, limits, prefill);
    INFO(to_json(c) << to_json(again));
    REQUIRE(again == c);
    const std::vector<std::uint8_t> bytes = recorder.take();
    byte_source decoder(bytes);
    attention_case decoded;
    walk(decoded, decoder, limits, prefill);
    REQUIRE(decoded == c);
    const std::int64_t page_bytes = std::int64_t{c.page_size} * c.heads_kv * c.head_dim_qk;
    for (const int power : {31, 32, 35}) {
      bool below = false, above = false;
      for (const sequence& s : c.sequences)
        for (const std::int64_t page : s.pages) {
          REQUIRE(page < c.pool_pages);
          (page * page_bytes >= std::int64_t{1} << power ? above : below) = true;
        }
      beyond[power] += above;
      crossing += above && below;
    }
  }
  for (const int power : {31, 32, 35}) CHECK(beyond[power] > 60);
  CHECK(crossing > 60);
}
