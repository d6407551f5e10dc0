// The pairs of features that a run has covered.
#include "properties/generate/coverage.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "properties/generate/choice.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"
#include "tests/properties/generate/whole_suite.hpp"

using namespace assay;

namespace {

int size_of_case(std::uint64_t i) {
  constexpr std::uint64_t properties_of_run = 23;
  return size_of(static_cast<std::int64_t>(i / properties_of_run), static_cast<std::int64_t>(i % properties_of_run));
}

attention_case drawn(std::uint64_t i) {
  return arbitrary_case()(rc::Random(rc::Random::Key{1, i, 0, 0}), size_of_case(i)).value();
}

attention_case drawn_by_weight(std::uint64_t i) {
  rc::Random numbers(rc::Random::Key{1, i, 0, 0});
  random_source source([&numbers] { return numbers.next(); });
  attention_case c;
  walk(c, source, limits_for_size(size_of_case(i)));
  return c;
}

}  // namespace

TEST_CASE("every case has one value of each feature, and every value has a word", "[coverage][long]") {
  REQUIRE(case_features().size() <= 64);
  for (const case_feature& f : case_features()) REQUIRE(f.values.size() <= 16);
  test::for_cases(2000, [](const attention_case& c) {
    const std::vector<std::uint8_t> values = feature_values(c);
    REQUIRE(values.size() == case_features().size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      INFO(case_features()[i].name << " of " << to_json(c));
      REQUIRE(values[i] < case_features()[i].values.size());
    }
  });
}

TEST_CASE("each feature of a case moves its pairs, and only them", "[coverage]") {
  attention_case c;
  c.sequences = {{1, 130, std::nullopt, {0, 1, 2, 3, 4, 5, 6, 7, 8}}};
  c.pool_pages = 9;
  pair_coverage one;
  one.add(c);
  const auto features = static_cast<std::int64_t>(case_features().size());
  CHECK(one.seen() == features * (features - 1) / 2);
  one.add(c);
  CHECK(one.seen() == features * (features - 1) / 2);
  c.causal = true;
  one.add(c);
  CHECK(one.seen() == features * (features - 1) / 2 + features - 1);
  triple_coverage triples;
  triples.add(c);
  CHECK(triples.seen() == features * (features - 1) * (features - 2) / 6);
  c.kernel = "batch_prefill";
  const std::int64_t before = one.seen();
  one.add(c);
  CHECK(one.seen() == before + features * (features - 1) / 2);
}

TEST_CASE("sets of shards merge, and a pair has a name", "[coverage]") {
  pair_coverage whole, first, second;
  triple_coverage whole_triples, first_triples, second_triples;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const attention_case c = test::arbitrary(i, 50);
    whole.add(c);
    (i % 2 == 0 ? first : second).add(c);
    whole_triples.add(c);
    (i % 2 == 0 ? first_triples : second_triples).add(c);
  }
  first.merge(second.pairs());
  CHECK(first.pairs() == whole.pairs());
  first_triples.merge(triple_coverage::of_digits(second_triples.digits()));
  CHECK(first_triples.digits() == whole_triples.digits());
  attention_case c;
  c.sequences = {{1, 1, std::nullopt, {0}}};
  pair_coverage small;
  small.add(c);
  const std::vector<std::uint32_t> pairs = small.pairs();
  CHECK(std::ranges::any_of(
      pairs, [](std::uint32_t p) { return name_of_pair(p) == "split_kv: causal = off, window = none"; }));
}

TEST_CASE("a report of triples that is none of this version's is refused", "[coverage]") {
  CHECK_THROWS_AS(triple_coverage::of_digits({{"split_kv", "0123"}}), std::invalid_argument);
  triple_coverage some;
  some.add(drawn(0));
  std::map<std::string, std::string> digits = some.digits();
  digits.begin()->second[7] = 'g';
  CHECK_THROWS_AS(triple_coverage::of_digits(digits), std::invalid_argument);
}

TEST_CASE("2,000 cases cover nine tenths of the possible pairs, and more triples than cases drawn by weight alone",
          "[coverage][long]") {
  pair_coverage met, plain;
  triple_coverage met_triples, plain_triples;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const attention_case c = drawn(i), by_weight = drawn_by_weight(i);
    met.add(c);
    plain.add(by_weight);
    if (i >= 300) continue;  // of triples each case has thousands
    met_triples.add(c);
    plain_triples.add(by_weight);
  }
  const std::vector<std::string> kernels = kernels_of_the_space();
  const covered_share drawn = share_of(met, kernels), weighed = share_of(plain, kernels);
  INFO("drawn " << drawn.seen << ", by weight " << weighed.seen << " of " << drawn.possible << " pairs; "
                << met_triples.seen() << " and " << plain_triples.seen() << " triples");
  CHECK(drawn.share() >= 0.9);
  CHECK(met_triples.seen() > plain_triples.seen());
  const covered_share triples = share_of(met_triples, kernels);
  CHECK(triples.seen <= met_triples.seen());
  CHECK(triples.seen >= met_triples.seen() * 99 / 100);  // the others' pairs were too rare for 6,000 draws
  CHECK(triples.possible > triples.seen);
}

TEST_CASE("a case depends on seed, index and options alone", "[coverage]") {
  const suite_options options = testing::whole_suite(3);
  const attention_case late = suite_case(options, 77);
  for (std::int64_t i = 0; i < 10; ++i) static_cast<void>(suite_case(options, i));
  CHECK(suite_case(options, 77) == late);
}
