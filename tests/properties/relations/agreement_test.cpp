#include "properties/relations/agreement.hpp"
#include "properties/data/difference.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <string>

#include "kernels/contract_recipes.hpp"
#include "kernels/matrix_atoms.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/edit.hpp"
#include "properties/relations/broken_calls.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {
namespace {

detailed_run run_with_splits(std::int32_t splits) {
  attention_case c = testing::small_case();
  c.num_splits = splits;
  return run_in_detail(*library::built_in(), c);
}

std::optional<std::string> disagreement(const detailed_run& a, const detailed_run& b) {
  return first_disagreement(a.given, {a.given, a.ran, a.bounds, "one"}, {b.given, b.ran, b.bounds, "other"});
}

TEST_CASE("runs under different split counts agree") {
  const detailed_run one = run_with_splits(1);
  for (const std::int32_t splits : {2, 3, 128}) CHECK_FALSE(disagreement(one, run_with_splits(splits)).has_value());
}

TEST_CASE("runs that differ by more than rounding P can explain do not agree") {
  const detailed_run one = run_with_splits(1);
  detailed_run two = run_with_splits(2);
  const tensor& o = find_buffer(two.ran.written.buffers, "o")->view();
  const std::uint32_t bits = bits_at(o, 3);
  set_bits(o, 3, other_bits(o.type, bits));
  CHECK(disagreement(one, two)->starts_with("o[0, 0, 3] is "));
  set_bits(o, 3, poison_bits(o.type));
  CHECK(disagreement(one, two).has_value());
  set_bits(o, 3, bits);
  const tensor& lse = find_buffer(two.ran.written.buffers, "lse")->view();
  static_cast<float*>(lse.data)[2] += 1e-2F;
  CHECK(disagreement(one, two)->starts_with("lse[0, 2] is "));
}

TEST_CASE("of a unit that is declared exactly its error is added, of no other") {
  const detailed_run one = run_with_splits(1);
  detailed_run two = run_with_splits(1);
  const tensor& lse = find_buffer(two.ran.written.buffers, "lse")->view();
  static_cast<float*>(lse.data)[2] += 1e-4F;
  CHECK(disagreement(one, two).has_value());
  two.ran.declared.qk = hopper_fp8_dots;
  CHECK(disagreement(one, two).has_value());  // the bounds say that it was judged by these errors already
  two.ran.declared.qk_atom = hopper_fp8_atom(dtype::e4m3fn);
  CHECK_FALSE(disagreement(one, two).has_value());
  detailed_run alike = run_with_splits(1);
  alike.ran.declared = two.ran.declared;
  CHECK(disagreement(alike, two).has_value());  // with the same logits
  static_cast<float*>(lse.data)[2] += 1.0F;
  CHECK(disagreement(one, two)->starts_with("lse[0, 2] is "));
}

TEST_CASE("half a spacing is what rounding to nearest may move") {
  CHECK(half_spacing(dtype::f16, 1.0) == 0x1p-11);
  CHECK(half_spacing(dtype::f16, 0.0) == 0x1p-25);
  CHECK(half_spacing(dtype::bf16, -2.0) == 0x1p-7);
}

TEST_CASE("infinity agrees with what overflows to it, and with no other number") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(may_be_stored(dtype::f16, infinity, 65519, 2));
  CHECK_FALSE(may_be_stored(dtype::f16, infinity, 65500, 2));
  CHECK_FALSE(may_be_stored(dtype::f16, -infinity, 65519, 2));
  CHECK_FALSE(may_be_stored(dtype::f16, 65504, infinity, 2));
  CHECK_FALSE(may_be_stored(dtype::f16, infinity, std::nan(""), 2));
  CHECK_FALSE(may_be_stored(dtype::f16, std::nan(""), 1, 2));
  CHECK(may_be_stored(dtype::f16, 65504, 65521, 2));  // 65519 rounds to it
  CHECK(may_be_rounded(dtype::f16, infinity, 65504, 0x1p-1));
  CHECK(may_be_rounded(dtype::f16, 65504, infinity, 0x1p-1));
  CHECK_FALSE(may_be_rounded(dtype::f16, infinity, 65408, 0x1p-1));
  CHECK_FALSE(may_be_rounded(dtype::f16, infinity, -infinity, 0x1p-1));
  // Numbers from 65520 on become infinite, on either side of 0.
  CHECK_FALSE(may_be_rounded(dtype::f16, infinity, -infinity, 131039));
  CHECK(may_be_rounded(dtype::f16, infinity, -infinity, 131040));
  CHECK(may_be_rounded(dtype::f16, -infinity, infinity, 0x1p50));
  CHECK_FALSE(may_be_rounded(dtype::f16, std::nan(""), 1, infinity));
}

TEST_CASE("every broken scalar differs from the good one") {
  std::map<std::string, bool> changes;
  for (const operation* op : operations)
    for (const broken_problem& m : broken_problems(*op)) {
      problem p;
      p.operation = op->kind;
      p.heads_q = 2;
      p.heads_kv = (op->capabilities & has_values) == 0 ? 1 : 2;
      p.max_k = p.max_model_len = 3;
      p.num_seqs = 2;
      p.num_pages = 5;
      p.num_splits = 1;
      p.batching = q_batching::batch;
      const problem before = p;
      bool& changed = changes[m.name];
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the copy has the padding of the original
      if (m.apply(p)) changed = changed || std::memcmp(&p, &before, sizeof p) != 0;
    }
  for (const auto& [name, changed] : changes) {
    INFO(name);
    CHECK(changed);
  }
  CHECK(changes.size() > 40);
}

}  // namespace
}  // namespace assay::relations
