/// Quantised P, fused logits and descales per page: the enclosure holds every run that follows the contract, whatever
/// it makes of what is left open, and none of those that break a rule.
#include "tests/oracle/prefill.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

using testing::bias;
using testing::fault;
using testing::options;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double nothing = -std::numeric_limits<double>::infinity();

std::vector<judgement> judge_run(const testing::setting& s, const contract& c, std::uint64_t seed, fault planted,
                                 bias leaning = bias::random) {
  const std::vector<testing::memory> written = testing::scalar_kernel(s, c, seed, planted, leaning).run();
  return judge(enclose(s.stated, s.tensors(), c), testing::views(written));
}

/// Elements of o and lse that are outside; all are decided.
std::int64_t outside(const testing::setting& s, const contract& c, std::uint64_t seed, bias leaning) {
  std::int64_t count = 0;
  for (const judgement& j : judge_run(s, c, seed, fault::none, leaning)) {
    count += j.outside;
    CHECK(j.unbounded == 0);
  }
  return count;
}

}  // namespace

TEST_CASE("a prefill kernel is enclosed whatever roundings it chooses and wherever it leans", "[oracle]") {
  for (std::uint64_t n = 0; n < 72; ++n) {
    const options o = testing::prefill_variant(n);
    const testing::setting s = testing::make_setting(o);
    const contract c = testing::contract_of_variant(o, n);
    INFO("variant " << n);
    CHECK(outside(s, c, n, bias::random) == 0);
    for (const bias leaning : {bias::above, bias::below, bias::alternating}) CHECK(outside(s, c, n, leaning) == 0);
  }
}

TEST_CASE("so it is for maxima that climb, data that cancels, and units that align and truncate", "[oracle]") {
  for (std::uint64_t n = 0; n < 18; ++n) {
    options o = testing::prefill_variant(n);
    o.draw = [n](char which, std::int64_t at, std::mt19937_64& random) {
      if (n % 3 == 0) return which == 'v' ? (at % 2 == 0 ? 200.0 : -200.0) : testing::normal(random);
      if (n % 3 == 1) return testing::normal(random) + (which == 'k' ? 0.002 * static_cast<double>(at) : 1.0);
      return std::ldexp(testing::normal(random), static_cast<int>(random() % 6));
    };
    const testing::setting s = testing::make_setting(o);
    contract c = testing::contract_of_variant(o, n);
    if (n % 2 == 0) c.qk = c.pv = accumulation{16, 24, 17.0F, 0x1p-23F, 0.0F};
    INFO("variant " << n);
    for (const bias leaning : {bias::random, bias::above, bias::below, bias::alternating})
      CHECK(outside(s, c, n, leaning) == 0);
  }
}

TEST_CASE("O in units of 2^-64 that the v scale may lift beyond f32 is at least what it is", "[oracle]") {
  options o = testing::report_shape(dtype::e4m3fn, dtype::bf16);
  o.sequences = {{1, 128}};
  o.page_size = 64;
  o.v_scale = 0x1p55F;
  o.descale = [](char which, std::int64_t nth, std::int64_t) { return which == 'v' && nth == 1 ? 0x1p-64 : 1.0; };
  o.draw = [](char which, std::int64_t, std::mt19937_64&) { return which == 'v' ? 32.0 : 0.0; };
  const testing::setting s = testing::make_setting(o);
  const contract c = testing::prefill_contract(dtype::e4m3fn);
  CHECK(outside(s, c, 1, bias::random) == 0);
  const enclosure e = enclose(s.stated, s.tensors(), c);  // 64 of 128 keys make 32 2^55, but 2^84 2^55 on the way
  CHECK(e.tensors[0].elements[0].hi == std::numeric_limits<double>::infinity());
  CHECK(e.tensors[0].elements[0].lo > 0x1.fp58);
  CHECK(e.tensors[0].elements[0].lo <= 0x1p59);
}

TEST_CASE("the rounding of a fused maximum shows where nothing else is rounded", "[oracle]") {
  options o = testing::report_shape(dtype::e4m3fn, dtype::f32);
  o.sequences = {{1, 1}};
  contract c = testing::prefill_contract(dtype::e4m3fn);
  c.p_shift = 0;
  c.sum_roundings = 0;  // l is the one p itself, which is 1 but for what f32(c2 a) misses of c2 a
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    o.seed = seed;
    o.draw = [](char which, std::int64_t, std::mt19937_64& random) {
      return which == 'q' ? 8 * testing::normal(random) : testing::normal(random);
    };
    CHECK(outside(testing::make_setting(o), c, seed, bias::random) == 0);
  }
}

TEST_CASE("a prefill kernel that breaks a rule leaves the enclosure by far", "[oracle]") {
  const options o = testing::report_shape(dtype::e4m3fn, dtype::f16);
  const testing::setting s = testing::make_setting(o);
  const contract c = testing::prefill_contract(dtype::e4m3fn);
  struct expectation {
    fault planted;
    const char* tensor;
    double factor;
    double share;  ///< of the elements
  };
  for (const expectation& e :
       {expectation{fault::early_k_descale, "o", 300, 0.85}, expectation{fault::early_v_descale, "o", 300, 0.85},
        expectation{fault::early_descales, "o", 300, 0.85}, expectation{fault::late_descales, "o", 300, 0.85},
        expectation{fault::early_k_descale, "lse", 100, 1.0}, expectation{fault::missing_ratio, "o", 1000, 0.95},
        expectation{fault::unshifted_lse, "lse", 1e5, 1.0}, expectation{fault::truncated_p, "o", 1000, 0.95}})
    for (const judgement& j : judge_run(s, c, 1, e.planted)) {
      if (j.tensor != e.tensor) continue;
      INFO("fault " << static_cast<int>(e.planted) << " in " << e.tensor << ": " << j.outside << " of " << j.elements
                    << " outside, factor " << j.worst_factor);
      CHECK(static_cast<double>(j.outside) >= e.share * static_cast<double>(j.elements));
      CHECK(j.worst_factor > e.factor);
    }
}

TEST_CASE("descales that do not differ change nothing, whatever dead pages hold", "[oracle]") {
  options o = testing::report_shape(dtype::e4m3fn, dtype::f16);
  o.sequences = {{2, 150}};
  o.page_size = 64;
  o.descale = [](char, std::int64_t, std::int64_t) { return 1.0; };
  const testing::setting paged = testing::make_setting(o);  // entries of dead pages are NaN
  o.descale = nullptr;
  const testing::setting plain = testing::make_setting(o);
  const contract c = testing::prefill_contract(dtype::e4m3fn);
  const enclosure a = enclose(paged.stated, paged.tensors(), c), b = enclose(plain.stated, plain.tensors(), c);
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t i = 0; i < a.tensors[t].elements.size(); ++i) {
      CHECK(a.tensors[t].elements[i].lo == b.tensors[t].elements[i].lo);
      CHECK(a.tensors[t].elements[i].hi == b.tensors[t].elements[i].hi);
    }
}

TEST_CASE("live descales that are none, and ratios beyond f32, make undecided what they reach, no more", "[oracle]") {
  options o = testing::report_shape(dtype::e4m3fn, dtype::f32);
  o.sequences = {{33, 33}};
  o.page_size = 16;
  o.causal = true;
  const contract c = testing::prefill_contract(dtype::e4m3fn, 16, 20);  // blocks of rows 0-19, 20-32
  const auto everything_in = [&](const testing::setting& s, std::size_t row) {
    const enclosure e = enclose(s.stated, s.tensors(), c);
    std::size_t count = 0;
    for (std::size_t d = 0; d < 128; ++d) count += is_everything(e.tensors[0].elements[row * 128 + d]) ? 1 : 0;
    CHECK((count == 0 || count == 128));
    return std::pair{count == 128, is_everything(e.tensors[1].elements[row])};
  };
  for (const double poison : {not_a_number, -nothing, nothing, 0.0, -1.0, 1e-45}) {
    o.descale = [poison](char which, std::int64_t nth, std::int64_t) {
      return which == 'k' && nth == 1 ? poison : 1.0;
    };
    testing::setting s = testing::make_setting(o);
    CHECK(everything_in(s, 15) == std::pair{false, false});  // its block visits the page, it sees no key of it
    CHECK(everything_in(s, 16) == std::pair{true, true});
    CHECK(everything_in(s, 32) == std::pair{true, true});
    if (poison == 1e-45) continue;  // a legal descale, though its product with the constant is none that f32 holds well
    CHECK(!is_everything(evaluate_exactly(s.stated, s.tensors()).tensors[1].elements[15]));
    CHECK(is_everything(evaluate_exactly(s.stated, s.tensors()).tensors[1].elements[16]));
    o.descale = [poison](char which, std::int64_t nth, std::int64_t) {
      return which == 'v' && nth == 2 ? poison : 1.0;
    };
    s = testing::make_setting(o);
    CHECK(everything_in(s, 19) == std::pair{false, false});  // its block ends before
    CHECK(everything_in(s, 20) == std::pair{true, false});
    CHECK(everything_in(s, 32) == std::pair{true, false});
    CHECK(is_everything(evaluate_exactly(s.stated, s.tensors()).tensors[0].elements[32 * 128]));
    CHECK(!is_everything(evaluate_exactly(s.stated, s.tensors()).tensors[0].elements[31 * 128]));
  }
  o.descale = [](char which, std::int64_t nth, std::int64_t) { return which == 'v' ? (nth == 1 ? 1e30 : 1e-30) : 1.0; };
  CHECK(everything_in(testing::make_setting(o), 3) == std::pair{true, false});
}

TEST_CASE("the factor of a tile that only others of the block see is counted", "[oracle]") {
  options o = testing::report_shape(dtype::e4m3fn, dtype::f32);
  o.sequences = {{48, 48}};
  o.page_size = 16;
  o.causal = true;
  const testing::setting s = testing::make_setting(o);
  const auto width = [&](std::int32_t tile_rows) {
    const enclosure e = enclose(s.stated, s.tensors(), testing::prefill_contract(dtype::e4m3fn, 16, tile_rows));
    return e.tensors[0].elements[128].hi - e.tensors[0].elements[128].lo;  // row 1 sees two keys
  };
  CHECK(width(48) > width(16) * 1.2);
  CHECK(width(48) < width(16) * 4);
}

TEST_CASE("a contract that quantises nothing holds the exact value, with descales, fused or not", "[oracle]") {
  for (std::uint64_t n = 0; n < 40; ++n) {
    const options o = testing::prefill_variant(n);
    const testing::setting s = testing::make_setting(o);
    contract c = testing::contract_of_variant(o, n);
    c.p_type = dtype::f32;
    const enclosure exact = evaluate_exactly(s.stated, s.tensors()), bounds = enclose(s.stated, s.tensors(), c);
    INFO("variant " << n);
    for (std::size_t t = 0; t < 2; ++t)
      for (std::size_t i = 0; i < exact.tensors[t].elements.size(); ++i) {
        const interval &inner = exact.tensors[t].elements[i], &outer = bounds.tensors[t].elements[i];
        CHECK((outer.lo <= inner.lo && inner.hi <= outer.hi && !is_everything(outer)));
      }
  }
}

TEST_CASE("what the contract does not define is undecided or refused", "[oracle]") {
  options o = testing::report_shape(dtype::e4m3fn, dtype::f16);
  o.sequences = {{2, 64}};
  o.page_size = 64;
  const contract c = testing::prefill_contract(dtype::e4m3fn);
  const auto lse_of = [&](const options& of) {
    const testing::setting s = testing::make_setting(of);
    return enclose(s.stated, s.tensors(), c).tensors[1].elements[0];
  };
  CHECK(!is_everything(lse_of(o)));
  o.sinks = true;
  CHECK(!is_everything(lse_of(o)));  // the definition, widened; see any_order_test
  o.sinks = false;
  o.soft_cap = 2;
  CHECK(is_everything(lse_of(o)));
  o.soft_cap = 0;
  o.scale = -o.scale;
  CHECK(is_everything(lse_of(o)));
  o.scale = -o.scale;
  contract without_rows = c, across = c;
  without_rows.tile_rows = 0;
  across.tile_keys = 48;
  const testing::setting s = testing::make_setting(o);
  CHECK_THROWS_AS(enclose(s.stated, s.tensors(), without_rows), std::invalid_argument);
  CHECK_THROWS_AS(enclose(s.stated, s.tensors(), across), std::invalid_argument);
  o.num_splits = 2;
  CHECK_THROWS_AS(lse_of(o), std::invalid_argument);
}

}  // namespace assay::oracle
