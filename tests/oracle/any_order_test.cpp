/// Rows with a sink under a contract that shifts P: the contract does not say what l starts from, the definition does.
#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
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

}  // namespace

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
  CHECK(lse.hi - lse.lo < 1e-3);
  for (const interval& x : e.tensors[0].elements) CHECK(x.hi - x.lo < 2);
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
}

}  // namespace assay::oracle
