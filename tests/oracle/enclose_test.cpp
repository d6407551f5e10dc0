/// The contract's enclosure holds every run that follows the contract, and none of those that break a rule.
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "oracle/enclosure.hpp"
#include "tests/oracle/scalar_kernel.hpp"

namespace assay::oracle {
namespace {

using testing::fault;
using testing::options;

contract small_tiles(dtype p_type, std::int32_t tile_keys = 16) {
  contract c;
  c.tile_keys = tile_keys;
  c.p_type = p_type;
  return c;
}

std::int64_t outside(const testing::setting& s, const contract& c, std::uint64_t seed, fault planted = fault::none) {
  const std::vector<testing::memory> written = testing::scalar_kernel(s, c, seed, planted).run();
  std::int64_t count = 0;
  for (const judgement& j : judge(enclose(s.stated, s.tensors(), c), testing::views(written))) {
    count += j.outside;
    CHECK(j.unbounded == 0);
    CHECK((j.worst_factor > 1) == (j.outside > 0));
  }
  return count;
}

/// One of everything that the contract distinguishes, by number.
options variant(std::uint64_t n) {
  options o;
  o.seed = n;
  o.sequences = {{1 + static_cast<std::int32_t>(n % 3), 37}, {2, 20}, {1, 0}, {1, 1}};
  o.heads_q = n % 2 == 0 ? 6 : 2;
  o.heads_kv = 2;
  o.dim_qk = 24;
  o.causal = n % 3 != 0;
  o.window = n % 5 == 0 ? 7 : 0;
  o.num_splits = static_cast<std::int32_t>(1 + n % 4);
  o.soft_cap = n % 7 == 0 ? 3.0F : 0.0F;
  o.bias_type = n % 4 == 1 ? dtype::f32 : dtype::none;
  o.sinks = n % 3 == 1;
  o.page_list = n % 2 == 1;
  o.scale = n % 11 == 0 ? -0.3F : 0.3F;
  if (n % 5 == 1)
    o.sequences[0].prefix = 3, o.sequences[1].prefix = 30, o.sequences[2].prefix = 0, o.sequences[3].prefix = -2;
  switch (n % 6) {
    case 1: o.qk_type = o.v_type = o.o_type = dtype::bf16; break;
    case 2: o.qk_type = dtype::i8, o.q_scale = 0.02F, o.k_scale = 0.03F; break;
    case 3: o.k_type = o.v_type = dtype::e4m3fn, o.k_scale = 0.7F, o.v_scale = 1.3F; break;
    case 4: o.k_type = o.v_type = dtype::e4m3fnuz, o.v_scale = 0.37F; break;
    default: break;
  }
  return o;
}

}  // namespace

TEST_CASE("whatever roundings a kernel chooses that the contract admits, its output is enclosed", "[oracle]") {
  for (std::uint64_t n = 0; n < 60; ++n) {
    const options o = variant(n);
    const testing::setting s = testing::make_setting(o);
    const contract c = small_tiles(n % 6 == 1 ? dtype::bf16 : n % 8 == 6 ? dtype::f32 : dtype::f16);
    INFO("variant " << n);
    for (std::uint64_t seed = 0; seed < 3; ++seed) CHECK(outside(s, c, seed) == 0);
  }
}

TEST_CASE("the same holds for units that align and truncate, and for data that cancels or climbs", "[oracle]") {
  for (std::uint64_t n = 0; n < 24; ++n) {
    options o = variant(n);
    o.draw = [n](char which, std::int64_t at, std::mt19937_64& random) {
      if (n % 3 == 0)
        return which == 'v' ? (at % 2 == 0 ? 1.0 : -1.0) * (100 + testing::uniform(random)) : testing::normal(random);
      if (n % 3 == 1) return which == 'k' ? 0.01 * static_cast<double>(at % 977) : testing::normal(random);
      return which == 'q' ? 1.0 : std::ldexp(testing::normal(random), static_cast<int>(random() % 8));
    };
    const testing::setting s = testing::make_setting(o);
    contract c = small_tiles(n % 2 == 0 ? dtype::f16 : dtype::bf16);
    c.qk = c.pv = accumulation{8, 24, 9.0F, 0x1p-23F, 0.0F};
    INFO("variant " << n);
    for (std::uint64_t seed = 0; seed < 3; ++seed) CHECK(outside(s, c, seed) == 0);
  }
}

TEST_CASE("the same holds for tiles that are dealt to several states, which are joined at the end",
          "[oracle][states]") {
  for (std::uint64_t n = 0; n < 60; ++n) {
    options o = variant(n);
    if (n % 2 == 0)  // the maxima of the states differ
      o.draw = [](char which, std::int64_t at, std::mt19937_64& random) {
        return which == 'k' ? 0.03 * static_cast<double>(at % 191) : testing::normal(random);
      };
    const testing::setting s = testing::make_setting(o);
    contract c = small_tiles(n % 6 == 1 ? dtype::bf16 : dtype::f16, n % 3 == 0 ? 4 : 8);
    c.states = static_cast<std::int32_t>(2 + n % 3);
    c.state_roundings = 2 * c.states;
    INFO("variant " << n);
    for (std::uint64_t seed = 0; seed < 3; ++seed) CHECK(outside(s, c, seed) == 0);
  }
}

TEST_CASE("a kernel that joins its states wrongly leaves the enclosure, as one does with other states",
          "[oracle][states]") {
  options o;
  o.sequences = {{2, 90}};
  o.heads_q = 2;
  o.heads_kv = 1;
  o.draw = [](char which, std::int64_t at, std::mt19937_64& random) {
    return testing::normal(random) + (which == 'k' ? 0.01 * static_cast<double>(at % 97) : which == 'q' ? 1.0 : 0.0);
  };
  const testing::setting s = testing::make_setting(o);
  contract c = small_tiles(dtype::f16);
  c.states = 3;
  c.state_roundings = 3;
  CHECK(outside(s, c, 1) == 0);
  for (const fault f : {fault::unweighted_states, fault::lost_state, fault::missing_rescale, fault::dropped_key}) {
    INFO("fault " << static_cast<int>(f));
    CHECK(outside(s, c, 1, f) > 0);
  }
  contract other = c;  // P of f16 is rounded relative to another maximum
  other.states = 1;
  other.state_roundings = 0;
  const std::vector<testing::memory> written = testing::scalar_kernel(s, c, 1).run();
  const enclosure bounds = enclose(s.stated, s.tensors(), other);
  CHECK(judge(bounds, testing::views(written))[0].worst_factor > 1);
}

TEST_CASE("of states whose logits lose a shift of P nothing is said, rather than that l is below 0",
          "[oracle][states]") {
  options o;
  o.sequences = {{1, 90}};
  o.num_splits = 3;
  o.draw = [](char, std::int64_t, std::mt19937_64& random) { return random() % 2 == 0 ? 65504.0 : -65504.0; };
  const testing::setting s = testing::make_setting(o);
  contract c = small_tiles(dtype::e4m3fn, 4);
  c.p_shift = 4;
  c.states = c.state_roundings = 4;
  for (const enclosed_tensor& t : enclose(s.stated, s.tensors(), c).tensors)
    for (const interval& e : t.elements) CHECK(e.lo <= e.hi);
}

TEST_CASE("l, whose parts lanes join, may err by as many roundings as are declared, and not by more",
          "[oracle][states]") {
  for (const std::int32_t states : {1, 3}) {
    options o;
    o.sequences = {{2, 90}};
    const testing::setting s = testing::make_setting(o);
    contract c = small_tiles(dtype::f16);
    c.states = states;
    c.state_roundings = states == 1 ? 0 : 2 * states;
    c.sum_join_roundings = 2000;
    for (std::uint64_t seed = 0; seed < 5; ++seed) CHECK(outside(s, c, seed) == 0);
    contract fewer = c;
    fewer.sum_join_roundings = 3;
    const std::vector<testing::memory> written = testing::scalar_kernel(s, c, 1).run();
    const auto judged = judge(enclose(s.stated, s.tensors(), fewer), testing::views(written));
    CHECK(std::ranges::any_of(judged, [](const auto& j) { return j.outside > 0; }));
  }
}

TEST_CASE("what is not finite in a state reaches the joined row, whatever the state weighs", "[oracle][states]") {
  constexpr double special[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  for (const double value : special)
    for (const bool is_heavy : {true, false}) {
      options o;
      o.sequences = {{1, 64}};
      o.scale = 40;
      // The keys of state 1 lie far above those of state 0, or far below, where they weigh 0.
      o.draw = [is_heavy, value, &o](char which, std::int64_t at, std::mt19937_64&) {
        if (which == 'k') return (at / o.dim_qk / 16 % 2 == 1) == is_heavy ? 1.0 : -1.0;
        return which == 'v' && at / o.dim_v == 20 ? value : 1.0;
      };
      const testing::setting s = testing::make_setting(o);
      contract c = small_tiles(dtype::f16);
      c.states = 2;
      c.state_roundings = 2;
      const enclosure bounds = enclose(s.stated, s.tensors(), c);
      const enclosed_tensor& out = bounds.tensors[0];
      INFO(value << ", heavy " << is_heavy);
      if (std::isnan(value))
        CHECK(out.rule(0) == element_rule::nan);
      else if (is_heavy)
        CHECK((out.elements[0].lo > 1e300 && !admits_nan(out.rule(0))));
      else
        CHECK(admits_nan(out.rule(0)));
    }
}

TEST_CASE("logits so large that nothing is known of the weights still bound what they weigh", "[oracle]") {
  options o;
  o.sequences = {{2, 60}};
  o.heads_q = 2;
  o.num_splits = 3;
  o.draw = [](char which, std::int64_t, std::mt19937_64& random) {
    return which == 'v' ? testing::normal(random) : (random() % 2 == 0 ? 65504.0 : -65504.0);
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    o.seed = seed;
    o.soft_cap = seed % 2 == 0 ? 0.0F : 30.0F;
    CHECK(outside(testing::make_setting(o), small_tiles(dtype::f16), seed) == 0);
  }
}

TEST_CASE("a kernel that breaks a rule leaves the enclosure", "[oracle]") {
  options o;
  o.sequences = {{3, 50}, {1, 33}};
  o.heads_q = 4;
  o.heads_kv = 2;
  o.causal = true;
  o.num_splits = 2;
  o.sinks = true;
  // Maxima climb, so that every tile rescales.
  o.draw = [](char which, std::int64_t at, std::mt19937_64& random) {
    return testing::normal(random) + (which == 'k'   ? 0.004 * std::floor(static_cast<double>(at) / 32)
                                      : which == 'q' ? 1.0
                                                     : 0.0);
  };
  for (const dtype p_type : {dtype::f16, dtype::bf16}) {
    o.o_type = o.qk_type = o.v_type = p_type;
    const testing::setting s = testing::make_setting(o);
    const contract c = small_tiles(p_type, 8);
    REQUIRE(outside(s, c, 1) == 0);
    for (const fault planted : {fault::lse_in_base_2, fault::wrong_page, fault::swapped_head, fault::missing_rescale,
                                fault::stale_maximum, fault::dropped_key, fault::extra_zero_key, fault::v_scale_off,
                                fault::future_key, fault::sink_per_split, fault::unweighted_combine}) {
      INFO("fault " << static_cast<int>(planted));
      CHECK(outside(s, c, 1, planted) > 0);
    }
  }
}

TEST_CASE("P in FP8 is replayed code by code", "[oracle]") {
  options o;
  o.sequences = {{2, 60}};
  o.v_type = dtype::e4m3fn;
  o.o_type = dtype::bf16;
  const testing::setting s = testing::make_setting(o);
  contract c = small_tiles(dtype::e4m3fn);
  CHECK(outside(s, c, 3) == 0);
  contract unrounded = c;
  unrounded.p_type = dtype::f32;
  const auto written = testing::scalar_kernel(s, c, 3).run();
  CHECK(judge(enclose(s.stated, s.tensors(), unrounded), testing::views(written))[0].outside > 0);
}

}  // namespace assay::oracle
