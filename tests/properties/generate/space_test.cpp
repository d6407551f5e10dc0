#include "properties/generate/space.hpp"

#include <limits>
#include <map>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "properties/case/tensor_plan.hpp"
#include "properties/generate/choice.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

/// Names of the edge classes that a case belongs to.
std::set<std::string> classes_of(const attention_case& c) {
  std::set<std::string> in;
  const auto add_if = [&in](bool is, const std::string& name) {
    if (is) in.insert(name);
  };
  std::set<std::int64_t> used;
  std::int64_t most_k = 0;
  for (const sequence& s : c.sequences) {
    most_k = std::max<std::int64_t>(most_k, s.k);
    add_if(s.k == 0, "no key");
    add_if(s.k == 1, "one key");
    add_if(s.q == 0, "no row");
    add_if(s.q > s.k, "more rows than keys");
    add_if(s.k > 64, "several tiles");
    add_if(s.k >= 63 && s.k <= 65, "keys around a tile");
    add_if(s.k > 0 && s.k % c.page_size == 0, "last page full");
    add_if(s.k % c.page_size == 1 && c.page_size > 1, "last page has one key");
    add_if(s.prefix_offset && *s.prefix_offset < 0, "negative prefix");
    add_if(s.prefix_offset && *s.prefix_offset > s.k, "prefix beyond the keys");
    add_if(s.prefix_offset == std::numeric_limits<std::int32_t>::max() && s.q > 0, "position beyond 32 bits");
    for (const std::int64_t page : s.pages) add_if(!used.insert(page).second, "shared page");
  }
  add_if(c.num_splits > pages_for(most_k, 64) && c.num_splits > 1, "more splits than tiles");
  add_if(c.num_splits > 1 && most_k > 128, "splits over several tiles");
  add_if(c.num_splits > 64 && most_k > 64 * c.num_splits - 64, "more than 64 splits, all with keys");
  add_if(static_cast<std::int64_t>(used.size()) < c.pool_pages, "unreferenced page");
  add_if(c.sequences.size() > 1, "several sequences");
  in.insert("q " + std::to_string(static_cast<int>(c.q_type)) + " kv " + std::to_string(static_cast<int>(c.kv_type)));
  in.insert("group " + std::to_string(c.heads_q / c.heads_kv));
  in.insert("page " + std::to_string(c.page_size));
  in.insert("fill " + std::to_string(static_cast<int>(c.data.fill)));
  in.insert("poison " + std::to_string(static_cast<int>(c.data.poison)));
  in.insert("schedule " + std::to_string(static_cast<int>(c.schedule.kind)));
  in.insert("wave " + std::to_string(c.schedule.wave_size));
  add_if(c.causal, "causal");
  add_if(c.window > 0, "window");
  add_if(c.soft_cap > 0, "soft cap");
  add_if(c.bias_type != dtype::none, "bias");
  add_if(c.sinks, "sinks");
  add_if(c.layout == pool_layout::hnd, "hnd");
  add_if(c.q_order == q_layout::transposed, "transposed q");
  add_if(c.page_table == page_table_kind::page_list, "page list");
  add_if(c.head_dim_qk != c.head_dim_v, "two head dims");
  add_if(c.head_dim_qk % 16 == 8, "head dim no multiple of 16");
  return in;
}

}  // namespace

TEST_CASE("every walk ends in a valid case: nothing is discarded", "[space]") {
  test::for_cases(3000, [](const attention_case& c) { REQUIRE_NOTHROW(validate(c)); });
}

TEST_CASE("edges of split_kv are drawn often", "[space]") {
  constexpr int cases = 4000;
  std::map<std::string, int> counts;
  test::for_cases(cases,
                  [&](const attention_case& c) {
                    for (const std::string& name : classes_of(c)) ++counts[name];
                  },
                  {"split_kv"});
  const auto check = [&](const std::string& name, double share) {
    INFO(name << ": " << counts[name] << " of " << cases);
    CHECK(counts[name] >= share * cases);
  };
  for (const char* name : {"no key", "one key", "more rows than keys", "keys around a tile", "last page full",
                           "last page has one key", "shared page", "unreferenced page", "causal", "window",
                           "more splits than tiles", "splits over several tiles", "two head dims", "several tiles"})
    check(name, 0.08);
  for (const char* name : {"no row", "negative prefix", "prefix beyond the keys", "soft cap", "bias", "sinks", "hnd",
                           "transposed q", "page list", "head dim no multiple of 16"})
    check(name, 0.04);
  for (const int page : {1, 16, 64, 128, 256, 1024}) check("page " + std::to_string(page), 0.04);
  for (const int group : {1, 3, 7, 8, 16}) check("group " + std::to_string(group), 0.02);
  for (int fill = 0; fill <= 10; ++fill) check("fill " + std::to_string(fill), 0.03);
  for (int i = 0; i < 4; ++i) check("poison " + std::to_string(i), 0.05);
  for (int i = 0; i < 4; ++i) check("schedule " + std::to_string(i), 0.08);
  check("wave 32", 0.4);
  check("position beyond 32 bits", 0.01);
  check("more than 64 splits, all with keys", 0.0005);  // at most a handful fit into a run's time
  const int f16 = static_cast<int>(dtype::f16), bf16 = static_cast<int>(dtype::bf16);
  for (const int q : {f16, bf16})
    for (const int kv : {q, static_cast<int>(dtype::e4m3fn), static_cast<int>(dtype::e4m3fnuz)})
      check("q " + std::to_string(q) + " kv " + std::to_string(kv), 0.03);
  check("q " + std::to_string(static_cast<int>(dtype::i8)) + " kv " + std::to_string(static_cast<int>(dtype::i8)), 0.1);
}

TEST_CASE("cases are cheap: two million multiply-adds on average, never more than twenty", "[space]") {
  std::int64_t total = 0;
  constexpr int cases = 3000;
  test::for_cases(cases, [&](const attention_case& c) {
    REQUIRE(multiply_adds(c) <= 20'000'000);
    total += multiply_adds(c);
  });
  CHECK(total / cases <= 2'000'000);
  CHECK(total / cases >= 50'000);
}

TEST_CASE("the tiny space can be tried whole and holds every shape and mask", "[space]") {
  // One sequence here; two sequences multiply.
  space_limits limits = tiny_space;
  limits.max_sequences = 1;
  exhaustive_source source;
  const std::vector<std::string> split_kv{"split_kv"};
  std::set<std::string> seen;
  std::set<std::tuple<int, int, bool, int, int>> shapes;
  std::int64_t walks = 0;
  do {
    attention_case c;
    walk(c, source, limits, split_kv);
    ++walks;
    const sequence& s = c.sequences.front();
    shapes.insert({s.q, s.k, c.causal, c.num_splits, s.prefix_offset ? 1 : 0});
    if (walks % 16 == 0) REQUIRE_NOTHROW(validate(c));
    if (walks % 16 == 0) REQUIRE(seen.insert(to_json(c)).second);
  } while (source.next());
  // 3 row counts, 6 key counts, causal or not, 0 to 3 splits, with and without offset.
  CHECK(shapes.size() == 3 * 6 * 2 * 4 * 2);
}
