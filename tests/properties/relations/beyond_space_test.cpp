// Legal problems that a kernel need not support: refused, or computed right.
#include "properties/relations/beyond_space.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;
using relations::cases_beyond;
using relations::verdict_beyond_space;

namespace {

const assay_kernel& built_in_kernel() {
  return *library::built_in()->find("split_kv");
}

problem without_descales(const problem* p) {
  problem other = *p;
  if (other.kv_descale == descale_kind::per_page) other.kv_descale = descale_kind::per_tensor;  // refuse unknown ones
  return other;
}

assay_status plan(const problem* p, std::int64_t budget, assay_plan* out) {
  const problem other = without_descales(p);
  return built_in_kernel().plan(&other, budget, out);
}
assay_status declare(const problem* p, const assay_launch* launch, contract* out) {
  const problem other = without_descales(p);
  const assay_status status = built_in_kernel().declare(&other, launch, out);
  out->tile_keys = 16;  // then the oracle takes pages of 48 keys
  out->tile_rows = 16;
  out->states = 1;  // as with descales per page
  return status;
}
assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
  const problem other = without_descales(p);
  return built_in_kernel().run(&other, tensors, count, launch);
}

attention_case fp8_case() {
  attention_case c = testing::small_case();
  c.num_splits = 1;
  c.kv_type = dtype::e4m3fn;
  c.k_scale = c.v_scale = 1.0F / 32;
  return c;
}

bool has(const attention_case& c, const std::string& name) {
  const auto all = cases_beyond(c);
  return std::ranges::find(all, name, &relations::case_beyond::name) != all.end();
}

}  // namespace

TEST_CASE("the built-in kernels refuse what they do not support, or compute it right", "[relations]") {
  for (const auto& b : cases_beyond(fp8_case())) UNSCOPED_INFO(b.name);
  CHECK(cases_beyond(fp8_case()).size() >= 7);
  CHECK(verdict_beyond_space(*library::built_in(), fp8_case()).result == outcome::pass);
  attention_case prefill = fp8_case();
  prefill.kernel = "batch_prefill";
  prefill.q_type = prefill.kv_type;
  CHECK(has(prefill, "a window"));
  CHECK(has(prefill, "sinks"));
  CHECK(verdict_beyond_space(*library::built_in(), prefill).result == outcome::pass);
}

TEST_CASE("a host check that takes what the kernel ignores is caught", "[relations]") {
  static const assay_kernel kernel{"split_kv", plan, declare, run, nullptr};
  static const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library forgiving(&table, "forgiving");
  const verdict wrong = verdict_beyond_space(forgiving, fp8_case());
  REQUIRE(wrong.result == outcome::fail);
  INFO(wrong.what);
  CHECK(wrong.what.starts_with("with per-page descales with pages of 48 keys it neither says"));
  CHECK(wrong.what.find("lies outside") != std::string::npos);
  CHECK(run_case(forgiving, fp8_case()).result != outcome::discard);
  const verdict v = relations::bad_problem_rejected.check(forgiving, fp8_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "bad_problem_rejected");
  CHECK(v.what == wrong.what);
}

TEST_CASE("a problem beyond the space that is computed, but not bounded, is undecided", "[relations]") {
  attention_case c = testing::small_case();                                              // of f16, without sinks
  const auto shifting = testing::declaring_library([](contract& d) { d.p_shift = 4; });  // which knows of no sinks
  const verdict beyond = verdict_beyond_space(*shifting, c);
  CHECK(beyond.result == outcome::undecided);
  CHECK(beyond.what.starts_with("with sinks: "));
  CHECK(relations::bad_problem_rejected.check(*shifting, c).result == outcome::undecided);
}

TEST_CASE("more sequences than a grid has blocks have few splits and one head, so that their blocks can be run",
          "[relations]") {
  attention_case c = testing::small_case();
  c.data.seed = 16;
  c.num_splits = 73;
  const auto all = cases_beyond(c);
  const auto crowd = std::ranges::find(all, "more sequences than a grid has blocks", &relations::case_beyond::name);
  REQUIRE(crowd != all.end());
  CHECK(crowd->made.num_splits == 2);
  CHECK(crowd->made.heads_q == 1);
  c.sequences.front().q = 65;  // each sequence would have blocks for them, with rows or without
  const auto many = cases_beyond(c);
  const auto cut = std::ranges::find(many, crowd->name, &relations::case_beyond::name);
  REQUIRE(cut != many.end());
  CHECK(cut->made.sequences.front().q == 64);
}

TEST_CASE("bad_problem_rejected makes a few hundred sequences of a crowd", "[relations]") {
  attention_case c = testing::small_case();
  const sequence last = c.sequences.back();
  c.sequences.resize(65'600, {.q = 0, .k = 0, .prefix_offset = {}, .pages = {}});
  c.sequences.back() = last;
  relations::bad_problem_rejected.adapt(c, {});
  CHECK(c.sequences.size() == 300);
  CHECK(c.sequences.back() == last);
  CHECK(is_valid(c));
  attention_case small = testing::small_case();
  relations::bad_problem_rejected.adapt(small, {});
  CHECK(small == testing::small_case());
}

TEST_CASE("large cases have nothing beyond, and no types what they cannot have", "[relations]") {
  attention_case c = testing::small_case();
  CHECK(has(c, "head_dim_qk 40"));
  CHECK_FALSE(has(c, "more sequences than a grid has blocks"));  // they cost a second: of one seed in sixteen
  c.data.seed = 16;
  CHECK(has(c, "more sequences than a grid has blocks"));
  CHECK_FALSE(has(c, "per-page descales with pages of 48 keys"));  // of f16
  attention_case large = c;
  large.sequences.resize(9, large.sequences.front());
  CHECK(cases_beyond(large).empty());
}
