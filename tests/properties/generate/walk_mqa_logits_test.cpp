// The space of mqa_logits, and what its fills make.
#include <bit>
#include <map>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "properties/data/difference.hpp"
#include "properties/data/edit.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/choice.hpp"
#include "properties/generate/empty.hpp"
#include "properties/generate/mutate.hpp"
#include "properties/generate/shrink.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

const std::vector<std::string> mqa{"mqa_logits"};

/// Names of the edge classes that a case belongs to.
std::set<std::string> classes_of(const attention_case& c) {
  std::set<std::string> in;
  const auto add_if = [&in](bool is, const std::string& name) {
    if (is) in.insert(name);
  };
  for (const sequence& s : c.sequences) {
    add_if(s.k == 0, "context 0");
    add_if(s.k == c.max_model_len, "full context");
    add_if(s.k == c.max_model_len - 1, "full but one");
    add_if(s.k < s.q, "fewer keys than rows");
    add_if(s.k % c.page_size == 0 && s.k > 0, "last page full");
    add_if(s.k % c.page_size == 1 && c.page_size > 1, "last page has one key");
    add_if(s.k >= 127 && s.k % 128 <= 1, "around a stage");
    add_if(s.k >= 255 && s.k % 256 <= 1, "around a chunk");
    add_if(s.k > 512, "several chunks");
    add_if(s.k >= 256 && s.k % 256 == 0 && s.k < c.max_model_len && c.fills_hidden &&
               c.split_contexts == context_split::variable && c.num_splits <= 1,
           "whole chunks before hidden columns");
  }
  add_if(c.max_model_len % 128 != 0, "row ends within a stage");
  add_if(c.sequences.size() > 1, "several sequences");
  add_if(c.row_margin > 0, "margin");
  add_if(c.fills_hidden, "fills");
  add_if(!c.fills_hidden, "does not fill");
  add_if(c.k_order == key_order::preshuffled, "preshuffled");
  add_if(c.split_contexts == context_split::variable, "variable");
  add_if(c.num_splits > 1, "splits");
  std::int64_t stages = 0;
  for (const sequence& s : c.sequences) stages = std::max<std::int64_t>(stages, s.k / 128);
  const bool has_odd_parts =
      c.num_splits > 1 && 128 % c.page_size == 0 && (stages + c.num_splits - 1) / c.num_splits == 1;
  add_if(c.split_contexts == context_split::variable && stages > 1 && has_odd_parts, "a part starts within a chunk");
  add_if(c.q_type == dtype::e4m3fnuz, "fnuz");
  in.insert("heads " + std::to_string(c.heads_q));
  in.insert("next_n " + std::to_string(c.sequences.front().q));
  in.insert("page " + std::to_string(c.page_size));
  return in;
}

}  // namespace

TEST_CASE("walks of mqa_logits end in valid cases that their bytes give back", "[space]") {
  test::for_cases(
      1500,
      [](const attention_case& c) {
        INFO(to_json(c));
        REQUIRE_NOTHROW(validate(c));
        REQUIRE(from_json(to_json(c), "test") == c);
        const attention_case near = nearest_encodable(c);
        REQUIRE(decode_case(encode_case(near)) == near);
      },
      mqa);
}

TEST_CASE("edges of mqa_logits are drawn often", "[space]") {
  constexpr int cases = 2000;
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
      mqa);
  const auto check = [&](const std::string& name, double share) {
    INFO(name << ": " << counts[name] << " of " << cases);
    CHECK(counts[name] >= share * whole);
  };
  for (const char* name :
       {"context 0", "full context", "full but one", "last page full", "row ends within a stage", "several sequences",
        "margin", "fills", "does not fill", "preshuffled", "variable", "splits"})
    check(name, 0.1);
  for (const char* name : {"fewer keys than rows", "last page has one key", "around a stage", "fnuz", "heads 32",
                           "heads 64", "page 1", "page 16", "page 64"})
    check(name, 0.05);
  for (const char* name : {"around a chunk", "several chunks"}) check(name, 0.03);  // they cost most
  check("a part starts within a chunk", 0.01);
  check("whole chunks before hidden columns", 0.003);
  for (int next_n = 1; next_n <= 4; ++next_n) check("next_n " + std::to_string(next_n), 0.08);
}

TEST_CASE("whatever of mqa_logits is simpler is valid and stays of its kernel", "[shrink]") {
  test::for_cases(
      60,
      [](const attention_case& c) {
        for (const attention_case& s : simpler(c)) {
          REQUIRE_NOTHROW(validate(s));
          REQUIRE(s.kernel == "mqa_logits");
          REQUIRE(complexity(s) < complexity(c));
        }
      },
      mqa);
}

TEST_CASE("a preshuffled pool holds the same keys as a plain one, and live scales are scales", "[fill]") {
  attention_case c;
  c.kernel = "mqa_logits";
  c.q_type = c.kv_type = dtype::e4m3fn;
  c.o_type = dtype::f32;
  c.batching = q_batching::batch;
  c.page_size = 32;
  c.head_dim_qk = 64;
  c.pool_pages = 3;
  c.max_model_len = 40;
  c.sequences = {{.q = 2, .k = 40, .prefix_offset = {}, .pages = {2, 0}}};
  const inputs plain = fill(c);
  c.k_order = key_order::preshuffled;
  const inputs shuffled = fill(c);
  const tensor &a = find_buffer(plain.buffers, "k")->view(), &b = find_buffer(shuffled.buffers, "k")->view();
  const tensor& scale = find_buffer(plain.buffers, "k_row_scale")->view();
  const recipe made(c);
  for (std::int64_t key = 0; key < 40; ++key) {
    const std::int64_t page = c.sequences[0].pages[static_cast<std::size_t>(key / 32)], slot = key % 32;
    CHECK(value_at(scale, scale.offset(page, slot)) > 0);
    CHECK(bits_at(scale, scale.offset(page, slot)) == made.key_scale({0, key, 0, 0}));
    for (std::int64_t d = 0; d < 64; ++d) {
      const std::int64_t in_page = (slot / 16 * 4 + d / 16) * 256 + slot % 16 * 16 + d % 16;
      REQUIRE(bits_at(a, a.offset(page, slot, 0, d)) == bits_at(b, b.offset(page) + in_page));
    }
  }
}

TEST_CASE("fields of the other operation are refused by name", "[case]") {
  const auto refused = [](const std::function<void(attention_case&)>& change, const std::string& field) {
    attention_case c = test::arbitrary(3, 10, mqa);
    change(c);
    try {
      validate(c);
      FAIL("accepted: " + field);
    } catch (const case_error& e) {
      CHECK(std::string(e.what()).starts_with(field));
    }
  };
  refused([](attention_case& c) { c.heads_kv = 2, c.heads_q = 4; }, "heads_kv");
  refused([](attention_case& c) { c.batching = q_batching::group; }, "batching");
  refused([](attention_case& c) { c.sinks = true; }, "sinks");
  refused([](attention_case& c) { c.bias_type = dtype::f32; }, "bias_type");
  refused([](attention_case& c) { c.row_margin = -1; }, "row_margin");
  refused([](attention_case& c) { c.max_model_len = -1; }, "max_model_len");
  refused(
      [](attention_case& c) {
        c.kernel = "split_kv", c.max_model_len = 1, c.k_order = key_order::plain,
        c.split_contexts = context_split::fixed;
      },
      "max_model_len");
}
