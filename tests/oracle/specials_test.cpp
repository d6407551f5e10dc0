/// NaN, infinities, void keys, huge sinks and signs of zero: what is fixed is demanded, and nothing else is lost.
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "oracle/specials.hpp"
#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

using testing::options;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Two heads of one group, two rows, 40 keys in tiles of 8; V in [1, 2), unless a test says more.
options base_options() {
  options o;
  o.sequences = {{2, 40}};
  o.heads_q = 2;
  o.draw = [](char which, std::int64_t, std::mt19937_64& random) {
    return which == 'v' ? 1 + testing::uniform(random) : testing::normal(random);
  };
  return o;
}

contract small_tiles() {
  contract c;
  c.tile_keys = 8;
  return c;
}

/// Offset of an element of k or v: page and slot of a key of sequence 0.
std::int64_t pool_offset(const testing::setting& s, const char* name, std::int64_t key, std::int64_t column) {
  const testing::memory& table = s["block_table"];
  std::int32_t page = 0;
  std::memcpy(&page, table.bytes->data() + key / s.stated.page_size * 4, 4);
  return s[name].view.offset(page, key % s.stated.page_size, 0, column);
}

void set_bias(const testing::setting& s, std::int64_t from, std::int64_t to, double value) {
  const testing::memory& bias = s["bias"];
  for (std::int64_t head = 0; head < bias.view.shape[0]; ++head)
    for (std::int64_t row = 0; row < bias.view.shape[1]; ++row)
      for (std::int64_t key = from; key < to; ++key) bias.set(bias.view.offset(head, row, key), value);
}

enclosure enclosed(const testing::setting& s) {
  return enclose(s.stated, s.tensors(), small_tiles());
}

element_rule o_rule(const enclosure& e, std::int64_t row, std::int64_t head, std::int64_t column) {
  return e.tensors[0].rule((row * 2 + head) * 8 + column);
}
interval o_of(const enclosure& e, std::int64_t row, std::int64_t head, std::int64_t column) {
  return e.tensors[0].elements[static_cast<std::size_t>((row * 2 + head) * 8 + column)];
}
interval lse_of(const enclosure& e, std::int64_t row, std::int64_t head) {
  return e.tensors[1].elements[static_cast<std::size_t>(row * 2 + head)];
}
element_rule lse_rule(const enclosure& e, std::int64_t row, std::int64_t head) {
  return e.tensors[1].rule(row * 2 + head);
}

std::int64_t unbounded(const enclosure& e) {
  std::int64_t count = 0;
  for (const enclosed_tensor& t : e.tensors)
    for (const interval& x : t.elements) count += is_everything(x) ? 1 : 0;
  return count;
}

bool is_point(const interval& e, double value) {
  return e.lo == value && e.hi == value;
}

/// Every element of `outer` holds the middle of what MPFR says, and is not wide.
void check_against_exact(const enclosure& e, const testing::setting& s) {
  const enclosure exact = evaluate_exactly(s.stated, s.tensors());
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t i = 0; i < e.tensors[t].elements.size(); ++i) {
      const interval &a = e.tensors[t].elements[i], &b = exact.tensors[t].elements[i];
      CHECK(a.hi - a.lo < 0.01);
      CHECK(a.lo - 0.01 <= b.lo);
      CHECK(b.hi <= a.hi + 0.01);
    }
}

}  // namespace

TEST_CASE("tiles whose keys all have a bias of -inf leave a row as it is, wherever they lie", "[oracle]") {
  for (const std::int32_t splits : {1, 3})
    for (const auto& [from, to] : {std::pair{0, 16}, {0, 17}, {8, 16}, {32, 40}, {0, 39}}) {
      options o = base_options();
      o.bias_type = dtype::f16;
      o.num_splits = splits;
      const testing::setting s = testing::make_setting(o);
      set_bias(s, from, to, -infinity);
      INFO("keys " << from << " to " << to << " in " << splits << " splits");
      const enclosure e = enclosed(s);
      CHECK(unbounded(e) == 0);
      check_against_exact(e, s);
    }
}

TEST_CASE("a row of void keys alone is a row without a visible key", "[oracle]") {
  // finfo.min of f32 and bf16, times log2(e), overflows to -inf; that of f16 does not.
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32})
    for (const double mask : {-infinity, -0x1.fep127}) {
      if (type == dtype::f16 && mask != -infinity) continue;
      options o = base_options();
      o.bias_type = type;
      const testing::setting s = testing::make_setting(o);
      set_bias(s, 0, 40, mask);
      const enclosure e = enclosed(s);
      CHECK(is_point(lse_of(e, 1, 1), -infinity));
      CHECK(is_point(o_of(e, 1, 1, 3), 0));
      CHECK(o_rule(e, 1, 1, 3) == element_rule::positive);
    }
}

TEST_CASE("masks of finfo.min weigh nothing beside a key without one", "[oracle]") {
  for (const auto& [type, lowest] :
       {std::pair{dtype::f16, -65504.0}, {dtype::bf16, -0x1.fep127}, {dtype::f32, -0x1.fffffep127}}) {
    options o = base_options();
    o.bias_type = type;
    const testing::setting masked = testing::make_setting(o), hidden = testing::make_setting(o);
    set_bias(masked, 0, 20, lowest);
    set_bias(hidden, 0, 20, -infinity);
    const enclosure a = enclosed(masked), b = enclosed(hidden);
    CHECK(unbounded(a) == 0);
    CHECK(std::fabs(lse_of(a, 0, 1).hi - lse_of(b, 0, 1).hi) < 1e-5);
    CHECK(std::fabs(o_of(a, 1, 0, 2).lo - o_of(b, 1, 0, 2).lo) < 1e-5);
  }
}

TEST_CASE("a logit that may be -inf, or the largest f32, is not taken for either", "[oracle]") {
  options o = base_options();
  o.bias_type = dtype::f32;
  const testing::setting s = testing::make_setting(o);
  set_bias(s, 0, 40, -0x1.fffffep127 / 1.4426950408889634);  // times log2(e): half of its roundings overflow
  CHECK(is_everything(lse_of(enclosed(s), 0, 0)));
}

TEST_CASE("a sink of -3e38 is as none, unless it is all that the row has", "[oracle]") {
  options o = base_options();
  o.sequences = {{2, 40}, {1, 0}};
  o.sinks = true;
  for (const std::int32_t splits : {1, 2}) {
    o.num_splits = splits;
    const testing::setting s = testing::make_setting(o);
    s["sinks"].set(0, -3e38);
    s["sinks"].set(1, -infinity);
    const enclosure e = enclosed(s);
    CHECK(unbounded(e) == 0);
    // Row 2 sees no key. Its LSE is the sink's; m may have been -inf.
    CHECK(lse_of(e, 2, 0).lo == -infinity);
    CHECK(contains(lse_of(e, 2, 0), static_cast<double>(-3e38F)));
    CHECK(lse_of(e, 2, 0).hi < -2.9e38);
    CHECK(is_point(o_of(e, 2, 0, 0), 0));
    CHECK(o_rule(e, 2, 0, 0) == element_rule::positive);
    CHECK(is_point(lse_of(e, 2, 1), -infinity));
    s["sinks"].set(0, -infinity);
    const enclosure without = enclosed(s);
    CHECK(std::fabs(lse_of(e, 0, 0).lo - lse_of(without, 0, 0).lo) < 1e-12);
    CHECK(std::fabs(o_of(e, 1, 0, 4).hi - o_of(without, 1, 0, 4).hi) < 1e-12);
  }
}

TEST_CASE("a sink of 3e38 takes all weight; its LSE is 3e38, or infinity", "[oracle]") {
  options o = base_options();
  o.sinks = true;
  for (const std::int32_t splits : {1, 2}) {
    o.num_splits = splits;
    const testing::setting s = testing::make_setting(o);
    for (std::int64_t head = 0; head < 2; ++head) s["sinks"].set(head, 3e38);
    const enclosure e = enclosed(s);
    CHECK(unbounded(e) == 0);
    CHECK(contains(lse_of(e, 0, 0), static_cast<double>(3e38F)));
    CHECK(contains(lse_of(e, 0, 0), infinity));
    CHECK(lse_of(e, 0, 0).lo > 2.9e38);
    CHECK(std::fabs(o_of(e, 0, 0, 0).hi) < 1e-30);
    // Parts of ln2 times an infinite m may meet as NaN; so do splits that are weighed by exp(lse - M).
    CHECK(lse_rule(e, 0, 0) == element_rule::or_nan);
    CHECK((o_rule(e, 0, 0, 0) == element_rule::or_nan) == (splits == 2));
  }
  o.num_splits = 1;
  for (const double sink : {1e38, -1e38, -2.3e38}) {  // times log2(e) still an f32
    const testing::setting s = testing::make_setting(o);
    for (std::int64_t head = 0; head < 2; ++head) s["sinks"].set(head, sink);
    CHECK(unbounded(enclosed(s)) == 0);
  }
}

TEST_CASE("a NaN in a query makes its own row and head NaN, and no other", "[oracle]") {
  for (const std::int32_t splits : {1, 3}) {
    options o = base_options();
    o.num_splits = splits;
    const testing::setting s = testing::make_setting(o);
    const enclosure before = enclosed(s);
    s["q"].set(s["q"].view.offset(1, 0, 5), nan);
    const enclosure e = enclosed(s);
    for (std::int64_t row = 0; row < 2; ++row)
      for (std::int64_t head = 0; head < 2; ++head) {
        const bool is_reached = row == 1 && head == 0;
        CHECK((lse_rule(e, row, head) == element_rule::nan) == is_reached);
        for (std::int64_t c = 0; c < 8; ++c) {
          CHECK((o_rule(e, row, head, c) == element_rule::nan) == is_reached);
          if (!is_reached) CHECK(o_of(e, row, head, c).hi == o_of(before, row, head, c).hi);
        }
      }
  }
}

TEST_CASE("a NaN in a key or its bias reaches the rows that see the key", "[oracle]") {
  options o = base_options();
  o.causal = true;  // row 0 sees keys 0 to 38
  o.bias_type = dtype::f32;
  for (const std::int64_t key : {20, 39}) {
    const testing::setting s = testing::make_setting(o);
    s["k"].set(pool_offset(s, "k", key, 3), nan);
    const enclosure e = enclosed(s);
    CHECK((lse_rule(e, 0, 1) == element_rule::nan) == (key == 20));
    CHECK((o_rule(e, 0, 1, 7) == element_rule::nan) == (key == 20));
    CHECK(lse_rule(e, 1, 0) == element_rule::nan);
    CHECK(o_rule(e, 1, 0, 0) == element_rule::nan);
  }
  const testing::setting s = testing::make_setting(o);
  s["bias"].set(s["bias"].view.offset(1, 1, 4), nan);
  const enclosure e = enclosed(s);
  CHECK(lse_rule(e, 1, 1) == element_rule::nan);
  CHECK(lse_rule(e, 1, 0) == element_rule::enclosed);
  CHECK(lse_rule(e, 0, 1) == element_rule::enclosed);
  CHECK(unbounded(e) == 9);
}

TEST_CASE("a NaN in V reaches its column of the rows that see the key; LSE stays", "[oracle]") {
  for (const std::int32_t splits : {1, 3}) {
    options o = base_options();
    o.causal = true;
    o.num_splits = splits;
    const testing::setting s = testing::make_setting(o);
    s["v"].set(pool_offset(s, "v", 39, 6), nan);
    const enclosure e = enclosed(s);
    CHECK(o_rule(e, 1, 0, 6) == element_rule::nan);
    CHECK(o_rule(e, 0, 0, 6) == element_rule::or_nan);  // hidden from it, but in reach of its matrix unit
    CHECK(!is_everything(o_of(e, 0, 0, 6)));
    for (std::int64_t row = 0; row < 2; ++row) {
      CHECK(lse_rule(e, row, 0) == element_rule::enclosed);
      CHECK(!is_everything(lse_of(e, row, 0)));
      CHECK(o_rule(e, row, 0, 5) == element_rule::positive);
      CHECK(!is_everything(o_of(e, row, 0, 5)));
    }
  }
}

TEST_CASE("a value of weight 0 may be left out: its NaN is admitted, not demanded", "[oracle]") {
  options o = base_options();
  o.bias_type = dtype::f32;
  const testing::setting s = testing::make_setting(o);
  set_bias(s, 10, 11, -infinity);
  set_bias(s, 12, 13, -200);
  s["v"].set(pool_offset(s, "v", 10, 1), nan);
  s["v"].set(pool_offset(s, "v", 12, 2), nan);
  s["v"].set(pool_offset(s, "v", 12, 3), infinity);
  s["v"].set(pool_offset(s, "v", 14, 4), nan);
  const enclosure e = enclosed(s);
  CHECK(o_rule(e, 0, 0, 1) == element_rule::or_nan);
  CHECK(o_rule(e, 0, 0, 2) == element_rule::or_nan);  // P is 0 in f16
  CHECK(o_rule(e, 0, 0, 3) == element_rule::or_nan);
  CHECK(o_rule(e, 0, 0, 4) == element_rule::nan);
  CHECK(o_rule(e, 0, 0, 5) == element_rule::positive);
}

TEST_CASE("a certain infinity beside a NaN of weight 0 is that infinity or NaN, and no number", "[oracle]") {
  for (const std::int32_t splits : {1, 3}) {
    options o = base_options();
    o.bias_type = dtype::f32;
    o.num_splits = splits;
    const testing::setting s = testing::make_setting(o);
    set_bias(s, 10, 11, -infinity);
    s["v"].set(pool_offset(s, "v", 10, 1), nan);
    s["v"].set(pool_offset(s, "v", 33, 1), infinity);
    const enclosure e = enclosed(s);
    CHECK(is_point(o_of(e, 0, 0, 1), infinity));
    CHECK(o_rule(e, 0, 0, 1) == element_rule::or_nan);
  }
}

TEST_CASE("infinities in V give infinity where their weight is above 0, and NaN where both meet", "[oracle]") {
  for (const std::int32_t splits : {1, 5})
    for (const float v_scale : {1.0F, -2.0F}) {
      options o = base_options();
      o.v_scale = v_scale;
      o.num_splits = splits;
      const testing::setting s = testing::make_setting(o);
      for (const std::int64_t column : {0, 2}) s["v"].set(pool_offset(s, "v", 3, column), infinity);
      for (const std::int64_t column : {1, 2}) s["v"].set(pool_offset(s, "v", 33, column), -infinity);
      const enclosure e = enclosed(s);
      const double sign = v_scale > 0 ? 1 : -1;
      CHECK(is_point(o_of(e, 0, 1, 0), sign * infinity));
      CHECK(is_point(o_of(e, 0, 1, 1), -sign * infinity));
      CHECK(o_rule(e, 0, 1, 2) == element_rule::nan);
      CHECK(std::isfinite(o_of(e, 0, 1, 3).hi));
    }
}

TEST_CASE("an infinite dot product is a void key or an undecided row", "[oracle]") {
  options o = base_options();
  const testing::setting s = testing::make_setting(o);
  const auto set_query = [&](double value) {
    for (std::int64_t at = 0; at < s["q"].view.size(); ++at) s["q"].set(at, value);
  };
  set_query(1);
  s["k"].set(pool_offset(s, "k", 5, 0), -infinity);
  CHECK(unbounded(enclosed(s)) == 0);
  set_query(-1);
  CHECK(unbounded(enclosed(s)) == 4 * 9);
  set_query(0);  // 0 * infinity
  CHECK(lse_rule(enclosed(s), 0, 0) == element_rule::nan);
  set_query(1);
  s["k"].set(pool_offset(s, "k", 5, 1), infinity);
  CHECK(lse_rule(enclosed(s), 0, 0) == element_rule::nan);
  options capped = base_options();
  capped.soft_cap = 5;
  const testing::setting t = testing::make_setting(capped);
  t["k"].set(pool_offset(t, "k", 5, 0), infinity);  // +-5
  CHECK(unbounded(enclosed(t)) == 0);
}

TEST_CASE("zeros are positive where no value has a sign bit, and have the sign of what was rounded to them",
          "[oracle]") {
  options o = base_options();
  o.causal = true;
  o.sequences = {{2, 1}};  // row 0 sees nothing
  for (const float v_scale : {1.0F, 0x1p-30F, -0x1p-30F}) {
    o.v_scale = v_scale;
    const testing::setting s = testing::make_setting(o);
    const double values[] = {0.0, -0.0, 1, -1, 0.0, 1, 1, 1};
    for (std::int64_t c = 0; c < 8; ++c) s["v"].set(pool_offset(s, "v", 0, c), values[c]);
    const enclosure e = enclosed(s);
    CHECK(o_rule(e, 0, 0, 1) == element_rule::positive);
    const bool is_flipped = v_scale < 0;
    CHECK(o_rule(e, 1, 0, 0) == (is_flipped ? element_rule::enclosed : element_rule::positive));
    CHECK(o_rule(e, 1, 0, 1) == element_rule::enclosed);
    CHECK(o_rule(e, 1, 0, 2) == (is_flipped ? element_rule::negative : element_rule::positive));
    CHECK(o_rule(e, 1, 0, 3) == (is_flipped ? element_rule::positive : element_rule::negative));
  }
}

TEST_CASE("an output beyond f32 is infinity, and one that an intermediate may lose is at least what it is",
          "[oracle]") {
  options o = base_options();
  o.v_type = o.o_type = dtype::bf16;
  o.v_scale = 1e30F;
  o.draw = [](char which, std::int64_t at, std::mt19937_64& random) {
    return which == 'v' ? (at % 2 == 0 ? 1e20 : -1e20) : testing::normal(random);
  };
  const enclosure e = enclosed(testing::make_setting(o));
  CHECK(is_point(o_of(e, 0, 0, 0), infinity));
  CHECK(is_point(o_of(e, 0, 0, 1), -infinity));
  o.v_scale = 0x1p60F;
  o.draw = [](char which, std::int64_t, std::mt19937_64&) { return which == 'v' ? 0x1p66 : 0.0; };
  const enclosure near = enclosed(testing::make_setting(o));  // O is 40 2^66 before l divides it
  CHECK(near.tensors[0].elements[0].hi == infinity);
  CHECK(near.tensors[0].elements[0].lo > 0x1.fp125);
  CHECK(near.tensors[0].elements[0].lo <= 0x1p126);
}

TEST_CASE("an infinity whose weight may be 0 admits itself, NaN and what the finite values make, and nothing else",
          "[oracle]") {
  for (const double factor : {2.0, -2.0}) {
    interval e{1, 2};
    CHECK(apply(effect_of(infinity, weight_kind::open), factor, e, element_rule::positive) ==
          (factor > 0 ? element_rule::or_plus : element_rule::or_minus));
    CHECK(e.lo == 1);
    CHECK(e.hi == 2);
    const column_state sure = join(effect_of(infinity, weight_kind::positive), effect_of(nan, weight_kind::zero));
    CHECK(apply(sure, factor, e, element_rule::positive) == element_rule::or_nan);
    CHECK(is_point(e, factor > 0 ? infinity : -infinity));
  }
  interval e{1, 2};
  const column_state both = join(column_state::maybe_plus, column_state::maybe_minus);
  CHECK(apply(both, 1, e, element_rule::enclosed) == element_rule::or_special);
  CHECK(e.hi == 2);
  interval unknown = everything;
  CHECK(apply(column_state::maybe_minus, 1, unknown, element_rule::enclosed) == element_rule::enclosed);
  CHECK(is_everything(unknown));
}

TEST_CASE("what reaches a column joins in any order", "[oracle]") {
  constexpr column_state all[] = {column_state::finite,     column_state::plus_infinity, column_state::minus_infinity,
                                  column_state::nan,        column_state::maybe_nan,     column_state::maybe_plus,
                                  column_state::maybe_minus};
  for (const column_state a : all)
    for (const column_state b : all) {
      CHECK(join(a, b) == join(b, a));
      CHECK(join(a, column_state::nan) == column_state::nan);
    }
  CHECK(join(column_state::plus_infinity, column_state::minus_infinity) == column_state::nan);
  CHECK(scaled(column_state::plus_infinity, true) == column_state::maybe_plus);
  CHECK(scaled(column_state::minus_infinity, true) == column_state::maybe_minus);
  CHECK(join(column_state::maybe_plus, column_state::maybe_nan) == column_state::maybe_plus);
  // One infinity is certain: the sum is that infinity or NaN, and no number.
  const column_state plus_or_nan = join(column_state::maybe_plus, column_state::plus_infinity);
  CHECK(plus_or_nan == join(column_state::plus_infinity, column_state::maybe_nan));
  CHECK(plus_or_nan == join(column_state::plus_infinity, column_state::maybe_minus));
  CHECK(join(plus_or_nan, column_state::minus_infinity) == column_state::nan);
  CHECK(join(plus_or_nan, plus_or_nan) == plus_or_nan);
  CHECK(scaled(plus_or_nan, false) == plus_or_nan);
  CHECK(scaled(plus_or_nan, true) == column_state::maybe_plus);
  CHECK(scaled(column_state::nan, true) == column_state::nan);
}

}  // namespace assay::oracle
