/// Enclosures of FP8 prefill are narrow: the shape of the upstream report, descales of its pages 3% apart.
#include <catch2/catch_test_macros.hpp>

#include "oracle/enclose.hpp"
#include "oracle/width.hpp"
#include "tests/oracle/prefill.hpp"

namespace assay::oracle {
namespace {

struct sharpness {
  width_statistics width;
  double ambiguous_share;
  double lse_radius;
};

sharpness measure(dtype type, dtype o_type, const contract& c, std::int32_t rows, float soft_cap = 0) {
  testing::options o = testing::report_shape(type, o_type);
  o.sequences = {{rows, 2048}};
  o.soft_cap = soft_cap;
  const testing::setting s = testing::make_setting(o);
  code_counts counts;
  const enclosure e = enclose(s.stated, s.tensors(), c, counts);
  CHECK(counts.codes == rows * 2048);
  const interval lse = e.tensors[1].elements[0];
  return {measure_width(e.tensors[0]), static_cast<double>(counts.ambiguous) / static_cast<double>(counts.codes),
          (lse.hi - lse.lo) / 2};
}

}  // namespace

TEST_CASE("nearly all outputs of FP8 prefill have at most two admissible codes", "[oracle]") {
  for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz})
    for (const dtype o_type : {dtype::bf16, dtype::f16}) {
      const sharpness fused = measure(type, o_type, testing::prefill_contract(type), 8);
      INFO("median " << fused.width.median_radius_ulp << ", p99 " << fused.width.p99_radius_ulp << ", sharp "
                     << fused.width.sharp_share << ", ambiguous " << fused.ambiguous_share << ", lse "
                     << fused.lse_radius);
      CHECK(fused.width.sharp_share >= 0.99);
      CHECK(fused.width.median_radius_ulp < 0.02);
      CHECK(fused.ambiguous_share < 1e-5);
      CHECK(fused.lse_radius < 3e-5);
    }
}

TEST_CASE("knowing the constant and the rounding of a fused logit is what makes prefill's P certain", "[oracle]") {
  contract c = testing::prefill_contract(dtype::e4m3fn);
  const sharpness known = measure(dtype::e4m3fn, dtype::f16, c, 64);
  c.constant_roundings = 2;
  const sharpness free = measure(dtype::e4m3fn, dtype::f16, c, 64);
  INFO("ambiguous " << known.ambiguous_share << " and " << free.ambiguous_share << ", p99 "
                    << known.width.p99_radius_ulp << " and " << free.width.p99_radius_ulp);
  CHECK(known.width.sharp_share >= 0.999);
  CHECK(free.width.sharp_share >= 0.95);
  CHECK(free.ambiguous_share < 1e-4);
  CHECK(free.width.p99_radius_ulp > 5 * known.width.p99_radius_ulp);
  c = testing::prefill_contract(dtype::e4m3fn);
  c.fuses_logits = 0;
  CHECK(measure(dtype::e4m3fn, dtype::f16, c, 16, 3).width.sharp_share >= 0.8);
}

}  // namespace assay::oracle
