// The cases of a run that are large by their number.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "properties/case/types.hpp"
#include "properties/generate/empty.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/turns.hpp"
#include "tests/properties/generate/whole_suite.hpp"

using namespace assay;

namespace {

constexpr std::int64_t default_cases = 2000;

std::int64_t usual_rows_of(const std::string& kernel) {
  return kernel == "split_kv" ? 40 : kernel == "batch_prefill" ? 130 : kernel == "append_kv" ? 1100 : 4;
}

std::set<large_kind> kinds_of(const std::string& kernel) {
  using enum large_kind;
  if (kernel == "mqa_logits") return {context, sequences};
  return {context, sequences, rows, heads};
}

}  // namespace

TEST_CASE("a default run has each kind of large case in each combination of types", "[large][long]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const suite_options options = testing::whole_suite(seed);
    std::map<std::tuple<std::string, std::string, large_kind>, int> counts;
    std::map<std::pair<std::string, std::string>, int> with_kv_heads, with_large_pages;
    int large = 0;
    for (std::int64_t index = 0; index < default_cases; ++index) {
      const attention_case c = suite_case(options, index);
      const auto is_long = [&](const sequence& each) { return each.k > 2048; };
      const bool has_large_page = c.page_size > 2048 && std::ranges::any_of(c.sequences, is_long);
      with_large_pages[{c.kernel, types_of(c)}] += has_large_page ? 1 : 0;
      const large_kind kind = large_kind_of(c, usual_rows_of(c.kernel));
      if (!kinds_of(c.kernel).contains(kind)) continue;
      ++large;
      ++counts[{c.kernel, types_of(c), kind}];
      with_kv_heads[{c.kernel, types_of(c)}] += kind == large_kind::heads && c.heads_kv > usual_kv_heads ? 1 : 0;
    }
    CHECK(large < default_cases / 7);
    for (const kernel_space* kernel : kernel_spaces())
      for (const std::string& types : types_of_the_space(*kernel))
        for (const large_kind kind : kinds_of(kernel->name)) {
          CAPTURE(seed, kernel->name, types, static_cast<int>(kind));
          CHECK(counts[{kernel->name, types, kind}] >= 1);
          if (kind == large_kind::heads) CHECK(with_kv_heads[{kernel->name, types}] >= 1);
          CHECK(with_large_pages[{kernel->name, types}] >= 1);
        }
  }
}

TEST_CASE("a default run has each kind of empty case of each kernel", "[empty][long]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const suite_options options = testing::whole_suite(seed);
    std::map<std::pair<std::string, empty_kind>, int> counts;
    for (std::int64_t index = 0; index < default_cases; ++index) {
      attention_case c = suite_case(options, index);
      ++counts[{c.kernel, fill_in(c)}];
    }
    for (const std::string& kernel : options.kernels)
      for (const empty_kind kind : {empty_kind::sequences, empty_kind::rows, empty_kind::keys}) {
        CAPTURE(seed, kernel, static_cast<int>(kind));
        CHECK(counts[{kernel, kind}] >= 2);
      }
  }
}

TEST_CASE("turns take the kernels and types that are wanted, of any number of properties", "[large]") {
  const std::vector<std::string> wanted{"f16"};
  for (const std::int64_t properties : {1, 2, 10, 21, 28, 29}) {
    // Each third property is about one kernel alone.
    std::vector<std::vector<std::string>> kernels;
    for (std::int64_t p = 0; p < properties; ++p)
      kernels.push_back(p % 3 == 2 ? std::vector<std::string>{"split_kv"}
                                   : std::vector<std::string>{"split_kv", "append_kv"});
    std::map<std::tuple<std::string, std::int32_t>, int> counts;
    std::set<std::int64_t> places;
    int turns = 0;
    for (std::int64_t index = 0; index < 2000; ++index) {
      if (turn_of(index, properties) != turn_kind::large) continue;
      const auto place = static_cast<std::size_t>(index % properties);
      const case_turn turn = way_of_turn(index, kernels, wanted);
      ++turns;
      places.insert(index % properties);
      CHECK(turn.types == "f16");
      CHECK(std::ranges::find(kernels[place], turn.kernel) != kernels[place].end());
      ++counts[{turn.kernel, turn.way % large_ways}];
    }
    CAPTURE(properties);
    CHECK(std::abs(turns - 182) < 20);
    CHECK(std::ssize(places) == properties);  // each property has large cases
    for (const std::string kernel : {"split_kv", "append_kv"})
      for (const std::int32_t kind : {0, 1, 2, 3}) CHECK(counts[{kernel, kind}] >= 20);
  }
}
