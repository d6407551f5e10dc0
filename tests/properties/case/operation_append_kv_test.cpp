/// What a case of append_kv means.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>

#include "properties/case/case.hpp"
#include "properties/case/slots.hpp"
#include "properties/case/tensor_plan.hpp"

using namespace assay;

TEST_CASE("a row of append_kv goes to the slot of its position, or nowhere", "[operation]") {
  attention_case c;
  c.kernel = "append_kv";
  c.page_size = 4;
  c.pool_pages = 9;
  c.sequences = {{.q = 3, .k = 6, .prefix_offset = {}, .pages = {8, 2}}};
  const sequence& s = c.sequences.front();
  CHECK(slot_of(c, s, 0) == 8 * 4 + 3);
  CHECK(slot_of(c, s, 1) == 2 * 4);
  CHECK(slot_of(c, s, 2) == 2 * 4 + 1);
  c.sequences.front().prefix_offset = -1;
  CHECK(slot_of(c, s, 0) == -1);
  CHECK(slot_of(c, s, 1) == 8 * 4);
  c.sequences.front().prefix_offset = 5;
  CHECK(slot_of(c, s, 1) == -1);
}

TEST_CASE("fields that append_kv does not read, and pages that are used twice, are refused", "[operation]") {
  attention_case good;
  good.kernel = "append_kv";
  good.pool_pages = 2;
  good.sequences = {{.q = 1, .k = 20, .prefix_offset = {}, .pages = {1, 0}}};
  REQUIRE_NOTHROW(validate(good));
  const auto refused = [&](auto&& edit) {
    attention_case c = good;
    edit(c);
    try {
      validate(c);
    } catch (const case_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused([](attention_case& c) { c.causal = true; }) == "causal: append_kv does not read it");
  CHECK(refused([](attention_case& c) { c.num_splits = 2; }).starts_with("num_splits"));
  CHECK(refused([](attention_case& c) { c.heads_q = 2; }).starts_with("heads_q"));
  CHECK(refused([](attention_case& c) { c.sequences[0].pages = {1, 1}; }).find("page 1 is used twice") !=
        std::string::npos);
  CHECK(refused([](attention_case& c) { c.k_scale = 2; }).starts_with("k_scale"));
  CHECK(refused([](attention_case& c) { c.kernel = "split_kv", c.rotary = rotary_kind::half; }).starts_with("rotary"));
}

TEST_CASE("with margins no two tensors of append_kv that belong together have the same strides", "[operation]") {
  attention_case c;
  c.kernel = "append_kv";
  c.kv_type = dtype::e4m3fn;
  c.kv_descale = descale_kind::per_page;
  c.rotary = rotary_kind::half;
  c.input_margin = 3;
  c.pool_pages = 1;
  c.sequences = {{.q = 1, .k = 5, .prefix_offset = {}, .pages = {0}}};
  std::map<std::string, std::int64_t> gaps;
  for (const planned_tensor& t : plan_tensors(c)) gaps[t.name] = t.gap;
  for (const auto& [one, other] : {std::pair{"k_new", "v_new"}, {"rope_cos", "rope_sin"}, {"k_descale", "v_descale"}}) {
    CHECK(gaps.at(one) == 3);
    CHECK(gaps.at(other) == 6);
  }
}
