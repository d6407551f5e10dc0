#include "properties/generate/fit.hpp"

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstring>
#include <random>
#include <set>

#include "kernels/unsupported.hpp"
#include "properties/case/types.hpp"
#include "properties/generate/coverage.hpp"
#include "properties/generate/fit_pages.hpp"
#include "properties/generate/shrink.hpp"
#include "properties/generate/support_table.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

/// Decoding only, as in many libraries: f16 or bf16, head dim 128, pages of 16 keys, groups of 1, 4 and 8.
assay_support decode_only() {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16};
  s.head_dims.values[0] = 128;
  s.page_sizes.values[0] = 16;
  s.group_sizes = {{1, 4, 8}, 0, 0, 0};
  s.most_rows = 1;
  s.most_keys = 3000;
  s.input_alignment = s.output_alignment = 8;
  s.no_noncausal = s.no_window = s.no_prefix_offset = s.no_sinks = 1;
  s.no_bias_f32 = s.no_bias_f16 = s.no_bias_bf16 = 1;
  s.no_page_list = s.no_split_count = s.no_lse = s.no_partials = 1;
  return s;
}

/// Any support: each field is restricted by chance, each size and extent by any number of its own.
assay_support any_support(std::mt19937_64& random) {
  assay_support s{};
  s.size_bytes = sizeof s;
  const auto one_in = [&](std::uint64_t n) { return random() % n == 0; };
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  const std::uint64_t rarity = 2 + random() % 12;
  if (one_in(2))
    for (int i = 0, n = 1 + below(4); i < n; ++i) {
      static constexpr std::int32_t types[] = {1, 2, 3, 4, 5, 6};
      s.types[i] = {types[below(6)], types[below(6)], types[below(6)]};
      if (one_in(2)) s.types[i] = {2, 2, 2};
    }
  for (assay_sizes* sizes : {&s.head_dims, &s.head_dims_v, &s.page_sizes, &s.group_sizes}) {
    if (one_in(2)) continue;
    static constexpr std::int32_t values[] = {1, 2, 3, 8, 16, 17, 40, 64, 80, 96, 128, 256, 512, 576, 1024};
    if (one_in(2)) {
      for (int i = 0, n = 1 + below(4); i < n; ++i) sizes->values[i] = values[below(std::size(values))];
    } else {
      sizes->least = one_in(2) ? values[below(std::size(values))] : 0;
      sizes->most = one_in(2) ? sizes->least + values[below(std::size(values))] : 0;
      sizes->multiple_of = one_in(2) ? values[below(7)] : 0;
    }
  }
  for (std::int64_t* most : {&s.most_sequences, &s.most_rows, &s.most_total_rows, &s.most_keys, &s.most_heads_q,
                             &s.most_heads_kv, &s.most_splits, &s.most_columns})
    if (one_in(3)) *most = 1 + below(one_in(2) ? 4 : 400);
  if (one_in(4)) s.most_pages = 1 + below(100);
  if (one_in(4)) s.most_pool_bytes = (std::int64_t{1} << (14 + below(20))) - 1;
  if (one_in(3)) s.input_alignment = 1 << below(5);
  if (one_in(3)) s.output_alignment = 1 << below(5);
  auto* bytes = reinterpret_cast<std::byte*>(&s);
  const std::int32_t one = 1;
  for (std::size_t at = offsetof(assay_support, no_causal); at <= offsetof(assay_support, no_dead_nan); at += 4)
    if (one_in(rarity)) std::memcpy(bytes + at, &one, sizeof one);
  return s;
}

std::string text_of(const assay_support& s) {
  return boost::json::serialize(support_to_json(s));
}

/// The fitted case is valid and within the support, and stays as it is; one within it stays as it was.
void expect_fit(const attention_case& c, const assay_support& s) {
  const attention_case fitted = fit(c, s);
  INFO(text_of(s));
  INFO("given " + to_json(c).substr(0, 4000));
  INFO("fitted " + to_json(fitted).substr(0, 4000));
  CHECK(unsupported_by(s, fitted).empty());
  CHECK_NOTHROW(validate(fitted));
  CHECK(fit(fitted, s) == fitted);
  if (unsupported_by(s, c).empty()) CHECK(fitted == c);
  problem stated = to_problem(fitted);
  const char* words = unsupported(s, stated);
  INFO((words == nullptr ? "" : words));
  CHECK(words == nullptr);  // what plan() checks
}

TEST_CASE("any case is fitted to any support that some case is within, once and for all") {
  std::mt19937_64 random(5);
  int possible = 0, changed = 0;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const assay_support s = any_support(random);
    const attention_case c = test::arbitrary(i, static_cast<int>(i % 101));
    if (!impossible_support(c.kernel, s).empty()) {
      CHECK(fit(c, s) == c);
      continue;
    }
    ++possible;
    changed += fit(c, s) == c ? 0 : 1;
    expect_fit(c, s);
  }
  CHECK(possible > 500);
  CHECK(changed > 300);
}

TEST_CASE("a support that no case is within has a reason") {
  assay_support s{};
  s.no_causal = s.no_noncausal = 1;
  CHECK(impossible_support("split_kv", s) == "split_kv: no case is within what it declares: each one has causal");
  s = {};
  s.head_dims.values[0] = 12;
  CHECK(impossible_support("split_kv", s).find("head_dim_qk") != std::string::npos);
  s = {};
  s.types[0] = {ASSAY_TYPE_I8, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  CHECK(impossible_support("split_kv", s) == "split_kv: no case can have any of the types that it declares");
  CHECK(impossible_support("split_kv", {}).empty());
  CHECK_THROWS_AS(smallest_case("split_kv", s), case_error);
}

TEST_CASE("the smallest case of each kernel is valid, and within what the kernel takes") {
  for (const std::string& kernel : kernels_of_the_space()) CHECK_NOTHROW(validate(smallest_case(kernel, {})));
  const attention_case c = smallest_case("split_kv", decode_only());
  CHECK(unsupported_by(decode_only(), c).empty());
  CHECK(c.head_dim_qk == 128);
}

TEST_CASE("fitted cases have all that the kernel takes, in many combinations") {
  const assay_support s = decode_only();
  std::map<std::string, int> types, groups;
  std::set<std::int32_t> lengths, margins, heads;
  std::set<std::size_t> batches;
  int shared = 0, spare = 0, long_ones = 0, empty = 0, high = 0;
  pair_coverage pairs, all_pairs;
  constexpr int count = 1500;
  test::for_cases(count,
                  [&](const attention_case& c) {
                    all_pairs.add(c);
                    const attention_case f = fit(c, s);
                    pairs.add(f);
                    ++types[types_of(f)];
                    ++groups[std::to_string(f.heads_q / f.heads_kv)];
                    for (const sequence& one : f.sequences) lengths.insert(one.k), long_ones += one.k > 1000 ? 1 : 0;
                    margins.insert(f.row_margin);
                    heads.insert(f.heads_kv);
                    batches.insert(f.sequences.size());
                    empty += f.sequences.empty() ? 1 : 0;
                    spare += f.spare_table_entries > 0 ? 1 : 0;
                    high += f.pool_pages > 100'000 ? 1 : 0;
                    std::set<std::int64_t> seen;
                    for (const sequence& one : f.sequences)
                      for (const std::int64_t page : one.pages) shared += seen.insert(page).second ? 0 : 1;
                  },
                  {"split_kv"});
  CHECK(types.size() == 2);
  for (const auto& [name, n] : types) CHECK(n > count / 4);  // evenly
  CHECK(groups.size() == 3);
  for (const auto& [name, n] : groups) CHECK(n > count / 20);
  CHECK(lengths.size() > 200);
  CHECK(long_ones > 20);
  CHECK(margins.size() > 3);
  CHECK(heads.size() > 5);
  CHECK(batches.size() > 10);
  CHECK(shared > 100);
  CHECK(spare > 200);
  CHECK(empty > 5);
  CHECK(high > 30);
  CHECK(pairs.seen() > all_pairs.seen() / 6);
}

TEST_CASE("types are chosen evenly, and the scales undo their data's amplitude") {
  assay_support s{};
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_E4M3FN, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F32};
  std::map<std::string, int> types;
  test::for_cases(400,
                  [&](const attention_case& c) {
                    const attention_case f = fit(c, s);
                    ++types[types_of(f)];
                    if (f.kv_type == dtype::f16) CHECK((f.k_scale == 1 && f.v_scale == 1));
                    if (f.kv_type != c.kv_type && f.kv_type == dtype::e4m3fn) CHECK(f.k_scale == 1.0F / 32);
                  },
                  {"split_kv"});
  CHECK(types.size() == 2);
  for (const auto& [name, n] : types) CHECK(n > 120);
}

TEST_CASE("pages of another size keep their keys in order, and what was shared") {
  attention_case c;
  c.sequences = {{.q = 1, .k = 40, .prefix_offset = {}, .pages = {7, 8, 2}},
                 {.q = 1, .k = 20, .prefix_offset = {}, .pages = {7, 3}}};
  c.pool_pages = 10;
  attention_case smaller = c;
  resize_pages(smaller, 8);
  CHECK(smaller.sequences[0].pages == std::vector<std::int64_t>{14, 15, 16, 17, 4});
  CHECK(smaller.sequences[1].pages == std::vector<std::int64_t>{14, 15, 6});
  CHECK(smaller.pool_pages == 20);
  attention_case larger = c;
  resize_pages(larger, 32);
  CHECK(larger.sequences[0].pages == std::vector<std::int64_t>{7, 2});
  CHECK(larger.sequences[1].pages == std::vector<std::int64_t>{7});
  for (const attention_case& made : {smaller, larger}) CHECK_NOTHROW(validate(made));
}

TEST_CASE("shrinking stays within what the kernel takes, and comes to an end there") {
  const assay_support s = decode_only();
  for (std::uint64_t i = 0; i < 12; ++i) {
    attention_case c = fit(test::arbitrary(i, 60, {"split_kv"}), s);
    int steps = 0;
    for (std::vector<attention_case> found = simpler(c, s); !found.empty(); found = simpler(c, s)) {
      for (const attention_case& each : found) {
        CHECK(unsupported_by(s, each).empty());
        CHECK_NOTHROW(validate(each));
        CHECK(complexity(each) < complexity(c));
      }
      c = found.front();
      REQUIRE(++steps < 1000);
    }
    CHECK(c.head_dim_qk == 128);
    CHECK(c.sequences.size() <= 1);
  }
}

TEST_CASE("every row of the table tells its feature, and takes it away") {
  for (const supported_feature& f : supported_features()) {
    assay_support lacking{};
    lacking.*f.lacks = 1;
    int met = 0;
    test::for_cases(400, [&](const attention_case& c) {
      if ((f.operations & operation_of(c)) == 0) {
        CHECK(fit(c, lacking) == c);
        return;
      }
      met += f.has(c) ? 1 : 0;
      CHECK(unsupported_by(lacking, c) == (f.has(c) ? f.name : ""));
      CHECK_FALSE(f.has(fit(c, lacking)));
    });
    CAPTURE(f.name);
    CHECK(met > 0);
  }
}

}  // namespace
}  // namespace assay
