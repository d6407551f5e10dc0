/// The story of an element adds up to the element, and names the page that it came from.
#include "oracle/explain.hpp"

#include <cmath>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "oracle/explain_logit.hpp"
#include "tests/oracle/mqa_setting.hpp"

namespace assay::oracle {

TEST_CASE("tiles and keys of an explained element add up to its exact value", "[oracle]") {
  testing::options o;
  o.sequences = {{1, 5}, {2, 70}};
  o.heads_q = 4;
  o.heads_kv = 2;
  o.causal = true;
  o.window = 40;
  o.num_splits = 3;
  o.sinks = true;
  o.v_scale = 0.5F;
  o.descale = [](char which, std::int64_t nth, std::int64_t) {
    return (which == 'k' ? 0.5 : 0.25) + 0.125 * static_cast<double>(nth);
  };
  const testing::setting s = testing::make_setting(o);
  contract c;
  c.tile_keys = 16;
  const element_story story = explain_element(s.stated, s.tensors(), c, 1, 3, 5, 1000);
  CHECK(story.sequence == 1);
  CHECK(story.row_in_sequence == 0);
  CHECK(story.head_kv == 1);
  CHECK(story.visible_begin == 29);
  CHECK(story.visible_end == 69);
  CHECK(story.tiles.size() == 4);
  CHECK(story.tiles.front().split == 0);  // ceil(70 / 16) = 5 tiles, 2 per split
  CHECK(story.tiles.back().split == 2);
  const enclosure exact = evaluate_exactly(s.stated, s.tensors());
  const double value = exact.tensors[0].elements[(1 * 4 + 3) * 8 + 5].lo, lse = exact.tensors[1].elements[7].lo;
  double sum = 0, share = 0;
  for (const tile_story& t : story.tiles)
    for (const key_share& k : t.keys) {
      sum += k.contribution;
      share += k.probability;
      const std::int64_t nth = k.key / 4;
      CHECK(k.page == reinterpret_cast<const std::int32_t*>(
                          s["block_table"].bytes->data())[s["block_table"].view.offset(1, nth)]);
      CHECK(k.slot == k.key % 4);
      CHECK(k.k_descale == 0.5 + 0.125 * static_cast<double>(nth));
      CHECK(k.v_descale == 0.25 + 0.125 * static_cast<double>(nth));
    }
  CHECK(std::fabs(sum - value) < 1e-12);
  CHECK(std::fabs(story.value - value) < 1e-12);
  CHECK(std::fabs(story.lse - lse) < 1e-12);
  CHECK(share < 1);  // the sink has the rest
}

TEST_CASE("the largest contributions come first, and a row without keys has no tiles", "[oracle]") {
  testing::options o;
  o.sequences = {{1, 40}, {1, 0}};
  const testing::setting s = testing::make_setting(o);
  contract c;
  c.tile_keys = 64;
  const element_story story = explain_element(s.stated, s.tensors(), c, 0, 0, 0, 2);
  REQUIRE(story.tiles.size() == 1);
  REQUIRE(story.tiles[0].keys.size() == 2);
  CHECK(std::fabs(story.tiles[0].keys[0].contribution) >= std::fabs(story.tiles[0].keys[1].contribution));
  CHECK(std::fabs(story.tiles[0].output - story.value) < 1e-12);
  const element_story empty = explain_element(s.stated, s.tensors(), c, 1, 0, 0);
  CHECK(empty.tiles.empty());
  CHECK(empty.value == 0);
  CHECK(std::isinf(empty.lse));
  CHECK_THROWS_AS(explain_element(s.stated, s.tensors(), c, 2, 0, 0), std::invalid_argument);
}

TEST_CASE("the heads of an explained logit add up to its exact value, and its key is placed", "[oracle][mqa]") {
  testing::mqa_options o;
  o.contexts = {3, 40};
  o.next_n = 2;
  o.heads = 9;
  const testing::setting s = testing::make_mqa_setting(o);
  const logit_story story = explain_logit(s.stated, s.tensors(), 2, 21, 100);
  CHECK(story.sequence == 1);
  CHECK(story.row_in_sequence == 0);
  CHECK(story.context == 40);
  CHECK(story.visible_end == 39);
  CHECK(story.is_visible);
  CHECK(story.page * 16 + story.slot == testing::mqa_reader(s).pool_row(1, 21));
  CHECK(story.key_scale == testing::mqa_reader(s).scale(testing::mqa_reader(s).pool_row(1, 21)));
  REQUIRE(story.heads.size() == 9);
  double sum = 0;
  std::int64_t positive = 0;
  for (const head_share& h : story.heads) {
    sum += h.contribution;
    positive += h.dot > 0 ? 1 : 0;
    CHECK((h.dot > 0 || h.contribution == 0));
    CHECK(h.weight == testing::mqa_reader(s).weight(2, h.head));
    CHECK(std::fabs(h.contribution) <= std::fabs(story.heads.front().contribution));
  }
  CHECK(positive == story.positive_heads);
  const double value = evaluate_exactly(s.stated, s.tensors()).tensors[0].elements[2 * 64 + 21].lo;
  CHECK(std::fabs(sum - value) < 1e-12);
  CHECK(std::fabs(story.value - value) < 1e-12);

  CHECK(explain_logit(s.stated, s.tensors(), 2, 21, 2).heads.size() == 2);
  const logit_story hidden = explain_logit(s.stated, s.tensors(), 0, 2);
  CHECK(!hidden.is_visible);
  CHECK(hidden.heads.empty());
  CHECK_THROWS_AS(explain_logit(s.stated, s.tensors(), 4, 0), std::invalid_argument);
  CHECK_THROWS_AS(explain_logit(s.stated, s.tensors(), 0, 64), std::invalid_argument);
}

}  // namespace assay::oracle
