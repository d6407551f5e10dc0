#include "oracle/residual_lse.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/oracle/ordered_kernel.hpp"

namespace assay::oracle {
namespace {

using namespace assay::testing;

/// 16 rows of 8 heads, 2 kv heads; as the fill even_weights.
options usual() {
  options o;
  o.qk_type = o.v_type = o.o_type = dtype::bf16;
  o.sequences = {{16, 400}};
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
/// 24 sequences of one row and 8 heads.
options decoding() {
  options o = usual();
  o.sequences.clear();
  for (std::int32_t s = 0; s < 24; ++s) o.sequences.push_back({1, 150 + 9 * s});
  return o;
}

residual_result tested(const setting& s, const ordered_options& how) {
  const auto [o, lse] = ordered_kernel(s, how).run_with_lse();
  const std::vector<named_tensor> inputs = s.tensors(), outputs = {{"o", o.view}, {"lse", lse.view}};
  contract declared;
  if (how.lse == lse_manner::base_2) declared.base_of_lse = lse_base::two;
  return test_residuals(s.stated, inputs, outputs, declared);
}

struct seen_as {
  lse_fault planted;
  group_kind kind;
  double least, most;  ///< of the excess
};
constexpr seen_as of_rows[] = {
    {lse_fault::heavy_page, group_kind::page, 0.014, 0.02},
    {lse_fault::lost_last_key, group_kind::last_key, -1.2, -0.9},
    {lse_fault::heavy_last_key, group_kind::last_key, 0.24, 0.36},
    {lse_fault::hidden_key, group_kind::key_behind, 0.8, 1.1},
    {lse_fault::heavy_wave, group_kind::share, 0.015, 0.019},
};

TEST_CASE("residuals of the LSE: faults in it alone are found as what they are", "[residual]") {
  options o = usual();
  o.causal = true;
  const setting s = make_setting(o);
  for (const order in : {order::ascending, order::tokens})
    for (const seen_as& e : of_rows) {
      INFO(name_of(in) << ", fault " << static_cast<int>(e.planted));
      const residual_result r = tested(s, {.in = in, .p_type = dtype::bf16, .of_lse = e.planted});
      INFO("largest " << r.lse_largest << " of " << lse_threshold(r.lse_groups, r.lse_rows));
      CHECK(r.lse_rows > 120);
      REQUIRE(r.finding);
      CHECK(r.finding->is_of_lse);
      CHECK(r.finding->kind == e.kind);
      CHECK(r.finding->excess > e.least);
      CHECK(r.finding->excess < e.most);
      CHECK(r.finding->sigmas >= lse_threshold(r.lse_groups, r.lse_rows));
    }
}

TEST_CASE("residuals of the LSE: the rows of many sequences show what is wrong at one place in each", "[residual]") {
  const setting s = make_setting(decoding());
  for (const seen_as& e : of_rows) {
    if (e.kind == group_kind::key_behind) continue;  // none is hidden
    INFO("fault " << static_cast<int>(e.planted));
    const residual_result r = tested(s, {.of_lse = e.planted});
    INFO("largest " << r.lse_largest << " of " << lse_threshold(r.lse_groups, r.lse_rows));
    CHECK(r.lse_rows > 180);
    REQUIRE(r.finding);
    CHECK(r.finding->is_of_lse);
    CHECK(r.finding->kind == (e.kind == group_kind::page ? group_kind::tile : e.kind));
    CHECK(r.finding->sequence == -1);
  }
}

TEST_CASE("residuals of the LSE: sound kernels pass, whatever their order, roundings and logarithm",
          "[residual][long]") {
  for (const bool decodes : {false, true}) {
    const setting s = make_setting(decodes ? decoding() : usual());
    for (const order in : orders)
      for (const dtype p : {dtype::f32, dtype::bf16, dtype::e4m3fn}) {
        if (in == order::normalised && size_bytes(p) == 1) continue;
        for (const lse_manner manner : {lse_manner::plain, lse_manner::biased, lse_manner::half, lse_manner::bfloat,
                                        lse_manner::base_2, lse_manner::with_epsilon}) {
          INFO(name_of(in) << ", P " << static_cast<int>(p) << ", manner " << static_cast<int>(manner));
          const bool is_coarse = (static_cast<int>(manner) + static_cast<int>(in)) % 2 == 0;
          const residual_result r = tested(s, {.in = in,
                                               .p_type = p,
                                               .sums_rounded = is_coarse,
                                               .half_partials = is_coarse,
                                               .lse = manner,
                                               .half_scale = is_coarse});
          CHECK_FALSE(r.finding);
          CHECK(r.lse_largest < 6);
          // Rounded to bf16, the LSEs of a sequence are one or two numbers: they say nothing.
          if (manner == lse_manner::bfloat) CHECK(r.lse_groups == 0);
          if (manner == lse_manner::plain) CHECK(r.lse_groups > 100);
        }
      }
  }
}

TEST_CASE("residuals of the LSE: a scale rounded to f16 is no fault, not even below a soft cap", "[residual]") {
  options o = usual();
  o.scale = 0.0871F;
  for (const float cap : {0.0F, 3.0F}) {
    o.soft_cap = cap;
    const residual_result r = tested(make_setting(o), {.half_scale = true});
    CHECK(r.lse_rows > 100);
    CHECK_FALSE(r.finding);
    CHECK(r.lse_largest < 6);
  }
}

TEST_CASE("residuals of the LSE: K's elements rounded to bf16 for all rows alike are no fault", "[residual]") {
  options o = usual();
  o.k_type = dtype::e4m3fn;
  o.sequences = {{64, 600}};
  o.k_scale = 0.0371F;
  o.draw = [](char tensor, std::int64_t, std::mt19937_64& r) { return normal(r) * (tensor == 'k' ? 30 : 1); };
  const residual_result r = tested(make_setting(o), {.half_keys = true});
  CHECK(r.lse_rows > 400);
  CHECK_FALSE(r.finding);
}

TEST_CASE("residuals of the LSE: too few rows say nothing, wrong as they are", "[residual]") {
  options o = usual();
  o.sequences = {{7, 400}};
  const residual_result r = tested(make_setting(o), {.of_lse = lse_fault::lost_last_key});
  CHECK(r.rows == 56);
  CHECK(r.lse_groups == 0);
  CHECK_FALSE(r.finding);
}

TEST_CASE("residuals of the LSE: without an LSE nothing is tested", "[residual]") {
  const setting s = make_setting(usual());
  const memory o = ordered_kernel(s, {}).run();
  const std::vector<named_tensor> inputs = s.tensors(), outputs = {{"o", o.view}};
  CHECK(test_residuals(s.stated, inputs, outputs, contract{}).lse_groups == 0);
}

TEST_CASE("residuals of the LSE: the threshold is that of so many groups", "[residual]") {
  // 2 G exp(-(t / 1.05)^2 / 2) = 1e-9.
  for (const std::int64_t groups : {1, 1000, 100'000}) {
    const double t = lse_threshold(groups, 128) / 1.05;
    CHECK(std::fabs(2 * static_cast<double>(groups) * std::exp(-t * t / 2) / 1e-9 - 1) < 1e-6);
  }
  CHECK(lse_threshold(1, 50'000) == std::sqrt(1000.0));
}

}  // namespace
}  // namespace assay::oracle
