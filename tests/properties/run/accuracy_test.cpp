// Distances to the exact value: what `replay --accuracy` prints. Held against MPFR.
#include "properties/run/accuracy.hpp"
#include "properties/data/difference.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "oracle/decode.hpp"
#include "oracle/interval.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/edit.hpp"
#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

/// max |element - exact| by MPFR, and what binary64 may err by: its enclosures' widths, which are those of the values
/// where these cancel, and far below the largest element's last place.
struct exact_distance {
  double largest = 0;
  double uncertainty = 0;
};

exact_distance distance_from_mpfr(const detailed_run& run) {
  const oracle::enclosure exact = oracle::evaluate_exactly(run.ran.planned, run.given.tensors());
  const oracle::enclosed_tensor& result = exact.tensors.front();
  const tensor& out = find_buffer(run.ran.written.buffers, result.name)->view();
  exact_distance d;
  double size = 0;
  std::int64_t flat = 0;
  for_each_index(out, [&](const std::vector<std::int64_t>& index) {
    const std::int64_t at = flat++;
    const double truth = result.elements[static_cast<std::size_t>(at)].lo, value = value_at(out, offset_of(out, index));
    if (result.keeps(at) || !std::isfinite(truth)) return;
    d.largest = std::max(d.largest, std::fabs(value - truth));
    size = std::max(size, std::fabs(truth));
  });
  d.uncertainty = oracle::ulp(result.type, size) * 0x1p-10;
  const oracle::enclosure fast = oracle::evaluate_in_binary64(run.ran.planned, run.given.tensors());
  for (const oracle::interval& e : fast.tensors.front().elements)
    if (std::isfinite(e.hi - e.lo)) d.uncertainty = std::max(d.uncertainty, e.hi - e.lo);
  return d;
}

accuracy of(const detailed_run& run) {
  return measure_accuracy(run.given, run.ran, run.result);
}

}  // namespace

TEST_CASE("the definition in binary64 encloses what it encloses in MPFR, and says as much", "[long]") {
  for (const char* kernel : {"split_kv", "batch_prefill", "mqa_logits"})
    test::for_cases(40,
                    [&](const attention_case& c) {
                      const detailed_run run = run_in_detail(*library::built_in(), c);
                      if (run.result.result != outcome::pass) return;
                      const oracle::enclosure exact = oracle::evaluate_exactly(run.ran.planned, run.given.tensors());
                      const oracle::enclosure fast = oracle::evaluate_in_binary64(run.ran.planned, run.given.tensors());
                      REQUIRE(exact.tensors.size() == fast.tensors.size());
                      int outside = 0, unknown = 0;
                      for (std::size_t t = 0; t < exact.tensors.size(); ++t) {
                        REQUIRE(exact.tensors[t].elements.size() == fast.tensors[t].elements.size());
                        CHECK(exact.tensors[t].kept == fast.tensors[t].kept);
                        for (std::size_t i = 0; i < exact.tensors[t].elements.size(); ++i) {
                          const oracle::interval &e = exact.tensors[t].elements[i], &f = fast.tensors[t].elements[i];
                          outside += f.lo <= e.hi && e.lo <= f.hi ? 0 : 1;
                          unknown += oracle::is_everything(f) && !oracle::is_everything(e) ? 1 : 0;
                        }
                      }
                      INFO(to_json(c));
                      CHECK(outside == 0);
                      CHECK(unknown == 0);
                    },
                    {kernel});
}

TEST_CASE("the distance to exact is MPFR's", "[long]") {
  for (const char* kernel : {"split_kv", "batch_prefill", "mqa_logits"}) {
    int measured = 0;
    test::for_cases(40,
                    [&](const attention_case& c) {
                      const detailed_run run = run_in_detail(*library::built_in(), c);
                      if (run.result.result != outcome::pass) return;
                      const accuracy a = of(run);
                      INFO(to_json(c));
                      const exact_distance truth = distance_from_mpfr(run);
                      CHECK(std::fabs(a.largest - truth.largest) <= truth.uncertainty);
                      CHECK(a.outside_share == 0);
                      CHECK(a.worst_factor <= 1);
                      measured += a.largest > 0 ? 1 : 0;
                    },
                    {kernel});
    CHECK(measured > 12);
  }
}

TEST_CASE("a NaN is infinitely far from exact, an infinity where it belongs is not") {
  attention_case c = testing::small_case();
  detailed_run run = run_in_detail(*library::built_in(), c);
  const buffer& o = *find_buffer(run.ran.written.buffers, "o");
  CHECK(std::isfinite(of(run).largest));
  set_bits(o.view(), 5, poison_bits(o.view().type));
  run.result = judge_execution(run.given, run.ran);  // no NaN is due there
  CHECK(of(run).largest == std::numeric_limits<double>::infinity());
  CHECK(of(run).largest_rounded == std::numeric_limits<double>::infinity());
  run.ran.written.buffers.clear();
  CHECK_THROWS_AS(of(run), std::invalid_argument);

  c = test::arbitrary(1, 40, {"mqa_logits"});
  c.fills_hidden = true;
  c.sequences = {{.q = 2, .k = 1, .prefix_offset = {}, .pages = {0}}};
  c.pool_pages = 1;
  c.max_model_len = 40;
  const detailed_run hidden = run_in_detail(*library::built_in(), c);
  REQUIRE(hidden.result.result == outcome::pass);
  CHECK(of(hidden).elements == 80);  // 79 of them are -inf
  CHECK(std::isfinite(of(hidden).largest));
  CHECK(accuracy_text(of(hidden)).starts_with("max |logits - exact| "));
  c.fills_hidden = false;
  CHECK(of(run_in_detail(*library::built_in(), c)).elements == 1);
}

TEST_CASE("where nothing can be measured, that is said, and no distance of 0") {
  attention_case c = testing::small_case();
  for (sequence& s : c.sequences) s.q = 0;
  const detailed_run empty = run_in_detail(*library::built_in(), c);
  REQUIRE(empty.result.result == outcome::pass);
  CHECK(of(empty).elements == 0);
  CHECK(accuracy_text(of(empty)) == "no element of o has an exact value to compare with");
}

TEST_CASE("rounding the exact value costs at most half a last place, and an element elsewhere shows it") {
  detailed_run run = run_in_detail(*library::built_in(), testing::small_case());
  const tensor& o = find_buffer(run.ran.written.buffers, "o")->view();
  const accuracy before = of(run);
  CHECK(before.largest_rounded <= before.largest + 0.5 * before.largest / before.largest_ulp);
  set_bits(o, 7, bits_at(o, 7) ^ 0x4000U);  // f16: the exponent's highest bit
  const accuracy after = of(run);
  CHECK(after.largest > 0.5);
  CHECK(std::fabs(after.largest_rounded - after.largest) < 0x1p-10);
}

}  // namespace assay
