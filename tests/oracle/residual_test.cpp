#include "oracle/residual.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

#include "oracle/residual_evidence.hpp"
#include "oracle/residual_groups.hpp"
#include "tests/oracle/ordered_kernel.hpp"

namespace assay::oracle {
namespace {

using namespace assay::testing;
using enum residual_fault;

/// Two sequences, 2 kv heads of 4 heads, 6 rows; as the fill even_weights.
options usual(std::int32_t keys = 400) {
  options o;
  o.qk_type = o.v_type = o.o_type = dtype::bf16;
  o.sequences = {{6, keys}, {3, 100}};
  o.heads_q = 8;
  o.heads_kv = 2;
  o.dim_qk = o.dim_v = 64;
  o.page_size = 64;
  o.scale = 0.7F / 8;
  o.draw = [](char tensor, std::int64_t, std::mt19937_64& r) {
    if (tensor != 'v') return normal(r);
    return (1 + uniform(r) / 2) * (r() % 2 == 0 ? 1 : -1);
  };
  return o;
}

residual_result tested(const setting& s, const ordered_options& how) {
  const memory o = ordered_kernel(s, how).run();
  const std::vector<named_tensor> inputs = s.tensors(), outputs = {{"o", o.view}};
  return test_residuals(s.stated, inputs, outputs, contract{});
}

TEST_CASE("residuals: a page whose keys all have the same logit shares P's rounding, and is no wrong page",
          "[residual]") {
  // As pages of tiny K descales. A third of the keys has one weight: FP8 rounds it by up to 6%, in all of them alike.
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    options o = usual(512);
    o.qk_type = o.v_type = dtype::e4m3fn;
    o.seed = seed;
    const auto tiny = static_cast<std::int64_t>(seed % 3);
    o.descale = [tiny](char which, std::int64_t nth, std::int64_t) {
      return which == 'k' && nth % 3 == tiny ? 1e-4 : 1.0;
    };
    const setting s = make_setting(o);
    for (const order in : {order::ascending, order::descending}) {
      INFO("seed " << seed);
      CHECK_FALSE(tested(s, {.in = in, .p_type = dtype::e4m3fn}).finding);
    }
  }
}

TEST_CASE("residuals: rows and heads with the same weights count once", "[residual]") {
  // The logits are the bias alone, which all rows share: a head's rows round alike.
  options o = usual(300);
  o.sequences = {{6, 300}};
  o.scale = 0;
  o.bias_type = dtype::f32;
  const setting s = make_setting(o);
  const memory& bias = s["bias"];
  std::mt19937_64 random(5);
  for (std::int64_t head = 0; head < o.heads_q; ++head)
    for (std::int64_t key = 0; key < 300; ++key) {
      const double of_head = normal(random);
      for (std::int64_t row = 0; row < 6; ++row) bias.set(bias.view.offset(head, row, key), of_head);
    }
  const residual_result r = tested(s, {.in = order::ascending, .p_type = dtype::bf16});
  CHECK(r.rows == o.heads_q);
  CHECK(r.unsuited == o.heads_q * 5);
  CHECK_FALSE(r.finding);
}

TEST_CASE("residuals: sound kernels pass, whatever their order and roundings", "[residual]") {
  const setting s = make_setting(usual());
  for (const order in : orders)
    for (const dtype p : {dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::i8}) {
      if (in == order::normalised && size_bytes(p) == 1) continue;
      for (const bool is_coarse : {false, true}) {
        INFO(name_of(in) << ", P " << static_cast<int>(p));
        const residual_result r =
            tested(s, {.in = in, .p_type = p, .sums_rounded = is_coarse, .half_partials = is_coarse});
        CHECK(r.rows + r.unsuited == 72);
        CHECK(r.rows >= 68);
        CHECK_FALSE(r.finding);
        CHECK(r.largest_sigmas < 7);
      }
    }
}

/// All sinks are `above` the middle of the logits, which spread by 0.7. K and V are of `type`.
setting beside_sinks(dtype type, double above) {
  options o = usual();
  o.qk_type = o.v_type = type;
  o.sinks = true;
  const setting s = make_setting(o);
  for (std::int64_t head = 0; head < o.heads_q; ++head) s["sinks"].set(head, above);
  return s;
}

struct sink_height {
  dtype type, p_type;
  double above;
  bool is_tested;  ///< else all rows are left out: P is a few steps, or 0
};

TEST_CASE("residuals: sound kernels pass beside sinks, far below which they are not asked", "[residual]") {
  using enum dtype;
  for (const sink_height& h : {sink_height{bf16, f16, 4, true}, sink_height{bf16, f16, 10, true},
                               sink_height{bf16, f16, 14, false}, sink_height{e4m3fn, e4m3fn, 2, true},
                               sink_height{e4m3fn, e4m3fn, 6, true}, sink_height{e4m3fn, e4m3fn, 9, false}}) {
    const setting s = beside_sinks(h.type, h.above);
    for (const order in : {order::ascending, order::descending, order::waves, order::tokens, order::two_pass}) {
      INFO(name_of(in) << ", P " << static_cast<int>(h.p_type) << ", sinks " << h.above);
      const residual_result r = tested(s, {.in = in, .p_type = h.p_type});
      CHECK((h.is_tested ? r.rows >= 68 : r.rows == 0));
      CHECK_FALSE(r.finding);
    }
  }
}

TEST_CASE("residuals: faults are found beside sinks of many times the keys' weight", "[residual]") {
  for (const dtype type : {dtype::bf16, dtype::e4m3fn}) {
    const setting s = beside_sinks(type, 5);
    const dtype p = type == dtype::bf16 ? dtype::f16 : type;
    for (const auto& [in, planted] : {std::pair(order::ascending, wrong_page), std::pair(order::waves, lost_wave),
                                      std::pair(order::two_pass, doubled_key)}) {
      INFO(name_of(planted) << ", P " << static_cast<int>(p));
      CHECK(tested(s, {.in = in, .p_type = p, .planted = planted}).finding);
    }
  }
}

struct seen_as {
  residual_fault planted;
  order in;
  group_kind kind;
  double least, most;  ///< of the excess
};

TEST_CASE("residuals: faults are found as what they are", "[residual]") {
  const seen_as expected[] = {
      {stale_v_descale, order::ascending, group_kind::page, 0.015, 0.019},
      {stale_v_descale, order::tokens, group_kind::page, 0.015, 0.019},
      {stale_k_descale, order::ascending, group_kind::page, 0.008, 0.03},
      {wrong_page, order::ascending, group_kind::page, -1.5, 1.5},
      {dropped_key, order::descending, group_kind::key, -1.1, -0.9},
      {doubled_key, order::two_pass, group_kind::key, 0.9, 1.1},
      {missing_rescale, order::ascending, group_kind::prefix, 0.01, 5},
      {unscaled_wave, order::waves, group_kind::share, 0.01, 5},
      {lost_wave, order::waves, group_kind::share, -1.5, -0.9},
      {one_key_more, order::ascending, group_kind::key_behind, 0.9, 1.1},
      {one_key_less, order::ascending, group_kind::last_key, -1.1, -0.9},
      {wrong_v_scale, order::ascending, group_kind::all_keys, 0.009, 0.011},
  };
  for (const dtype p : {dtype::f32, dtype::bf16})
    for (const seen_as& e : expected) {
      options o = usual();
      o.causal = e.kind == group_kind::key_behind || e.kind == group_kind::last_key;
      INFO(name_of(e.planted) << ", P " << static_cast<int>(p));
      const residual_result r = tested(make_setting(o), {.in = e.in, .p_type = p, .planted = e.planted});
      REQUIRE(r.finding);
      CHECK(r.finding->kind == e.kind);
      CHECK(r.finding->excess > e.least);
      CHECK(r.finding->excess < e.most);
      CHECK(r.finding->sigmas >= residual_threshold);
      CHECK(r.finding->rows >= 12);
    }
}

TEST_CASE("residuals: a stale descale shows through FP8's rounding of P", "[residual]") {
  options o = usual(2048);
  o.sequences = {{8, 2048}};
  o.page_size = 1024;
  o.dim_v = 128;
  const setting s = make_setting(o);
  const residual_result clean = tested(s, {.p_type = dtype::e4m3fn});
  CHECK_FALSE(clean.finding);
  const residual_result stale = tested(s, {.p_type = dtype::e4m3fn, .planted = stale_v_descale});
  REQUIRE(stale.finding);
  CHECK(stale.finding->kind == group_kind::page);
  CHECK(stale.finding->begin == 1024);
  const memory& table = s["block_table"];
  std::int32_t page = 0;
  std::memcpy(&page, table.bytes->data() + table.view.offset(0, 1) * 4, 4);
  CHECK(stale.finding->page == page);
}

TEST_CASE("residuals: V that is rounded to bf16 once for all rows is no fault", "[residual]") {
  options o = usual(1500);
  o.v_type = dtype::e4m3fn;
  o.v_scale = 0.0371F;
  o.draw = [](char tensor, std::int64_t, std::mt19937_64& r) { return normal(r) * (tensor == 'v' ? 30 : 1); };
  const residual_result r = tested(make_setting(o), {.p_type = dtype::f16, .half_values = true});
  CHECK(r.rows > 60);
  CHECK_FALSE(r.finding);
}

TEST_CASE("residuals: a NaN in o is a finding where the exact value is a number", "[residual]") {
  const residual_result r = tested(make_setting(usual()), {.planted = nan_output});
  REQUIRE(r.finding);
  CHECK(r.finding->kind == group_kind::not_finite);
  CHECK(r.finding->row == 0);
  CHECK(r.finding->head == 0);
  CHECK(r.finding->sigmas == std::numeric_limits<double>::infinity());
}

/// With the fault that all groups of keys show.
residual_result of_degenerate(const options& o) {
  return tested(make_setting(o), {.planted = one_key_less});
}

TEST_CASE("residuals: degenerate data is not judged, not even where o is wrong", "[residual]") {
  const auto is_left_out = [](const options& o) {
    const residual_result r = of_degenerate(o);
    CHECK(r.rows == 0);
    CHECK(r.unsuited > 0);
    CHECK_FALSE(r.finding);
  };
  const auto with_values = [](auto value) {
    options o = usual();
    o.draw = [value](char tensor, std::int64_t at, std::mt19937_64& r) {
      return tensor == 'v' ? value(at, r) : normal(r);
    };
    return o;
  };
  REQUIRE(of_degenerate(usual()).finding);
  options few = usual(7);
  few.sequences = {{2, 7}};
  is_left_out(few);
  options narrow = usual();
  narrow.dim_v = 4;
  is_left_out(narrow);
  options peaked = usual();  // one key has all the weight
  peaked.scale = 200;
  is_left_out(peaked);
  is_left_out(with_values([](std::int64_t, auto&) { return 1.5; }));
  is_left_out(with_values([](std::int64_t, auto&) { return 0.0; }));
  is_left_out(
      with_values([](std::int64_t at, auto&) { return 1.0 + static_cast<double>(at / 64 % 97); }));  // collinear
  is_left_out(with_values([](std::int64_t, auto& r) { return r() % 8 == 0 ? std::nan("") : normal(r); }));
  is_left_out(with_values(
      [](std::int64_t, auto& r) { return r() % 8 == 0 ? std::numeric_limits<double>::infinity() : normal(r); }));
}

TEST_CASE("residuals: rows with the same logits count once", "[residual]") {
  options o = usual();
  o.draw = [](char tensor, std::int64_t at, std::mt19937_64& r) {
    return tensor == 'q' ? (at % 64 % 3 == 0 ? 0.8 : -0.8) : normal(r);
  };
  // All rows and heads of Q are alike.
  const residual_result r = tested(make_setting(o), {});
  CHECK(r.rows == 4);  // of two sequences and kv heads
  CHECK_FALSE(r.finding);
}

TEST_CASE("residuals: an output of another shape is refused", "[residual]") {
  const setting s = make_setting(usual());
  const memory o("o", dtype::bf16, {1, 8, 64});
  const std::vector<named_tensor> inputs = s.tensors(), outputs = {{"o", o.view}};
  CHECK_THROWS_AS(test_residuals(s.stated, inputs, outputs, contract{}), std::invalid_argument);
  CHECK_THROWS_AS(test_residuals(s.stated, inputs, {}, contract{}), std::invalid_argument);
}

TEST_CASE("residuals: sigmas are the normal deviate of the same tail", "[residual]") {
  const residual_evidence many{.score = 6, .size = 1, .variance = 4, .spread = 1e-6, .rows = 1};
  CHECK(std::fabs(many.sigmas() - 3) < 1e-3);
  const residual_evidence few{.score = -6, .size = 1, .variance = 4, .spread = 2, .rows = 1};  // 8 degrees of freedom
  // Student's t of 3 with 8 degrees of freedom has a tail of 0.00854, a normal deviate 2.386.
  CHECK(std::fabs(few.sigmas() + 2.386) < 0.03);
  residual_evidence tolerated = many;
  tolerated.tolerated = 7;
  CHECK(tolerated.sigmas() == 0);
  residual_evidence broken = many;
  broken.score = std::nan("");
  CHECK(broken.sigmas() == 0);
  broken = many;
  broken.variance = std::nan("");
  CHECK(broken.sigmas() == 0);
  CHECK(residual_evidence{}.sigmas() == 0);
}

TEST_CASE("residuals: groups of the same keys are listed once, as pages", "[residual]") {
  problem p;
  p.page_size = 64;
  p.num_splits = 1;
  std::vector<group_kind> kinds;
  for (const group_level& level : levels_of(p, 1000)) kinds.push_back(level.kind);
  CHECK(kinds == std::vector{group_kind::page, group_kind::tile, group_kind::key, group_kind::prefix});
  CHECK(levels_of(p, 1000)[1].unit == 16);
}

}  // namespace
}  // namespace assay::oracle
