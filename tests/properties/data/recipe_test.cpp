#include "properties/data/recipe.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "oracle/decode.hpp"
#include "properties/case/number.hpp"
#include "tests/properties/data/decode.hpp"

using namespace assay;

namespace {

constexpr std::int64_t keys = 200, dims = 64;

/// One row, one head, 200 keys, descales that undo the amplitude.
attention_case plain(fill_kind fill, dtype q, dtype kv) {
  attention_case c;
  c.data.fill = fill;
  c.q_type = q;
  c.kv_type = kv;
  c.o_type = q == dtype::i8 ? dtype::f16 : q;
  c.scale = 0.125F;
  c.q_scale = static_cast<float>(1 / amplitude(q));
  c.k_scale = static_cast<float>(1 / amplitude(kv));
  c.v_scale = static_cast<float>(1 / amplitude(v_type(c)));
  c.page_size = 256;
  c.pool_pages = 1;
  c.sequences = {{1, keys, std::nullopt, {0}}};
  return c;
}

/// Logits and weights in binary64, and the tensors they come from.
struct row {
  explicit row(const attention_case& c) : in(fill(c)) {
    const tensor &q = test::tensor_of(in, "q"), &k = test::tensor_of(in, "k");
    const double scale = static_cast<double>(c.scale) * static_cast<double>(c.q_scale) * static_cast<double>(c.k_scale);
    for (std::int64_t j = 0; j < keys; ++j) {
      double dot = 0, size = 0;
      for (std::int64_t d = 0; d < dims; ++d) {
        const double term = test::value_at(q, q.offset(0, 0, d)) * test::value_at(k, k.offset(0, j, 0, d));
        dot += term;
        size += std::fabs(term);
      }
      logits.push_back(scale * dot);
      cancelled.push_back(std::fabs(dot) / size);
    }
    const double most = *std::ranges::max_element(logits);
    double sum = 0;
    for (const double x : logits) weights.push_back(std::exp(x - most)), sum += weights.back();
    for (double& w : weights) w /= sum;
  }
  double v(std::int64_t j, std::int64_t d) const {
    const tensor& t = test::tensor_of(in, "v");
    return test::value_at(t, t.offset(0, j, 0, d));
  }
  inputs in;
  std::vector<double> logits, weights, cancelled;
};

template <typename Check>
void for_types(fill_kind fill, Check&& check) {
  const std::pair<dtype, dtype> types[] = {{dtype::f16, dtype::f16},
                                           {dtype::bf16, dtype::bf16},
                                           {dtype::f16, dtype::e4m3fn},
                                           {dtype::bf16, dtype::e4m3fnuz},
                                           {dtype::i8, dtype::i8}};
  for (const auto& [q, kv] : types) {
    const attention_case c = plain(fill, q, kv);
    INFO("q type " << static_cast<int>(q) << " kv type " << static_cast<int>(kv));
    check(c, row(c));
  }
}

}  // namespace

TEST_CASE("normal: mean 0, the type's standard deviation, no two columns alike", "[recipe]") {
  for_types(fill_kind::normal, [](const attention_case& c, const row& r) {
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::int64_t d = 0; d < dims; ++d) sum += r.v(j, d), squares += r.v(j, d) * r.v(j, d);
    const double n = keys * dims, a = amplitude(v_type(c));
    CHECK(std::fabs(sum / n) < 0.03 * a);
    CHECK(std::fabs(std::sqrt(squares / n) / a - 1) < 0.03);
    CHECK(*std::ranges::max_element(r.logits) > 1);
    CHECK(*std::ranges::max_element(r.logits) < 10);
  });
}

TEST_CASE("constant: all values are equal", "[recipe]") {
  for_types(fill_kind::constant, [](const attention_case& c, const row& r) {
    for (std::int64_t j = 0; j < keys; ++j) REQUIRE(r.v(j, j % dims) == 1.5 * amplitude(v_type(c)));
    CHECK(r.logits.front() == r.logits.back());
  });
}

TEST_CASE("page_tagged: a key's values tell its page and slot", "[recipe]") {
  for_types(fill_kind::page_tagged, [](const attention_case&, const row& r) {
    std::set<double> tags;
    for (std::int64_t j = 0; j < keys; ++j) {
      tags.insert(r.v(j, 0));
      REQUIRE(r.v(j, 0) == r.v(j, dims - 1));
    }
    CHECK(tags.size() == keys);
  });
  for (const auto& [type, count] :
       {std::pair{dtype::f16, 32768}, {dtype::bf16, 4096}, {dtype::e4m3fn, 238}, {dtype::e4m3fnuz, 240}}) {
    std::set<std::uint32_t> tags;
    for (int i = 0; i < 40000; ++i) tags.insert(page_tag(type, 0, i));
    CHECK(tags.size() == static_cast<std::size_t>(count));
  }
}

TEST_CASE("saturating: one key dominates", "[recipe]") {
  for_types(fill_kind::saturating, [](const attention_case& c, const row& r) {
    const auto most = std::ranges::max_element(r.weights);
    CHECK(most - r.weights.begin() == dominant_key(c, 0));
    CHECK(*most > 0.95);
  });
}

TEST_CASE("ascending_maxima: every tile's maximum exceeds the one before", "[recipe]") {
  for_types(fill_kind::ascending_maxima, [](const attention_case&, const row& r) {
    double before = -1e9;
    for (std::int64_t tile = 0; tile < keys; tile += 64) {
      const double most = *std::max_element(r.logits.begin() + tile, r.logits.begin() + std::min(tile + 64, keys));
      CHECK(most > before);
      before = most;
    }
  });
}

TEST_CASE("heavy_tail_tile: the mass sits in the last, partial tile", "[recipe]") {
  for_types(fill_kind::heavy_tail_tile, [](const attention_case&, const row& r) {
    double tail = 0;
    for (std::int64_t j = keys / 64 * 64; j < keys; ++j) tail += r.weights[static_cast<std::size_t>(j)];
    CHECK(tail > 0.9);
  });
}

TEST_CASE("cancelling: dot products and outputs are small beside their terms", "[recipe]") {
  for_types(fill_kind::cancelling, [](const attention_case&, const row& r) {
    std::vector<double> shares = r.cancelled;
    std::ranges::sort(shares);
    CHECK(shares[keys / 2] < 0.02);
    for (std::int64_t d = 0; d < dims; ++d) {
      double sum = 0, size = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const double term = r.weights[static_cast<std::size_t>(j)] * r.v(j, d);
        sum += term;
        size += std::fabs(term);
      }
      REQUIRE(std::fabs(sum) < 1e-9 * size);
    }
  });
}

TEST_CASE("largest: the largest magnitudes whose sums stay in f32's range", "[recipe]") {
  const std::pair<dtype, double> v_limits[] = {{dtype::f16, 65504},
                                               {dtype::bf16, 255.0 / 128 * 0x1p106},
                                               {dtype::e4m3fn, 448},
                                               {dtype::e4m3fnuz, 240},
                                               {dtype::i8, 65504}};
  for_types(fill_kind::largest, [&](const attention_case& c, const row& r) {
    const auto limit = std::ranges::find(v_limits, c.kv_type, &std::pair<dtype, double>::first)->second;
    for (std::int64_t j = 0; j < keys; ++j) REQUIRE(std::fabs(r.v(j, 3)) == limit);
    const tensor &q = test::tensor_of(r.in, "q"), &k = test::tensor_of(r.in, "k");
    CHECK(std::fabs(test::value_at(q, 0) * test::value_at(k, 0)) * 256 * 4 < 0x1p127);
    CHECK(limit * (1 << 20) < 0x1p127);
  });
}

TEST_CASE("largest: int8 has -128 on both sides of the product", "[recipe]") {
  const attention_case c = plain(fill_kind::largest, dtype::i8, dtype::i8);
  const inputs in = fill(c);
  for (const char* name : {"q", "k"}) {
    const tensor& t = test::tensor_of(in, name);
    std::set<double> values;
    for (std::int64_t at = 0; at < dims; ++at) values.insert(test::value_at(t, at));
    CHECK(values == std::set<double>{-128, 127});
  }
}

TEST_CASE("subnormal: k and v are", "[recipe]") {
  for_types(fill_kind::subnormal, [](const attention_case& c, const row& r) {
    const number_format f = format_of(v_type(c));
    const double least_normal = std::ldexp(1.0, 1 - f.bias);
    for (std::int64_t j = 0; j < keys; ++j) REQUIRE((r.v(j, 1) != 0 && std::fabs(r.v(j, 1)) < least_normal));
  });
}

TEST_CASE("rounding_ties: outputs lie halfway between two values of v's type", "[recipe]") {
  for_types(fill_kind::rounding_ties, [](const attention_case& c, const row& r) {
    const dtype type = v_type(c);
    CHECK(r.logits.front() == r.logits.back());
    for (std::int64_t d = 0; d < dims; ++d) {
      const double below = r.v(0, d), above = r.v(1, d), mean = (below + above) / 2;
      REQUIRE(round_to_bits(type, above) == round_to_bits(type, below) + 1);
      REQUIRE(round_to_bits(type, std::nextafter(mean, 0)) != round_to_bits(type, std::nextafter(mean, 9)));
      for (std::int64_t j = 0; j < keys; ++j) REQUIRE(r.v(j, d) == (j % 2 == 0 ? below : above));
    }
  });
}

TEST_CASE("subnormal: rows for a cache are zero, subnormal, or around what the least descale suffices for",
          "[recipe]") {
  attention_case c = plain(fill_kind::subnormal, dtype::bf16, dtype::e4m3fn);
  c.kernel = "append_kv";
  c.scale = c.q_scale = 1;
  c.sequences.front().q = keys;
  const inputs given = fill(c);
  const tensor& rows = test::tensor_of(given, "k_new");
  int zeros = 0, subnormals = 0, small = 0, large = 0;
  for (std::int64_t row = 0; row < keys; ++row) {
    double most = 0;
    for (std::int64_t d = 0; d < dims; ++d)
      most = std::max(most, std::fabs(oracle::load(rows, rows.offset(row, 0, d))));
    ++(most == 0 ? zeros : most < 0x1p-126 ? subnormals : most < 448 * 0x1p-64 ? small : large);
  }
  for (const int count : {zeros, subnormals, small, large}) CHECK(count > keys / 20);
}

TEST_CASE("a row of elements is what its parts are", "[recipe]") {
  for (const auto fill : {fill_kind::normal, fill_kind::uniform, fill_kind::saturating, fill_kind::cancelling,
                          fill_kind::largest, fill_kind::subnormal, fill_kind::long_tail, fill_kind::even_weights}) {
    attention_case c = plain(fill, dtype::bf16, dtype::bf16);
    c.head_dim_qk = 200;  // more than are rounded at once
    const recipe made(c);
    const auto check = [](const auto& draw) {
      std::vector<std::uint32_t> row(200), one(1);
      draw(0, row);
      for (std::int64_t dim = 0; dim < 200; ++dim) {
        draw(dim, one);
        REQUIRE(row[static_cast<std::size_t>(dim)] == one[0]);
      }
    };
    using bits = std::vector<std::uint32_t>&;
    for (const std::int64_t index : {0, 63, 64}) {
      check([&](std::int64_t dim, bits to) { made.q({0, index, 1, dim}, 0, to); });
      check([&](std::int64_t dim, bits to) { made.row_of_any_size({0, index, 1, dim}, 1, to); });
      check([&](std::int64_t dim, bits to) { made.k({0, index, 1, dim}, to); });
      check([&](std::int64_t dim, bits to) { made.v({0, index, 1, dim}, to); });
    }
  }
}
