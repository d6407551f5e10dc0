/// Contracts without an order: kernels of every order lie inside, and wrong ones do not.
#include <catch2/catch_test_macros.hpp>

#include "kernels/contract_recipes.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "oracle/width.hpp"
#include "tests/oracle/free_order_kernel.hpp"
#include "tests/oracle/prefill.hpp"

namespace assay::oracle {
namespace {

struct counts {
  std::int64_t outside = 0, unbounded = 0;
};

counts judged(const testing::setting& s, const contract& c, const std::vector<testing::memory>& written) {
  counts all;
  for (const judgement& j : judge(enclose(s.stated, s.tensors(), c), testing::views(written)))
    all.outside += j.outside, all.unbounded += j.unbounded;
  return all;
}

/// One of everything that such kernels do, by number.
testing::traits traits_of(std::uint64_t n) {
  testing::traits t;
  t.two_pass = n % 3 == 0;
  t.natural_exp = n % 2 == 0;
  t.merges_by_lse = n % 5 < 2;
  t.states = n % 4 == 0 ? 1 : static_cast<std::int32_t>(1 + n % 7);
  constexpr dtype types[] = {dtype::f32, dtype::bf16, dtype::f16};
  t.p_type = types[n % 3 == 1 ? 0 : n / 3 % 3];
  t.normalises_p = t.two_pass && n % 6 == 0;
  t.query_type = types[n / 2 % 3];
  t.cache_type = types[n / 5 % 3];
  t.product_type = types[n / 7 % 3];
  t.partial_type = types[n / 11 % 3];
  t.lag = n % 8 == 5 ? 5.0F : 0.0F;
  t.epsilon = n % 9 == 4 ? 1e-6F : 0.0F;
  return t;
}

contract contract_of(const testing::traits& t) {
  contract c = in_any_order({});
  c.p_type = t.p_type;
  c.query_type = t.query_type;
  c.cache_type = t.cache_type;
  c.product_type = t.product_type;
  c.product_roundings = t.product_type == dtype::f32 ? 0 : 1;
  c.partial_type = t.partial_type;
  c.normalises_p = t.normalises_p ? 1 : 0;
  c.rescale_slack = t.lag > 0 ? 8 : 0;
  c.sum_epsilon = t.epsilon * 1.001F;
  return c;
}

testing::options shape_of(std::uint64_t n) {
  testing::options o;
  o.seed = n;
  o.qk_type = o.v_type = n % 2 == 0 ? dtype::f16 : dtype::bf16;
  o.o_type = o.qk_type;
  o.sequences = {{2, 70}, {1, 1}, {3, 33}};
  if (n % 10 == 0) o.sequences = {{1, 900}};
  o.heads_q = 2;
  o.heads_kv = n % 3 == 0 ? 2 : 1;
  o.dim_qk = 24;
  o.dim_v = 16;
  o.causal = n % 4 < 2;
  o.scale = n % 7 == 3 ? 2.0F : 0.2F;
  o.v_scale = n % 5 == 1 ? -0.75F : 1.0F;
  return o;
}

}  // namespace

TEST_CASE("kernels of every order, grouping and rounding lie inside what their contract allows", "[oracle]") {
  for (std::uint64_t n = 0; n < 250; ++n) {
    const testing::traits t = traits_of(n);
    const testing::setting s = testing::make_setting(shape_of(n));
    INFO("variant " << n);
    const counts found = judged(s, contract_of(t), testing::free_order_kernel(s, t, n).run());
    CHECK(found.outside == 0);
    CHECK(found.unbounded == 0);
  }
}

TEST_CASE("where logits are too large to tell which key weighs most, O is an average of those that may", "[oracle]") {
  std::int64_t beyond = 0;
  for (std::uint64_t n = 0; n < 60; ++n) {
    testing::options o = shape_of(n);
    o.scale = n % 2 == 0 ? 3e5F : 4e6F;
    const testing::setting s = testing::make_setting(o);
    INFO("variant " << n);
    const contract c = in_any_order({});
    testing::traits t;
    t.two_pass = n % 3 == 0;
    t.natural_exp = n % 4 < 2;
    std::vector<testing::memory> written = testing::free_order_kernel(s, t, n).run();
    CHECK(judged(s, c, written).outside == 0);
    CHECK(judged(s, c, written).unbounded == 0);
    for (std::int64_t d = 0; d < o.dim_v; ++d) written[0].set(d, 5.0);  // beyond all values of normal data
    beyond += judged(s, c, written).outside;
  }
  CHECK(beyond == 60 * 16);
}

TEST_CASE("a masked key or a far sink does not blur the others of its row", "[oracle]") {
  testing::options o = shape_of(4);
  o.sequences = {{1, 40}};
  o.causal = false;
  o.bias_type = dtype::f32;
  o.sinks = true;
  const testing::setting s = testing::make_setting(o);
  for (std::int64_t head = 0; head < o.heads_q; ++head) {
    s["bias"].set(s["bias"].view.offset(head, 0, 7), -1e9);
    s["sinks"].set(head, -2e38);
  }
  const enclosure e = enclose(s.stated, s.tensors(), in_any_order({}));
  for (const interval& lse : e.tensors[1].elements) CHECK(lse.hi - lse.lo < 1e-4);
  for (const interval& x : e.tensors[0].elements) CHECK(x.hi - x.lo < 1e-3);
}

TEST_CASE("a row of masked keys alone is empty, or an average for kernels that take exp of natural logits",
          "[oracle]") {
  testing::options o = shape_of(4);
  o.sequences = {{1, 6}};
  o.causal = false;
  o.bias_type = dtype::bf16;
  const testing::setting s = testing::make_setting(o);
  for (std::int64_t head = 0; head < o.heads_q; ++head)
    for (std::int64_t key = 0; key < 6; ++key) s["bias"].set_bits(s["bias"].view.offset(head, 0, key), 0xFF7FU);
  const enclosure e = enclose(s.stated, s.tensors(), in_any_order({}));
  for (const interval& lse : e.tensors[1].elements) {
    CHECK(lse.lo == -infinity);
    CHECK(contains(lse, -3.39e38));
    CHECK(lse.hi < -1e37);
  }
  for (const interval& x : e.tensors[0].elements) {
    CHECK(contains(x, 0));
    CHECK(x.hi < 5);
    CHECK(x.lo > -5);
  }
}

TEST_CASE("a value that may overflow f16 leaves the other columns numbers", "[oracle]") {
  testing::options o = shape_of(4);
  o.sequences = {{1, 5}};
  o.heads_q = o.heads_kv = 1;
  const testing::setting s = testing::make_setting(o);
  std::int32_t page = 0;
  std::memcpy(&page, s["block_table"].bytes->data(), 4);
  s["v"].set(std::int64_t{page} * o.page_size * o.dim_v, 60000.0);
  contract c = in_any_order({});
  c.product_type = dtype::f16;
  c.product_roundings = 8;
  const enclosure e = enclose(s.stated, s.tensors(), c);
  CHECK(e.tensors[0].rule(0) == element_rule::or_special);
  for (std::int64_t d = 1; d < o.dim_v; ++d) CHECK(e.tensors[0].rule(d) != element_rule::or_special);

  // Queries that may overflow it leave nothing known.
  c = in_any_order({});
  c.query_type = dtype::f16;
  testing::options scaled = o;
  scaled.scale = 2.0F;
  const testing::setting large = testing::make_setting(scaled);
  large["q"].set(0, 60000.0);
  CHECK(is_everything(enclose(large.stated, large.tensors(), c).tensors[1].elements[0]));
}

TEST_CASE("a contract that allows anything bounds nothing, and does not count as decided", "[oracle]") {
  const testing::setting s = testing::make_setting(shape_of(10));
  contract c = in_any_order({});
  c.product_type = dtype::bf16;
  c.product_roundings = 64;
  c.pv = {1, 10, 1.0F, 0x1p-10F, 0.0F};
  CHECK(judged(s, c, testing::free_order_kernel(s, {}, 1).run()).unbounded > 0);
}

TEST_CASE("a kernel that rounds more than its contract says leaves it", "[oracle]") {
  // Each time the contract of a kernel without the trait.
  const auto outside = [](testing::traits t) {
    std::int64_t found = 0;
    for (std::uint64_t n = 0; n < 8; ++n) {
      testing::options o = shape_of(2 * n);
      o.o_type = dtype::f32;
      const testing::setting s = testing::make_setting(o);
      found += judged(s, contract_of({}), testing::free_order_kernel(s, t, n).run()).outside;
    }
    return found;
  };
  testing::traits t;
  CHECK(outside(t) == 0);
  CHECK(outside({.p_type = dtype::bf16}) > 0);
  CHECK(outside({.query_type = dtype::bf16}) > 0);
  CHECK(outside({.cache_type = dtype::bf16}) > 0);
  CHECK(outside({.product_type = dtype::bf16}) > 0);
  CHECK(outside({.states = 4, .partial_type = dtype::bf16}) > 0);
  CHECK(outside({.epsilon = 0.01F}) > 0);
  CHECK(outside({.wrong_key = 0.01}) > 0);
}

TEST_CASE("a kernel that reads f32 as TF32 lies inside a contract that says so, and in no other", "[oracle]") {
  const auto outside = [](dtype rounds_to, dtype declares) {
    std::int64_t found = 0;
    for (std::uint64_t n = 0; n < 40; ++n) {
      testing::options o = shape_of(n);
      o.qk_type = o.v_type = o.o_type = dtype::f32;
      const testing::setting s = testing::make_setting(o);
      testing::traits t;
      t.query_type = t.cache_type = t.p_type = rounds_to;
      t.states = static_cast<std::int32_t>(1 + n % 4);
      contract c = contract_of({});
      c.query_type = c.cache_type = c.p_type = declares;
      const counts all = judged(s, c, testing::free_order_kernel(s, t, n).run());
      CHECK(all.unbounded == 0);
      found += all.outside;
    }
    return found;
  };
  CHECK(outside(dtype::f32, dtype::f32) == 0);
  CHECK(outside(dtype::tf32, dtype::tf32) == 0);
  CHECK(outside(dtype::tf32, dtype::f32) > 0);
  CHECK(outside(dtype::bf16, dtype::tf32) > 0);
}

TEST_CASE("a kernel that rounds its query to FP8 lies inside a contract that says so, and in no other", "[oracle]") {
  const auto outside = [](dtype rounds_to, dtype declares) {
    counts found;
    for (std::uint64_t n = 0; n < 40; ++n) {
      const testing::setting s = testing::make_setting(shape_of(n));
      testing::traits t;
      t.query_type = rounds_to;
      t.states = static_cast<std::int32_t>(1 + n % 4);
      contract c = contract_of({});
      c.query_type = declares;
      const counts all = judged(s, c, testing::free_order_kernel(s, t, n).run());
      found.outside += all.outside;
      found.unbounded += all.unbounded;
    }
    CHECK(found.unbounded == 0);
    return found.outside;
  };
  for (const dtype fp8 : {dtype::e4m3fn, dtype::e4m3fnuz}) {
    CHECK(outside(fp8, fp8) == 0);
    CHECK(outside(fp8, dtype::bf16) > 0);
  }
}

TEST_CASE("kernels of a declared order lie inside the same contract without it, faulty ones do not", "[oracle]") {
  constexpr testing::fault planted[] = {testing::fault::lse_in_base_2,   testing::fault::wrong_page,
                                        testing::fault::missing_rescale, testing::fault::dropped_key,
                                        testing::fault::future_key,      testing::fault::unweighted_combine};
  std::int64_t seen[std::size(planted)] = {}, tried[std::size(planted)] = {};
  for (std::uint64_t n = 0; n < 40; ++n) {
    testing::options o = shape_of(n);
    o.num_splits = n % 3 == 0 ? 3 : 1;
    o.sinks = n % 6 == 1;
    o.causal = true;
    o.bias_type = n % 5 == 2 ? dtype::f16 : dtype::none;
    o.soft_cap = n % 7 == 2 ? 3.0F : 0.0F;
    contract c;
    c.tile_keys = n % 2 == 0 ? 16 : 8;
    c.p_type = n % 4 < 2 ? dtype::f32 : dtype::bf16;
    c.order = n % 3 == 1 ? tile_order::descending : tile_order::ascending;
    c.splits = n % 2 == 0 ? split_rule::of_longest : split_rule::of_sequence;
    contract open = c;
    open.order = tile_order::any;
    const testing::setting s = testing::make_setting(o);
    INFO("variant " << n);
    auto written = testing::scalar_kernel(s, c, n).run();
    CHECK(judged(s, c, written).outside == 0);
    CHECK(judged(s, open, written).outside == 0);
    CHECK(judged(s, open, written).unbounded == 0);
    for (std::size_t f = 0; f < std::size(planted); ++f) {
      ++tried[f];
      seen[f] += judged(s, open, testing::scalar_kernel(s, c, n, planted[f]).run()).outside > 0 ? 1 : 0;
    }
  }
  for (std::size_t f = 0; f < std::size(planted); ++f) {
    INFO("fault " << static_cast<int>(planted[f]) << ": " << seen[f] << " of " << tried[f]);
    // Splits, and rows whose maximum moves, are not in every variant.
    CHECK(seen[f] * (f == 2 || f == 5 ? 8 : 2) > tried[f]);
  }
}

TEST_CASE("a declared order and split rule differ from others", "[oracle]") {
  testing::options o = shape_of(4);
  o.sequences = {{2, 128}, {1, 600}};
  o.o_type = dtype::f32;
  o.num_splits = 4;
  contract c;
  c.tile_keys = 16;
  c.p_type = dtype::bf16;
  const testing::setting s = testing::make_setting(o);
  contract descending = c, longest = c;
  descending.order = tile_order::descending;
  longest.splits = split_rule::of_longest;
  for (const contract& is : {c, descending, longest}) {
    const auto written = testing::scalar_kernel(s, is, 5).run();
    CHECK(judged(s, is, written).outside == 0);
    CHECK((judged(s, c, written).outside == 0) == (&is == &c || (is.order == c.order && is.splits == c.splits)));
  }
}

TEST_CASE("the LSE has the base and the empty value that the contract says", "[oracle]") {
  testing::options o = shape_of(4);
  o.sequences = {{2, 40}, {3, 1}};
  o.causal = true;
  const testing::setting s = testing::make_setting(o);
  for (const tile_order order : {tile_order::ascending, tile_order::any}) {
    contract natural;
    natural.p_type = dtype::f32;
    natural.order = order;
    contract two = natural, plus = natural;
    two.base_of_lse = lse_base::two;
    plus.lse_without_keys = empty_lse::plus_infinity;
    for (const contract* is : {&natural, &two, &plus})
      for (const contract* judge_by : {&natural, &two, &plus}) {
        contract evaluated = *is;
        evaluated.order = tile_order::ascending;
        const auto written = testing::scalar_kernel(s, evaluated, 3).run();
        CHECK((judged(s, *judge_by, written).outside == 0) == (is == judge_by));
      }
  }
}

TEST_CASE("without an order, enclosures are as narrow as P's type allows", "[oracle]") {
  testing::options o = shape_of(4);
  o.sequences = {{1, 1000}};
  o.dim_qk = o.dim_v = 64;
  o.scale = 0.125F;
  const testing::setting s = testing::make_setting(o);
  contract c = in_any_order({});
  const auto radius = [&] { return measure_width(enclose(s.stated, s.tensors(), c).tensors[0]).median_radius_ulp; };
  const double of_f32 = radius();
  c.p_type = dtype::f16;
  const double of_f16 = radius();
  c.p_type = dtype::e4m3fn;
  const double of_e4m3 = radius();
  c.p_type = dtype::f32;
  c.tile_keys = 64;
  c.pv.products = 16;
  const double of_tiles = radius();
  INFO(of_f32 << " " << of_f16 << " " << of_e4m3 << " " << of_tiles);
  CHECK(of_tiles < of_f32);
  CHECK(of_f32 < of_f16);
  CHECK(of_f16 < 40);
  CHECK(of_e4m3 < 4000);
  CHECK(of_tiles < 3);
}

TEST_CASE("rows with a sink and a shifted P are decided, and enclose kernels of any reference", "[oracle]") {
  std::int64_t lost = 0, rows = 0;
  for (std::uint64_t n = 0; n < 40; ++n) {
    testing::options o = testing::prefill_variant(n);
    o.sinks = true;
    const contract c = testing::contract_of_variant(o, n);
    const testing::setting s = testing::make_setting(o);
    for (std::int64_t head = 0; head < o.heads_q; ++head)
      s["sinks"].set(head, n % 3 == 0 ? 2.0 : n % 3 == 1 ? -3.0 : 30.0);
    INFO("variant " << n);
    const auto written = testing::scalar_kernel(s, c, n).run();
    CHECK(judged(s, c, written).outside == 0);
    CHECK(judged(s, c, written).unbounded == 0);
    if (c.p_shift == 0) continue;
    // One that forgets the sink. Its LSE shows it wherever the sink weighs something.
    testing::setting without = s;
    std::erase_if(without.buffers, [](const testing::memory& m) { return m.name == "sinks"; });
    ++rows;
    lost += judged(s, c, testing::scalar_kernel(without, c, n).run()).outside > 0 ? 1 : 0;
  }
  CHECK(rows > 20);
  CHECK(lost == rows);
}

TEST_CASE("what any order may do is not much: LSE to some ulps, O to P's own rounding", "[oracle]") {
  testing::options o = testing::report_shape(dtype::e4m3fn, dtype::f16);
  o.sinks = true;
  o.sequences = {{1, 512}};
  const testing::setting s = testing::make_setting(o);
  const enclosure e = enclose(s.stated, s.tensors(), testing::prefill_contract(dtype::e4m3fn));
  const interval lse = e.tensors[1].elements[0], exact = evaluate_exactly(s.stated, s.tensors()).tensors[1].elements[0];
  CHECK(lse.lo < exact.lo);
  CHECK(exact.hi < lse.hi);
  CHECK(lse.hi - lse.lo < 1e-4);
  for (const interval& x : e.tensors[0].elements) CHECK(x.hi - x.lo < 0.2);
}

TEST_CASE("a NaN, or an infinity in V, is not widened away", "[oracle]") {
  testing::options o = testing::report_shape(dtype::e4m3fn, dtype::f16);
  o.sinks = true;
  o.sequences = {{1, 64}};
  const testing::setting s = testing::make_setting(o);
  s["q"].set_bits(3, 0x7F);
  const enclosure e = enclose(s.stated, s.tensors(), testing::prefill_contract(dtype::e4m3fn));
  CHECK(e.tensors[1].rule(0) == element_rule::nan);
  CHECK(e.tensors[0].rule(5) == element_rule::nan);

  testing::options half = shape_of(4);
  half.sequences = {{1, 5}};
  half.heads_q = half.heads_kv = 1;
  const testing::setting with_infinity = testing::make_setting(half);
  const std::int64_t page = [&] {
    std::int32_t id = 0;
    std::memcpy(&id, with_infinity["block_table"].bytes->data(), 4);
    return std::int64_t{id};
  }();
  with_infinity["v"].set(page * half.page_size * half.dim_v + 2, infinity);
  const enclosure special = enclose(with_infinity.stated, with_infinity.tensors(), in_any_order({}));
  CHECK(special.tensors[0].elements[2].lo == infinity);
  CHECK(special.tensors[0].elements[2].hi == infinity);
  CHECK(std::isfinite(special.tensors[0].elements[3].hi));
}

}  // namespace assay::oracle
