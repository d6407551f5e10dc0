#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "properties/case/operation.hpp"
#include "properties/data/inputs.hpp"
#include "properties/data/recipe.hpp"
#include "tests/properties/data/decode.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

constexpr std::int64_t row_count = 16, head_count = 8, key_count = 200;

attention_case far_case(dtype type, float scale) {
  attention_case c;
  c.q_type = c.kv_type = type;
  c.o_type = size_bytes(type) == 1 ? dtype::f16 : type;
  c.scale = scale;
  c.q_scale = c.k_scale = 1 / static_cast<float>(amplitude(type));
  c.heads_q = c.heads_kv = head_count;
  c.page_size = 256;
  c.pool_pages = 1;
  c.data.fill = fill_kind::far_logits;
  c.sequences = {{row_count, key_count, std::nullopt, {0}}};
  return c;
}

/// Visits the logits of each row and head.
template <typename Visit>
void for_rows(const attention_case& c, Visit&& visit) {
  const inputs in = fill(c);
  const tensor &q = test::tensor_of(in, "q"), &k = test::tensor_of(in, "k");
  for (std::int64_t row = 0; row < row_count; ++row)
    for (std::int64_t head = 0; head < head_count; ++head) {
      std::vector<double> logits;
      for (std::int64_t key = 0; key < key_count; ++key) {
        double dot = 0;
        for (std::int64_t d = 0; d < c.head_dim_qk; ++d)
          dot += test::value_at(q, q.offset(row, head, d)) * test::value_at(k, k.offset(0, key, head, d));
        logits.push_back(dot * static_cast<double>(c.scale) * static_cast<double>(c.q_scale) *
                         static_cast<double>(c.k_scale));
      }
      visit(logits);
    }
}

TEST_CASE("far_logits: all logits of most rows lie far below 0, of the others far above", "[recipe]") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8})
    for (const float scale : {0.125F, -0.125F}) {
      INFO(name_of(type) << ", scale " << scale);
      int below = 0, above = 0, vanish_in_f16 = 0, vanish_in_f32 = 0;
      for_rows(far_case(type, scale), [&](const std::vector<double>& logits) {
        const auto [least, most] = std::ranges::minmax(logits);
        REQUIRE((most < -2 || least > 2));
        REQUIRE(std::max(std::fabs(least), std::fabs(most)) < 2200);
        below += most < -2 ? 1 : 0;
        above += least > 2 ? 1 : 0;
        vanish_in_f16 += most < -17 ? 1 : 0;
        vanish_in_f32 += most < -104 ? 1 : 0;
      });
      CHECK(below > 3 * above);
      CHECK(above > 0);
      if (size_bytes(type) > 1) {  // 8-bit keys end before
        CHECK(vanish_in_f16 > row_count * head_count / 2);
        CHECK(vanish_in_f32 > row_count * head_count / 6);
      }
    }
}

TEST_CASE("far_logits: keys have weights of nearly the same size where the type is fine enough", "[recipe]") {
  for_rows(far_case(dtype::f32, 0.125F), [&](const std::vector<double>& logits) {
    double mean = 0, squares = 0;
    for (const double logit : logits) mean += logit / key_count;
    for (const double logit : logits) squares += (logit - mean) * (logit - mean) / key_count;
    REQUIRE(std::sqrt(squares) < 0.9);
    REQUIRE(std::sqrt(squares) > 0.25);  // of half a query
  });
}

TEST_CASE("far_logits is drawn for attention alone, and often where a window hides tiles from some of the rows",
          "[recipe]") {
  std::set<std::string> kernels;
  int cases = 0, far = 0, hidden = 0;
  test::for_cases(3000, [&](const attention_case& c) {
    if (describe(c).kind != operation_kind::attention) {
      REQUIRE(c.data.fill != fill_kind::far_logits);
      return;
    }
    ++cases;
    if (c.data.fill != fill_kind::far_logits) return;
    ++far;
    kernels.insert(c.kernel);
    const bool is_long = std::ranges::any_of(c.sequences, [&](const sequence& s) { return s.q > 1 && s.k > c.window; });
    hidden += c.window != 0 && is_long ? 1 : 0;
  });
  CHECK(far > cases / 50);
  CHECK(far < cases / 5);
  CHECK(hidden > far / 10);
  CHECK(kernels.size() == 2);
}

}  // namespace
}  // namespace assay
