/// The exact evaluation against a naive second writing, the corner cases of oracle/semantics.md, and the contract's
/// enclosure around the exact value wherever the contract quantises nothing.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "oracle/interval.hpp"
#include "tests/oracle/scalar_kernel.hpp"

namespace assay::oracle {
namespace {

using testing::options;

constexpr double nothing = -std::numeric_limits<double>::infinity();

struct plain_row {
  std::vector<long double> o;
  long double lse;
};

/// Attention of one row straight from dense K and V, in long double: no pages, no splits, no running maximum.
plain_row plain_attention(const testing::setting& s, std::int64_t seq, std::int64_t i, std::int64_t head, bool sinks) {
  const problem& p = s.stated;
  const auto inputs = s.tensors();
  const auto at = [&](const char* name, std::int64_t offset) {
    std::uint32_t bits = 0;
    const tensor& t = s[name].view;
    std::memcpy(&bits, static_cast<const char*>(t.data) + offset * size_bytes(t.type),
                static_cast<std::size_t>(size_bytes(t.type)));
    if (t.type == dtype::i32) return static_cast<long double>(static_cast<std::int32_t>(bits));
    if (t.type == dtype::f32) return static_cast<long double>(std::bit_cast<float>(bits));
    if (size_bytes(t.type) == 1)
      return static_cast<long double>(testing::e4m3_value(bits & 0xFFU, t.type == dtype::e4m3fnuz));
    return static_cast<long double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
  };
  const bool is_batch = p.batching == q_batching::batch, has_descales = p.kv_descale == descale_kind::per_page;
  const auto first = is_batch ? seq * p.max_q : static_cast<std::int64_t>(at("cu_seqlens_q", seq));
  const auto queries = is_batch ? p.max_q : static_cast<std::int64_t>(at("cu_seqlens_q", seq + 1)) - first;
  const auto keys = static_cast<std::int64_t>(at("seqlens_k", seq));
  const bool has_prefix = find(inputs, "prefix_offset") != nullptr;
  const std::int64_t position = (has_prefix ? static_cast<std::int64_t>(at("prefix_offset", seq)) : keys - queries) + i;
  const std::int64_t head_kv = head * p.heads_kv / p.heads_q, row = first + i;
  plain_row r{std::vector<long double>(static_cast<std::size_t>(p.head_dim_v), 0.0L), nothing};
  long double z = sinks ? std::exp(at("sinks", head)) : 0.0L;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (p.causal != 0 && j > position) continue;
    if (p.window != 0 && j <= position - p.window) continue;
    const auto page = static_cast<std::int64_t>(at("block_table", s["block_table"].view.offset(seq, j / p.page_size)));
    long double x = 0;
    for (std::int64_t d = 0; d < p.head_dim_qk; ++d)
      x += at("q", s["q"].view.offset(row, head, d)) * at("k", s["k"].view.offset(page, j % p.page_size, head_kv, d));
    const std::int64_t descale_at = page * p.heads_kv + head_kv;
    const long double kd = has_descales ? at("k_descale", descale_at) : 1.0L;
    const long double vd = has_descales ? at("v_descale", descale_at) : 1.0L;
    const long double e = std::exp(x * static_cast<long double>(p.scale) * kd);
    z += e;
    for (std::int64_t d = 0; d < p.head_dim_v; ++d)
      r.o[static_cast<std::size_t>(d)] += e * vd * at("v", s["v"].view.offset(page, j % p.page_size, head_kv, d));
  }
  if (z == 0) return r;
  for (long double& o : r.o) o = o / z * static_cast<long double>(p.v_scale);
  r.lse = std::log(z);
  return r;
}

bool near(const interval& e, long double value) {
  if (std::isinf(value)) return e.lo == nothing && e.hi == nothing;
  const long double slack = 1e-15L * (1 + std::fabs(value));
  return static_cast<long double>(e.lo) <= value + slack && static_cast<long double>(e.hi) >= value - slack &&
         e.hi - e.lo <= 1e-15 * (1 + std::fabs(e.hi));
}

/// How many elements of `inner`'s o and lse are not inside `outer`.
std::int64_t not_held(const enclosure& inner, const enclosure& outer) {
  std::int64_t count = 0;
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t i = 0; i < inner.tensors[t].elements.size(); ++i) {
      const interval &a = inner.tensors[t].elements[i], &b = outer.tensors[t].elements[i];
      if (!(b.lo <= a.lo && a.hi <= b.hi)) ++count;
    }
  return count;
}

contract unquantised(std::int32_t tile_keys) {
  contract c;
  c.tile_keys = tile_keys;
  c.p_type = dtype::f32;
  return c;
}

}  // namespace

TEST_CASE("every small shape, mask and split count agrees with a naive evaluation, and the contract holds it",
          "[oracle]") {
  std::int64_t wrong = 0, loose = 0, cases = 0;
  for (std::int32_t shapes = 0; shapes < 18 * 19; ++shapes) {
    const std::int32_t first = shapes % 18, second = shapes / 18 - 1;  // a shape: 3 query counts times 6 key counts
    options o;
    o.sequences = {{1 + first % 3, first / 3}};
    if (second >= 0) o.sequences.push_back({1 + second % 3, second / 3});
    o.dim_qk = 4;
    o.dim_v = 2;
    o.page_size = 2;
    o.o_type = dtype::f32;
    o.seed = static_cast<std::uint64_t>(shapes);
    for (int mask = 0; mask < 5; ++mask) {
      o.causal = mask >= 1;
      o.window = mask == 2 || mask == 4 ? 2 : 0;
      for (testing::sequence_shape& s : o.sequences)
        s.prefix = mask >= 3 ? shapes % 9 - 3 : testing::sequence_shape{}.prefix;  // -3 ... 5: before and beyond
      o.sinks = shapes % 4 == 3;
      for (const std::int32_t splits : {1, 2, 3, 7}) {
        o.num_splits = splits;
        const testing::setting s = testing::make_setting(o);
        const enclosure exact = evaluate_exactly(s.stated, s.tensors());
        loose += not_held(exact, enclose(s.stated, s.tensors(), unquantised(2)));
        ++cases;
        if (splits != 1) continue;
        std::size_t row = 0;
        for (std::size_t seq = 0; seq < o.sequences.size(); ++seq)
          for (std::int32_t i = 0; i < o.sequences[seq].q; ++i, ++row) {
            const plain_row plain = plain_attention(s, static_cast<std::int64_t>(seq), i, 0, o.sinks);
            wrong += !near(exact.tensors[1].elements[row], plain.lse);
            for (std::size_t d = 0; d < 2; ++d) wrong += !near(exact.tensors[0].elements[2 * row + d], plain.o[d]);
          }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(loose == 0);
  CHECK(cases == 18 * 19 * 5 * 4);
}

TEST_CASE("descales per page and batch mode agree with the naive evaluation", "[oracle]") {
  std::int64_t wrong = 0;
  for (std::uint64_t n = 0; n < 60; ++n) {
    options o;
    o.seed = n;
    const auto rows = static_cast<std::int32_t>(1 + n % 4);
    o.sequences = {{rows, static_cast<std::int32_t>(n % 23)}, {rows, 7}, {rows, 0}};
    o.batch = n % 2 == 0;
    if (!o.batch) o.sequences[1].q = 2;
    o.qk_type = o.v_type = n % 3 == 0 ? dtype::e4m3fn : n % 3 == 1 ? dtype::e4m3fnuz : dtype::f16;
    o.heads_q = 4;
    o.heads_kv = 2;
    o.dim_v = 2;
    o.page_size = 4;
    o.causal = n % 4 >= 2;
    o.v_scale = 0.75F;
    o.descale = [](char which, std::int64_t nth, std::int64_t head) {
      return (which == 'k' ? 0.7 : 1.9) * std::pow(1.3, static_cast<double>((3 * nth + 2 * head) % 5));
    };
    const testing::setting s = testing::make_setting(o);
    const enclosure exact = evaluate_exactly(s.stated, s.tensors());
    std::size_t row = 0;
    for (std::size_t seq = 0; seq < o.sequences.size(); ++seq)
      for (std::int32_t i = 0; i < o.sequences[seq].q; ++i, ++row)
        for (std::size_t head = 0; head < 4; ++head) {
          const plain_row plain =
              plain_attention(s, static_cast<std::int64_t>(seq), i, static_cast<std::int64_t>(head), false);
          wrong += !near(exact.tensors[1].elements[row * 4 + head], plain.lse);
          for (std::size_t d = 0; d < 2; ++d)
            wrong += !near(exact.tensors[0].elements[(row * 4 + head) * 2 + d], plain.o[d]);
        }
    CHECK(static_cast<std::int64_t>(row) == s.stated.total_q);
  }
  CHECK(wrong == 0);
}

TEST_CASE("the enclosure of a contract that quantises nothing holds the exact value", "[oracle]") {
  for (std::uint64_t n = 0; n < 40; ++n) {
    options o;
    o.seed = n;
    o.sequences = {{2, 90}, {1, 33}};
    o.heads_q = 3;
    o.dim_qk = 64;
    o.o_type = dtype::f32;
    o.causal = n % 2 == 0;
    o.num_splits = static_cast<std::int32_t>(1 + n % 4);
    o.soft_cap = n % 5 == 1 ? 2.0F : 0.0F;
    o.bias_type = n % 5 >= 2 && n % 5 <= 3 ? dtype::f16 : dtype::none;
    o.sinks = n % 3 == 0;
    o.scale = n % 7 == 0 ? 3.0F : 0.2F;
    o.v_scale = n % 2 == 0 ? 1.0F : 0.3F;
    if (n % 4 == 1) o.qk_type = dtype::i8, o.scale = 1e-4F;
    if (n % 4 == 2) o.k_type = o.v_type = dtype::e4m3fnuz;
    if (n % 6 == 5)
      o.draw = [](char which, std::int64_t at, std::mt19937_64& random) {
        if (which == 'v') return at % 2 == 0 ? 60000.0 : -60000.0;
        return testing::normal(random) * (at % 16 == 0 ? 0x1p-20 : 1.0);
      };
    const testing::setting s = testing::make_setting(o);
    contract c = unquantised(16);
    if (n % 3 == 1) c.qk = c.pv = accumulation{16, 25, 17.0F, 0x1p-23F, 0.0F};
    INFO("variant " << n);
    CHECK(not_held(evaluate_exactly(s.stated, s.tensors()), enclose(s.stated, s.tensors(), c)) == 0);
  }
}

TEST_CASE("rows without a key are zero and -inf, with a sink zero and the sink", "[oracle]") {
  options o;
  o.sequences = {{2, 0}, {3, 1}};  // the second: two causal rows before the first key
  o.causal = true;
  o.num_splits = 3;
  for (const bool sinks : {false, true}) {
    o.sinks = sinks;
    const testing::setting s = testing::make_setting(o);
    const double sink = sinks ? static_cast<double>(std::bit_cast<float>(
                                    *reinterpret_cast<const std::uint32_t*>(s["sinks"].bytes->data())))
                              : nothing;
    const enclosure exact = evaluate_exactly(s.stated, s.tensors());
    const enclosure bounds = enclose(s.stated, s.tensors(), contract{});
    for (const enclosure* e : {&exact, &bounds})
      for (std::size_t row = 0; row < 4; ++row) {
        CHECK(contains(e->tensors[1].elements[row], sink));
        if (sinks) CHECK(e->tensors[1].elements[row].hi - e->tensors[1].elements[row].lo < 1e-5);
        for (std::size_t d = 0; d < 8; ++d) CHECK(e->tensors[0].elements[row * 8 + d].lo == 0);
        for (std::size_t d = 0; d < 8; ++d) CHECK(e->tensors[0].elements[row * 8 + d].hi == 0);
      }
    // lse_partial [split][row]: the sink is in split 0 only, empty splits are points at -inf.
    CHECK(contains(bounds.tensors[3].elements[0], sink));
    for (std::size_t empty = 5; empty < 15; ++empty) CHECK(bounds.tensors[3].elements[empty].hi == nothing);
  }
}

TEST_CASE("a bias of -inf takes a key out; a row of nothing else sees none", "[oracle]") {
  options o;
  o.sequences = {{1, 3}};
  o.bias_type = dtype::f32;
  testing::setting s = testing::make_setting(o);
  s["bias"].set(1, nothing);
  const enclosure bounds = enclose(s.stated, s.tensors(), unquantised(16));
  CHECK(not_held(evaluate_exactly(s.stated, s.tensors()), bounds) == 0);
  CHECK(std::isfinite(bounds.tensors[1].elements[0].hi));
  for (const std::int64_t key : {0, 2}) s["bias"].set(key, nothing);
  CHECK(evaluate_exactly(s.stated, s.tensors()).tensors[1].elements[0].hi == nothing);
  CHECK(enclose(s.stated, s.tensors(), contract{}).tensors[1].elements[0].hi == nothing);
}

TEST_CASE("live NaN, infinities and overflow make the elements that they reach NaN, infinite or undecided, no others",
          "[oracle]") {
  options o;
  o.sequences = {{1, 5}, {1, 5}};
  o.qk_type = o.v_type = o.o_type = dtype::bf16;
  o.num_splits = 2;
  const auto at = [](const testing::setting& s, const char* pool, std::int64_t slot) {
    const auto page = static_cast<std::int64_t>(*reinterpret_cast<const std::int32_t*>(s["block_table"].bytes->data()));
    return s[pool].view.offset(page, slot, 0, 3);
  };
  for (const double poison : {std::nan(""), -nothing, 3e38}) {
    testing::setting s = testing::make_setting(o);
    s["v"].set(at(s, "v", 2), poison);
    s["v"].set(at(s, "v", 1), poison);
    enclosure bounds = enclose(s.stated, s.tensors(), contract{});
    for (std::size_t d = 0; d < 16; ++d)
      CHECK(std::isfinite(bounds.tensors[0].elements[d].hi) == !(d == 3 && !(poison < 1e39)));
    CHECK((bounds.tensors[0].rule(3) == element_rule::nan) == std::isnan(poison));
    CHECK((bounds.tensors[0].elements[3].lo == -nothing) == (poison == -nothing));
    if (!(poison < 1e39)) CHECK(is_everything(evaluate_exactly(s.stated, s.tensors()).tensors[0].elements[3]));
    s = testing::make_setting(o);
    s["k"].set(at(s, "k", 2), poison);
    s["q"].set(3, 1e3);
    bounds = enclose(s.stated, s.tensors(), contract{});
    CHECK(is_everything(bounds.tensors[1].elements[0]));
    CHECK(is_everything(bounds.tensors[0].elements[0]));
    CHECK(!is_everything(bounds.tensors[1].elements[1]));
  }
}

TEST_CASE("inputs that are not the problem's are refused", "[oracle]") {
  options o;
  o.sequences = {{1, 9}};
  testing::setting s = testing::make_setting(o);
  auto inputs = s.tensors();
  inputs.erase(inputs.begin());
  CHECK_THROWS_AS(enclose(s.stated, inputs, contract{}), std::invalid_argument);
  s["block_table"].set(1, 1000);
  CHECK_THROWS_AS(enclose(s.stated, s.tensors(), contract{}), std::invalid_argument);
  CHECK_THROWS_AS(evaluate_exactly(s.stated, s.tensors()), std::invalid_argument);
  s = testing::make_setting(o);
  s.stated.num_splits = 0;
  CHECK_THROWS_AS(enclose(s.stated, s.tensors(), contract{}), std::invalid_argument);
}

}  // namespace assay::oracle
