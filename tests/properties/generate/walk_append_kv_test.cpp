// The case space of append_kv: valid, encodable, and with all that the kernel has to do in it.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <set>
#include <string>

#include "properties/case/operation.hpp"
#include "properties/case/slots.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/choice.hpp"
#include "properties/generate/kernel_space.hpp"

using namespace assay;

namespace {

const std::vector<std::string> append_only = {"append_kv"};

attention_case drawn(std::uint64_t seed, const space_limits& limits = {}) {
  attention_case c;
  std::mt19937_64 random(seed);
  random_source source([&] { return random(); });
  walk(c, source, limits, append_only);
  return c;
}

/// What a case makes the kernel do, by name.
std::set<std::string> kinds_of(const attention_case& c) {
  std::set<std::string> kinds;
  const auto add = [&](bool has, const char* name) {
    if (has) kinds.insert(name);
  };
  add(c.rotary == rotary_kind::half, "rotary half");
  add(c.rotary == rotary_kind::interleaved, "rotary interleaved");
  add(c.kv_descale == descale_kind::per_page, "per page");
  add(c.layout == pool_layout::hnd, "hnd");
  add(c.pool_pages * c.page_size * c.heads_kv * c.head_dim_qk > std::int64_t{1} << 31, "far pages");
  constexpr std::int64_t far = std::int64_t{1} << 32;
  bool is_near = false, is_far = false;
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages) (page * c.page_size >= far ? is_far : is_near) = true;
  add(is_far, "slots past 2^32");
  add(is_far && is_near, "slots on both sides of 2^32");
  add(is_far && c.kv_descale == descale_kind::per_page, "slots past 2^32, per page");
  for (const sequence& s : c.sequences) {
    std::map<std::int64_t, int> rows_of_page;
    for (std::int64_t row = 0; row < s.q; ++row) {
      const std::int64_t slot = slot_of(c, s, row);
      add(slot < 0, "skipped");
      if (slot < 0) continue;
      add(slot % c.page_size == 0, "fresh page");
      add(++rows_of_page[slot / c.page_size] > 1, "rows share a page");
    }
    if (!rows_of_page.empty()) add(first_position(s) > 0 && first_position(s) % c.page_size != 0, "old keys in a page");
  }
  return kinds;
}

}  // namespace

TEST_CASE("cases of append_kv are valid, and do all that the kernel does", "[space]") {
  std::map<std::string, int> seen;
  constexpr int cases = 1500;
  for (int i = 0; i < cases; ++i) {
    const attention_case c = drawn(static_cast<std::uint64_t>(i));
    INFO(to_json(c));
    REQUIRE_NOTHROW(validate(c));
    for (const std::string& kind : kinds_of(c)) ++seen[kind];
  }
  for (const char* kind : {"rotary half", "rotary interleaved", "per page", "hnd", "far pages", "skipped", "fresh page",
                           "rows share a page", "old keys in a page"}) {
    INFO(kind << " in " << seen[kind] << " of " << cases);
    CHECK(20 * seen[kind] >= cases);
  }
  for (const char* kind : {"slots past 2^32", "slots on both sides of 2^32", "slots past 2^32, per page"}) {
    INFO(kind << " in " << seen[kind] << " of " << cases);
    CHECK(200 * seen[kind] >= cases);
  }
}

TEST_CASE("cases of append_kv have a byte form", "[space]") {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const attention_case c = drawn(i, byte_limits);
    INFO(to_json(c));
    CHECK(decode_case(encode_case(c, append_only), append_only) == c);
  }
}
