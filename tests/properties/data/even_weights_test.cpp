#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "properties/data/inputs.hpp"
#include "properties/data/recipe.hpp"
#include "tests/properties/data/decode.hpp"

namespace assay {
namespace {

TEST_CASE("even_weights: logits deviate by 0.7, values are nearly orthogonal and nearly of one size", "[recipe]") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8}) {
    attention_case c;
    c.q_type = c.kv_type = type;
    c.scale = 0.3F;
    c.q_scale = c.k_scale = 1 / static_cast<float>(amplitude(type));
    c.page_size = 256;
    c.pool_pages = 1;
    c.data.fill = fill_kind::even_weights;
    c.sequences = {{4, 200, std::nullopt, {0}}};
    const inputs in = fill(c);
    const tensor &q = test::tensor_of(in, "q"), &k = test::tensor_of(in, "k"), &v = test::tensor_of(in, "v");
    double squares = 0, across = 0;
    for (std::int64_t key = 0; key < 200; ++key) {
      for (std::int64_t row = 0; row < 4; ++row) {
        double dot = 0;
        for (std::int64_t d = 0; d < 64; ++d)
          dot += test::value_at(q, q.offset(row, 0, d)) * test::value_at(k, k.offset(0, key, 0, d));
        const double logit = dot * 0.3 * double{c.q_scale} * double{c.k_scale};
        squares += logit * logit / 800;
      }
      double own = 0, next = 0;
      for (std::int64_t d = 0; d < 64; ++d) {
        const double x = test::value_at(v, v.offset(0, key, 0, d)) / amplitude(v_type(c));
        CHECK((std::fabs(x) >= 1 && std::fabs(x) <= 1.5));
        own += x * x;
        next += x * test::value_at(v, v.offset(0, (key + 1) % 200, 0, d)) / amplitude(v_type(c));
      }
      across += next * next / (own * own) / 200;
    }
    CHECK(std::fabs(std::sqrt(squares) - 0.7) < 0.07);
    CHECK(across < 2.0 / 64);  // of random signs 1 / 64
  }
}

}  // namespace
}  // namespace assay
