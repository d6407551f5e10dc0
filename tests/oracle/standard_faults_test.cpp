/// The standard faults: their effects are what the definition says, and the judge's answers are those of the case.
#include "oracle/standard_faults.hpp"

#include <cmath>
#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "oracle/decode.hpp"
#include "oracle/encode.hpp"
#include "oracle/faulty_row.hpp"
#include "oracle/interval.hpp"
#include "tests/oracle/scalar_kernel.hpp"

namespace assay::oracle {
namespace {

using testing::options;

TEST_CASE("a pattern decodes to a number that encodes to the pattern") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8}) {
    const std::uint32_t patterns = size_bytes(type) == 1 ? 256 : 65536;
    for (std::uint32_t bits = 0; bits < patterns; ++bits) {
      const double value = decode(type, bits);
      if (std::isnan(value))
        REQUIRE(std::isnan(decode(type, encode(type, value))));
      else
        REQUIRE(encode(type, value) == bits);
    }
  }
  for (const float value : {0.0F, -0.0F, 1.5F, -0x1p-149F, 3.0e38F})
    CHECK(encode(dtype::f32, static_cast<double>(value)) == std::bit_cast<std::uint32_t>(value));
}

/// Two sequences with everything that attention's faults need, but page descales and FP8.
options rich() {
  options o;
  o.sequences = {{3, 41}, {2, 30}, {1, 0}};
  o.heads_q = 4;
  o.heads_kv = 2;
  o.dim_qk = 24;
  o.causal = true;
  o.num_splits = 2;
  o.sinks = true;
  o.soft_cap = 2.0F;
  o.bias_type = dtype::f32;
  return o;
}

contract small_tiles() {
  contract c;
  c.tile_keys = 8;
  return c;
}

/// Per fault: places, those where a bit changes, those that are seen.
struct sightings {
  int places = 0, changes = 0, seen = 0;
};

std::map<std::string, sightings> sightings_of(const options& o, const contract& c, bool is_blind = false) {
  std::map<std::string, sightings> all;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    options varied = o;
    varied.seed = seed;
    const testing::setting s = testing::make_setting(varied);
    const std::vector<testing::memory> written = testing::scalar_kernel(s, c, seed).run();
    const std::vector<named_tensor> outputs = testing::views(written);
    enclosure bounds = enclose(s.stated, s.tensors(), c);
    if (is_blind)
      for (enclosed_tensor& t : bounds.tensors) {
        t.elements.assign(t.elements.size(), interval{-1e30, 1e30});
        t.kept.clear();
      }
    for (const fault_effect& e : fault_effects(s.stated, s.tensors(), c, bounds, outputs, seed)) {
      const fault_sighting sighting = ask_judge(e, bounds, outputs);
      sightings& of = all[e.fault->name];
      ++of.places;
      of.changes += sighting.changes ? 1 : 0;
      of.seen += sighting.is_seen ? 1 : 0;
      CHECK((sighting.changes || !sighting.is_seen));
      const bool is_sign = std::string_view(e.fault->name) == "negative_zero";
      CHECK((sighting.size > 0) == (sighting.changes && !is_sign));
    }
  }
  return all;
}

TEST_CASE("each fault that the cases can have has places, and a sharp judge sees nearly all of them") {
  const std::map<std::string, sightings> all = sightings_of(rich(), small_tiles());
  for (const standard_fault& f : standard_faults(operation_kind::attention)) {
    CAPTURE(f.name);
    const std::string_view needs = f.needs;
    // The LSE of capped or biased logits has no scale to forget.
    if (needs == "page_descales" || needs == "fp8" || std::string_view(f.name) == "lse_without_scale") continue;
    REQUIRE(all.contains(f.name));
    const sightings& s = all.at(f.name);
    CAPTURE(s.places, s.changes, s.seen);
    CHECK(s.places >= 5);
    CHECK(s.seen >= 3 * s.changes / 4);
    CHECK(s.changes > 0);
  }
}

TEST_CASE("the faults of descales and FP8 codes have places where pages have descales") {
  options o = rich();
  o.qk_type = o.v_type = dtype::e4m3fn;
  o.num_splits = 1;
  o.sinks = false;
  o.soft_cap = 0;
  o.bias_type = dtype::none;
  o.page_size = 8;
  o.descale = [](char tensor, std::int64_t nth, std::int64_t head) {
    return 1 + 0.05 * static_cast<double>(nth) + 0.01 * static_cast<double>(head) + (tensor == 'k' ? 0.002 : 0.0);
  };
  contract c = small_tiles();
  c.tile_rows = 16;
  c.merge_roundings = 1;
  const std::map<std::string, sightings> all = sightings_of(o, c);
  for (const char* fault :
       {"k_descale_of_neighbour", "v_descale_of_neighbour", "k_code_misread", "v_code_misread", "lse_without_scale"}) {
    CAPTURE(fault);
    REQUIRE(all.contains(fault));
    CHECK(all.at(fault).seen >= 3 * all.at(fault).changes / 4);
    CHECK(all.at(fault).changes >= 5);
  }
}

TEST_CASE("a cap is lost where it takes 1% of a key's weight, and nowhere where it is idle") {
  options o = rich();
  o.soft_cap = 1000.0F;
  CHECK_FALSE(sightings_of(o, small_tiles()).contains("soft_cap_lost"));
  o.soft_cap = 4.0F;  // takes 0.01 from logits of 0.8 and more
  const std::map<std::string, sightings> all = sightings_of(o, small_tiles());
  REQUIRE(all.contains("soft_cap_lost"));
  const sightings& s = all.at("soft_cap_lost");
  CAPTURE(s.changes, s.seen);
  CHECK(s.changes >= 8);
  CHECK(s.seen == s.changes);
}

TEST_CASE("a judge whose enclosures hold everything sees no fault") {
  for (const auto& [name, s] : sightings_of(rich(), small_tiles(), true)) {
    CAPTURE(name);
    CHECK(s.changes > 0);
    CHECK(s.seen == 0);
  }
}

TEST_CASE("a row as it should be is the definition's row, and a dropped last key is a shorter sequence") {
  options o = rich();
  o.causal = false;
  o.num_splits = 1;
  o.sequences = {{1, 30}};
  const testing::setting s = testing::make_setting(o);
  const std::vector<named_tensor> inputs = s.tensors();
  const problem_view view(s.stated, inputs);
  const auto expect_row = [&](const row_result& row, const enclosure& exact, std::int64_t head) {
    const auto dim = static_cast<std::size_t>(s.stated.head_dim_v);
    for (std::size_t c = 0; c < dim; ++c) {
      const interval& e = exact.tensors[0].elements[static_cast<std::size_t>(head) * dim + c];
      CHECK(std::fabs(row.o[c] - e.lo) < 1e-12);
    }
    CHECK(std::fabs(row.lse - exact.tensors[1].elements[static_cast<std::size_t>(head)].lo) < 1e-12);
  };
  const enclosure exact = evaluate_exactly(s.stated, s.tensors());
  for (std::int64_t head = 0; head < s.stated.heads_q; ++head)
    expect_row(faulty_row(view, 0, 0, head).evaluate(), exact, head);
  s["seqlens_k"].set(0, 29);
  const enclosure shorter = evaluate_exactly(s.stated, s.tensors());
  s["seqlens_k"].set(0, 30);
  for (std::int64_t head = 0; head < s.stated.heads_q; ++head) {
    faulty_row row(view, 0, 0, head);
    row.keys.back().weight_factor = 0;
    expect_row(row.evaluate(), shorter, head);
  }
}

}  // namespace
}  // namespace assay::oracle
