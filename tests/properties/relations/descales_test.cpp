// The properties of per-page descales: they hold for the clean kernel, and each catches a fault that the case's own
// enclosure does not show.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <utility>

#include "properties/case/case.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/agreement.hpp"
#include "properties/relations/descales.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay::relations {
namespace {

attention_case paged_case() {
  attention_case c;
  c.kernel = "batch_prefill";
  c.q_type = c.kv_type = dtype::e4m3fn;
  c.heads_q = c.heads_kv = 2;
  c.page_size = 64;
  c.pool_pages = 4;
  c.kv_descale = descale_kind::per_page;
  c.scale = 0.125F;
  c.q_scale = c.k_scale = c.v_scale = 0.03125F;
  c.num_splits = 1;
  c.data.descale_ratio = 1.1F;
  c.sequences = {{.q = 3, .k = 150, .prefix_offset = {}, .pages = {2, 3, 0}}};
  return c;
}

const assay_kernel* clean() {
  return library::built_in()->find("batch_prefill");
}

bool has_kernel() {
  return clean() != nullptr;
}

/// What is wrong with the call; decides whether the output is damaged.
std::function<bool(const testing::call&)>& is_damaged() {
  static std::function<bool(const testing::call&)> decide;
  return decide;
}

assay_status run_damaged(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* how) {
  const assay_status status = clean()->run(p, tensors, count, how);
  const testing::call one(*p, *how, {tensors, tensors + count});
  if (status.code == ASSAY_OK && is_damaged()(one)) {
    const tensor o = one.view("o");
    for (std::int64_t i = 0; i < o.size(); ++i) set_bits(o, i, other_bits(o.type, bits_at(o, i)));
  }
  return status;
}

verdict check_damaged(const property& p, const attention_case& c, std::function<bool(const testing::call&)> damaged) {
  is_damaged() = std::move(damaged);
  const assay_kernel kernel{"batch_prefill", clean()->plan, clean()->declare, run_damaged, nullptr};
  const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library faulty(&table, "faulty");
  CHECK(run_case(faulty, c).result == outcome::pass);
  return p.check(faulty, c);
}

TEST_CASE("properties of per-page descales discard a case without them, and are about kernels that have them") {
  for (const property* p : {&descale_exchange, &equal_descales}) {
    CHECK(p->check(*library::built_in(), testing::small_case()).result == outcome::discard);
    CHECK(applies(*p, "batch_prefill"));
    CHECK_FALSE(applies(*p, "split_kv"));
  }
}

TEST_CASE("adapting gives per-page descales to any case of the kernel, in a pool of its pages") {
  test::for_cases(400,
                  [](const attention_case& drawn) {
                    for (const property* p : {&descale_exchange, &equal_descales}) {
                      attention_case c = drawn;
                      p->adapt(c, {});
                      INFO(to_json(c));
                      REQUIRE_NOTHROW(validate(c));
                      REQUIRE(c.kv_descale == descale_kind::per_page);
                      REQUIRE(c.page_size % 64 == 0);
                      REQUIRE(c.sequences[0].k > 0);
                      REQUIRE(c.sequences[0].q > 0);
                    }
                  },
                  {"batch_prefill"});
}

TEST_CASE("outputs outside another run's enclosure are reported, and NaN is outside") {
  const detailed_run run = run_in_detail(*library::built_in(), testing::small_case());
  CHECK_FALSE(first_outside(run.bounds, run.ran.written).has_value());
  outputs changed = clone(run.ran.written);
  const tensor& o = find_buffer(changed.buffers, "o")->view();
  set_bits(o, 3, poison_bits(o.type));
  CHECK(first_outside(run.bounds, changed)->starts_with("o[0, 0, 3] = nan lies outside"));
}

TEST_CASE("cases in 16 bits become FP8 where descales per page are asked for, in every type and with both choices") {
  std::set<std::pair<dtype, bool>> met;
  for (std::uint64_t seed = 0; seed < 128; ++seed) {
    attention_case c = paged_case();
    c.q_type = c.kv_type = c.o_type = dtype::bf16;
    c.kv_descale = descale_kind::per_tensor;
    c.page_size = 16;
    c.sequences = {{.q = 3, .k = 40, .prefix_offset = {}, .pages = {2, 3, 0}}};
    c.q_scale = c.k_scale = c.v_scale = c.data.descale_ratio = 1.0F;
    c.data.seed = seed;
    const attention_case before = c;
    assay_support takes{};
    takes.types[0] = {static_cast<std::int32_t>(dtype::bf16), static_cast<std::int32_t>(dtype::bf16),
                      static_cast<std::int32_t>(dtype::bf16)};
    ensure_per_page_descales(c, takes);
    CHECK(c == before);  // there is no FP8 to turn to: the property discards it
    ensure_per_page_descales(c, {});
    CHECK(is_fp8(c.kv_type));
    CHECK(c.kv_descale == descale_kind::per_page);
    CHECK_NOTHROW(validate(c));
    met.emplace(c.kv_type, seed % 2 == 0);
  }
  CHECK(met.size() == 4);
}

TEST_CASE("properties of per-page descales hold for the clean kernel") {
  if (!has_kernel()) SKIP("the library has no batch_prefill");
  for (std::uint64_t seed = 0; seed < 16; ++seed)
    for (const property* p : {&descale_exchange, &equal_descales}) {
      attention_case c = paged_case();
      c.data.seed = seed;
      c.data.descale_ratio = seed % 3 == 0 ? 1000.0F : 1.1F;
      const verdict v = p->check(*library::built_in(), c);
      CAPTURE(p->name, seed, v.what);
      CHECK(v.result == outcome::pass);
    }
}

TEST_CASE("relations that scale a descale hold where descales are subnormal") {
  if (!has_kernel()) SKIP("the library has no batch_prefill");
  for (const std::uint64_t seed : {2778350475U, 2778350465U, 2778350467U, 2778350473U}) {
    attention_case c = paged_case();
    c.heads_q = c.heads_kv = 1;
    c.v_scale = 1;  // so that v_scaling scales the descales
    c.sequences = {{.q = 1, .k = 129, .prefix_offset = {}, .pages = {0, 1, 2}}};
    c.data.descale_ratio = 1;
    c.data.seed = seed;
    c.data.fill = fill_kind::constant;
    c.data.descales = descale_size::tiny;
    for (const property* p : {&v_scaling, &descale_exchange}) {
      const verdict v = p->check(*library::built_in(), c);
      CAPTURE(p->name, seed, v.what);
      CHECK(v.result != outcome::fail);
    }
  }
}

TEST_CASE("descale_exchange catches a kernel that goes wrong on a large descale") {
  if (!has_kernel()) SKIP("the library has no batch_prefill");
  for (const std::uint64_t seed : {0U, 1U}) {  // of K and of V, times 2
    attention_case c = paged_case();
    c.data.seed = seed;
    const verdict v = check_damaged(descale_exchange, c, [](const testing::call& one) {
      for (const char* name : {"k_descale", "v_descale"})
        for (std::int64_t i = 0; i < one.view(name).size(); ++i)
          if (value_at(one.view(name), i) > 1.2) return true;
      return false;
    });
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "descale_exchange");
    CHECK(v.what.find("by 2^1 and its values by the inverse o[") != std::string::npos);
  }
}

TEST_CASE("equal_descales catches a fault of either kind of descale") {
  if (!has_kernel()) SKIP("the library has no batch_prefill");
  const attention_case c = paged_case();
  const auto per_tensor = [](const testing::call& one) { return !one.has("k_descale"); };
  const verdict of_tensors = check_damaged(equal_descales, c, per_tensor);
  CHECK(of_tensors.result == outcome::fail);
  CHECK(of_tensors.origin == "enclosure");
  const auto equal = [](const testing::call& one) {
    return one.has("k_descale") && bits_at(one.view("k_descale"), 0) == bits_at(one.view("k_descale"), 4);
  };
  const verdict of_pages = check_damaged(equal_descales, c, equal);
  CHECK(of_pages.result == outcome::fail);
  CHECK(of_pages.origin == "enclosure");
}

TEST_CASE("a run outside the enclosure of the other kind of descale is reported, whatever its own enclosure says") {
  if (!has_kernel()) SKIP("the library has no batch_prefill");
  const detailed_run run = run_in_detail(*library::built_in(), paged_case());
  REQUIRE(run.result.result == outcome::pass);
  oracle::enclosure moved = run.bounds;
  oracle::interval& e = moved.tensors.front().elements[5];
  e = {e.hi + 1, e.hi + 2};
  const enclosed_run paged{run.given, run.ran, run.bounds, "per page"},
      plain{run.given, run.ran, run.bounds, "per tensor"};
  CHECK_FALSE(per_tensor_disagreement(paged, plain).has_value());
  const auto of_plain = per_tensor_disagreement({run.given, run.ran, moved, "per page"}, plain);
  REQUIRE(of_plain.has_value());
  CHECK(of_plain->starts_with("per tensor: o[0, 0, 5] = "));
  const auto of_paged = per_tensor_disagreement(paged, {run.given, run.ran, moved, "per tensor"});
  REQUIRE(of_paged.has_value());
  CHECK(of_paged->starts_with("per page: o[0, 0, 5] = "));
}

}  // namespace
TEST_CASE("table_tail leaves a page its descale when it drops the sequence that ends there") {
  if (!has_kernel()) SKIP("the library has no batch_prefill");
  attention_case c = paged_case();
  c.heads_q = c.heads_kv = 1;
  c.pool_pages = 3;
  c.v_scale = 0x1p55F;
  c.data.descales = descale_size::tiny;
  // A page that ends no sequence may have a tiny descale: page 0 does once sequence 1 is gone.
  c.sequences = {{.q = 1, .k = 65, .prefix_offset = {}, .pages = {0, 1}},
                 {.q = 0, .k = 257, .prefix_offset = {}, .pages = {2, 2, 2, 2, 0}}};
  const verdict v = table_tail.check(*library::built_in(), c);
  INFO(v.what);
  CHECK(v.result == outcome::pass);
}

}  // namespace assay::relations
