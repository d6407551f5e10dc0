/// The exact evaluation of mqa_logits against a naive second writing, its corner cases (oracle/semantics.md), and the
/// contract's enclosure around the exact value where the contract's atoms admit exact sums.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "oracle/interval.hpp"
#include "tests/oracle/mqa_setting.hpp"

namespace assay::oracle {
namespace {

using testing::mqa_options;

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// Straight from the definition, in long double. Also the sum of the terms' magnitudes.
std::pair<long double, long double> plain_logit(const testing::setting& s, std::int64_t row, std::int64_t column) {
  const testing::mqa_reader in(s);
  const std::int64_t key = in.pool_row(row / s.stated.max_q, column);
  long double sum = 0, size = 0;
  for (std::int64_t head = 0; head < s.stated.heads_q; ++head) {
    long double dot = 0, absolute = 0;
    for (std::int64_t d = 0; d < s.stated.head_dim_qk; ++d) {
      dot += static_cast<long double>(in.q(row, head, d) * in.k(key, d));
      absolute += std::fabs(static_cast<long double>(in.q(row, head, d) * in.k(key, d)));
    }
    sum += static_cast<long double>(in.weight(row, head)) * std::max(dot, 0.0L);
    size += std::fabs(static_cast<long double>(in.weight(row, head))) * absolute;
  }
  return {static_cast<long double>(in.scale(key)) * sum, static_cast<long double>(in.scale(key)) * size};
}

const interval& at(const enclosure& e, std::int64_t flat) {
  return e.tensors[0].elements[static_cast<std::size_t>(flat)];
}

}  // namespace

TEST_CASE("logits agree with a naive evaluation for every shape, order and table, and the contract holds them",
          "[oracle][mqa]") {
  contract coarse;
  coarse.qk = {16, 25, 17.0F, 0x1p-23F, 0.0F};  // results of atoms need not be f32 numbers: exact sums are admitted
  std::int64_t wrong = 0, loose = 0, visible = 0;
  for (std::uint64_t n = 0; n < 96; ++n) {
    mqa_options o;
    o.seed = n;
    o.type = n % 2 == 0 ? dtype::e4m3fn : dtype::e4m3fnuz;
    o.next_n = static_cast<std::int32_t>(1 + n / 2 % 4);
    o.contexts = {static_cast<std::int32_t>(n % 6), static_cast<std::int32_t>(n % 37)};
    o.max_model_len = 37;
    o.order = n / 8 % 2 == 0 ? key_order::plain : key_order::preshuffled;
    o.page_size = n / 16 % 2 == 0 ? 16 : 32;
    if (n % 3 == 0 && o.order == key_order::plain) o.page_size = 1;
    o.page_list = n / 32 % 2 == 1;
    o.fills_hidden = n % 5 != 0;
    const testing::setting s = testing::make_mqa_setting(o);
    const enclosure exact = evaluate_exactly(s.stated, s.tensors());
    const enclosure bounds = enclose(s.stated, s.tensors(), coarse);
    REQUIRE(exact.tensors.size() == 1);
    for (std::int64_t row = 0; row < s.stated.total_q; ++row)
      for (std::int64_t column = 0; column < 37; ++column) {
        const std::int64_t flat = row * 37 + column;
        const interval &e = at(exact, flat), &b = at(bounds, flat);
        if (!testing::mqa_reader(s).is_visible(row, column)) {
          wrong += exact.tensors[0].keeps(flat) == o.fills_hidden || bounds.tensors[0].keeps(flat) == o.fills_hidden;
          if (o.fills_hidden) wrong += e.hi != nothing || b.hi != nothing;
          continue;
        }
        ++visible;
        const auto [value, size] = plain_logit(s, row, column);
        wrong += exact.tensors[0].keeps(flat) || bounds.tensors[0].keeps(flat);
        wrong += std::fabs(static_cast<long double>(e.lo) - value) > 1e-15L * size;
        wrong += !(e.hi - e.lo <= 1e-15 * std::fabs(e.hi) + 1e-30);
        loose += !(b.lo <= e.lo && e.hi <= b.hi);
      }
  }
  CHECK(wrong == 0);
  CHECK(loose == 0);
  CHECK(visible > 2000);
}

TEST_CASE("no context, less context than rows, and exactly max_model_len", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {0, 2, 64};
  o.next_n = 4;
  const testing::setting s = testing::make_mqa_setting(o);
  const enclosure bounds = enclose(s.stated, s.tensors(), contract{});
  const std::int64_t sees[] = {0, 0, 0, 0, 0, 0, 1, 2, 61, 62, 63, 64};
  for (std::int64_t row = 0; row < 12; ++row)
    for (std::int64_t column = 0; column < 64; ++column)
      CHECK((at(bounds, row * 64 + column).hi == nothing) == (column >= sees[row]));
}

TEST_CASE("scales and weights of zero make zeros, and ReLU stands before the weight", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {3};
  o.heads = 2;
  o.draw = [](char which, std::int64_t at, std::mt19937_64&) {
    if (which == 'w') return at == 0 ? -2.0 : 3.0;
    if (which == 's') return at == 0 ? 0.0 : 0.5;
    if (which == 'q') return at < 32 ? 1.0 : -1.0;  // dot products of the two heads: of opposite signs
    return at < 64 ? 0.25 : 0.0;                    // the third key is 0
  };
  testing::setting s = testing::make_mqa_setting(o);
  for (const enclosure& e : {evaluate_exactly(s.stated, s.tensors()), enclose(s.stated, s.tensors(), contract{})}) {
    CHECK(contains(at(e, 0), 0));
    CHECK(at(e, 0).lo == at(e, 0).hi);  // scale 0
    CHECK(contains(at(e, 1), -8));      // 0.5 * (-2 * 8 + 3 * 0)
    CHECK(at(e, 1).hi - at(e, 1).lo < 1e-5);
    CHECK(contains(at(e, 2), 0));
  }
  CHECK(at(enclose(s.stated, s.tensors(), contract{}), 2).hi == 0);
  s["weights"].set(0, -0.0);
  const enclosure bounds = enclose(s.stated, s.tensors(), contract{});
  for (const double zero : {0.0, -0.0})
    for (const std::int64_t column : {0, 1, 2}) {
      CHECK(at(bounds, column).lo == 0);
      CHECK(contains(at(bounds, column), zero));
    }
}

TEST_CASE("live infinities, scales of NaN and overflow in some order make a logit undecided, its neighbours not",
          "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {5, 5};
  o.heads = 3;
  const auto undecided = [&](const char* tensor, std::int64_t offset, double value) {
    testing::setting s = testing::make_mqa_setting(o);
    s[tensor].set(offset, value);
    const enclosure exact = evaluate_exactly(s.stated, s.tensors()),
                    bounds = enclose(s.stated, s.tensors(), contract{});
    std::vector<std::int64_t> found;
    for (std::int64_t flat = 0; flat < 128; ++flat) {
      if (is_everything(at(bounds, flat))) found.push_back(flat);
      if (is_everything(at(exact, flat))) CHECK(is_everything(at(bounds, flat)));
    }
    return found;
  };
  const testing::setting s = testing::make_mqa_setting(o);
  const std::int64_t key2 = testing::mqa_reader(s).pool_row(0, 2);
  const std::vector<std::int64_t> one{2}, row{0, 1, 2, 3, 4};
  for (const double poison : {std::nan(""), -nothing}) CHECK(undecided("k_row_scale", key2, poison) == one);
  CHECK(undecided("weights", 1, -nothing) == row);
  CHECK(undecided("k_row_scale", key2, 3e38) == one);
  CHECK(undecided("weights", 1, 3e38).size() >= 3);  // weight and scale alone overflow where the scale is above 1.1
}

TEST_CASE("a head with a NaN makes NaN, or what the others make, of the logits that it reaches", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {5};
  o.heads = 3;
  o.fills_hidden = false;
  o.draw = [](char which, std::int64_t at, std::mt19937_64&) {
    return which == 'q' && at >= 32 && at < 64 ? -1.0 : which == 'k' ? 0.25 : 1.0;  // head 1: below 0
  };
  const testing::setting whole = testing::make_mqa_setting(o);
  const std::int64_t key2 = testing::mqa_reader(whole).pool_row(0, 2);
  contract in_order;  // of atoms that states how heads are joined
  in_order.head_rows = 4;
  in_order.head_tree[0] = 1, in_order.head_tree[1] = 2;
  for (const contract& declared : {contract{}, in_order}) {
    const auto both = [&](const char* tensor, std::int64_t offset) {
      testing::setting s = testing::make_mqa_setting(o);
      s[tensor].set(offset, std::nan(""));
      return std::array{enclose(s.stated, s.tensors(), declared).tensors[0],
                        evaluate_exactly(s.stated, s.tensors()).tensors[0]};
    };
    for (const enclosed_tensor& e : both("k", key2 * 32 + 7))
      for (std::int64_t key = 0; key < 5; ++key) {
        CHECK(e.rule(key) == (key == 2 ? element_rule::or_nan : element_rule::enclosed));
        CHECK(contains(e.elements[static_cast<std::size_t>(key)], key == 2 ? 0.0 : 16.0));
        CHECK(!contains(e.elements[static_cast<std::size_t>(key)], key == 2 ? 16.0 : 8.0));
      }
    for (const enclosed_tensor& e : both("q", 5))  // head 0: head 2 alone is left
      for (std::int64_t key = 0; key < 5; ++key) {
        CHECK(e.rule(key) == element_rule::or_nan);
        CHECK(contains(e.elements[static_cast<std::size_t>(key)], 8.0));
      }
    for (const enclosed_tensor& e : both("weights", 0)) CHECK(e.rule(3) == element_rule::nan);
    for (const enclosed_tensor& e : both("weights", 1)) CHECK(e.rule(3) == element_rule::or_nan);  // NaN * 0, or not
    for (const enclosed_tensor& e : both("weights", 1)) CHECK(e.rule(9) == element_rule::kept);
  }
}

TEST_CASE("problems that are none are refused", "[oracle][mqa]") {
  mqa_options o;
  o.contexts = {20};
  o.order = key_order::preshuffled;
  const testing::setting good = testing::make_mqa_setting(o);
  const auto refuses = [&](const auto& change) {
    testing::setting s = testing::make_mqa_setting(o);
    change(s);
    CHECK_THROWS_AS(enclose(s.stated, s.tensors(), contract{}), std::invalid_argument);
    CHECK_THROWS_AS(evaluate_exactly(s.stated, s.tensors()), std::invalid_argument);
  };
  CHECK_NOTHROW(enclose(good.stated, good.tensors(), contract{}));
  refuses([](testing::setting& s) { s.stated.heads_kv = 2; });
  refuses([](testing::setting& s) { s.stated.batching = q_batching::group; });
  refuses([](testing::setting& s) { s.stated.max_q = 2; });
  refuses([](testing::setting& s) { s.stated.kv_descale = descale_kind::per_page; });
  refuses([](testing::setting& s) { s.stated.page_size = 8; });
  refuses([](testing::setting& s) { s.stated.max_model_len = 19; });
  refuses([](testing::setting& s) { s["seqlens_k"].set(0, -1); });
  refuses([](testing::setting& s) { s["block_table"].set(1, 77); });
  refuses([](testing::setting& s) { s.buffers.erase(s.buffers.begin() + 1); });  // weights
  refuses([](testing::setting& s) { s.buffers.erase(s.buffers.begin() + 3); });  // k_row_scale
  contract no_atoms;
  no_atoms.qk.products = 0;
  CHECK_THROWS_AS(enclose(good.stated, good.tensors(), no_atoms), std::invalid_argument);
}

}  // namespace assay::oracle
