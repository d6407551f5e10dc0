/// Enclosures are narrow enough to be worth something: the goals for 1,024 keys, head_dim 128, tiles of 64.
#include "oracle/width.hpp"

#include <catch2/catch_test_macros.hpp>

#include "oracle/enclose.hpp"
#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

struct sharpness {
  width_statistics width;
  double ambiguous_share;
  double lse_radius;
};

sharpness measure(dtype type, const accumulation& model, std::int32_t splits = 1) {
  testing::options o;
  o.qk_type = o.v_type = o.o_type = type;
  o.sequences = {{1, 1024}};
  o.heads_q = 8;
  o.dim_qk = o.dim_v = 128;
  o.page_size = 64;
  o.scale = 0.088388346F;
  o.num_splits = splits;
  const testing::setting s = testing::make_setting(o);
  contract c;
  c.p_type = type;
  c.qk = c.pv = model;
  c.constant_roundings = 1;  // as the cpu kernels declare
  c.sum_roundings = 7;
  c.normalise_roundings = 1;
  c.exp2_relative_error = 1.01F * 0x1p-24F;
  c.log_absolute_error = 0;
  c.log_relative_error = 1.01F * 0x1p-24F;
  code_counts counts;
  const enclosure e = enclose(s.stated, s.tensors(), c, counts);
  CHECK(counts.codes == 8 * 1024);
  const interval lse = e.tensors[1].elements[0];
  return {measure_width(e.tensors[0]), static_cast<double>(counts.ambiguous) / static_cast<double>(counts.codes),
          (lse.hi - lse.lo) / 2};
}

}  // namespace

TEST_CASE("on normal data at least 95% of f16 and 98% of bf16 elements have at most two admissible codes", "[oracle]") {
  const sharpness half = measure(dtype::f16, {}), brain = measure(dtype::bf16, {}), split = measure(dtype::f16, {}, 4);
  CHECK(half.width.sharp_share >= 0.95);
  CHECK(half.width.median_radius_ulp < 0.1);
  CHECK(half.ambiguous_share < 0.006);
  CHECK(half.lse_radius < 2e-5);
  CHECK(brain.width.sharp_share >= 0.98);
  CHECK(brain.width.median_radius_ulp < 0.01);
  CHECK(split.width.sharp_share >= 0.95);
}

TEST_CASE("a model that rounds per atom is far sharper than one that rounds per product", "[oracle]") {
  const sharpness atoms = measure(dtype::f16, {}), products = measure(dtype::f16, {1, 24, 2.0F, 0x1p-23F, 0.0F});
  CHECK(products.width.median_radius_ulp > 10 * atoms.width.median_radius_ulp);
  CHECK(products.width.sharp_share < atoms.width.sharp_share);
}

}  // namespace assay::oracle
