/// Rows behind the last entry of cu_seqlens_q: they must keep their bits, and nothing reads them.
#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "tests/oracle/scalar_kernel.hpp"

namespace assay::oracle {
namespace {

constexpr std::int64_t padding = 3;

/// A batch whose last `padding` rows belong to no sequence; NaN in their q and bias.
testing::setting padded(std::uint64_t seed, std::int32_t splits) {
  testing::options o;
  o.seed = seed;
  o.sequences = {{2, 21}, {1, 0}, {padding, 0}};
  o.heads_q = 2;
  o.num_splits = splits;
  o.causal = seed % 2 == 0;
  o.bias_type = seed % 3 == 0 ? dtype::f16 : dtype::none;
  testing::setting s = testing::make_setting(o);
  --s.stated.num_seqs;
  for (const char* name : {"cu_seqlens_q", "seqlens_k", "block_table"})
    for (testing::memory& m : s.buffers)
      if (m.name == name) --m.view.shape[0];
  const tensor& q = s["q"].view;
  for (std::int64_t at = q.offset(3); at < q.size(); ++at) s["q"].set_bits(at, 0x7E00);
  if (o.bias_type == dtype::none) return s;
  const tensor& bias = s["bias"].view;
  for (std::int64_t head = 0; head < bias.shape[0]; ++head)
    for (std::int64_t at = bias.offset(head, 3); at < bias.offset(head + 1); ++at) s["bias"].set_bits(at, 0x7E00);
  return s;
}

contract tiles_of_16() {
  contract c;
  c.tile_keys = 16;
  c.p_type = dtype::f16;
  return c;
}

std::int64_t kept(const enclosed_tensor& t) {
  std::int64_t count = 0;
  for (std::int64_t flat = 0; flat < static_cast<std::int64_t>(t.elements.size()); ++flat) count += t.keeps(flat);
  return count;
}

/// What judges of all tensors count together.
judgement sum(const std::vector<judgement>& all) {
  judgement total;
  for (const judgement& j : all) {
    total.outside += j.outside;
    total.overwritten += j.overwritten;
    total.unbounded += j.unbounded;
  }
  return total;
}

TEST_CASE("rows behind the last sequence's must keep their bits, in all outputs", "[padding]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (const std::int32_t splits : {1, 3}) {
      const testing::setting s = padded(seed, splits);
      const enclosure bounds = enclose(s.stated, s.tensors(), tiles_of_16());
      CHECK(bounds.tensors.size() == (splits > 1 ? 4 : 2));
      for (const enclosed_tensor& t : bounds.tensors) {
        std::int64_t wanted = padding * s.stated.heads_q;
        if (t.name.starts_with("o")) wanted *= s.stated.head_dim_v;
        if (t.name.ends_with("_partial")) wanted *= splits;
        INFO(t.name);
        CHECK(kept(t) == wanted);
      }
      const std::vector<testing::memory> written = testing::scalar_kernel(s, tiles_of_16(), seed).run();
      const judgement right = sum(judge(bounds, testing::views(written)));
      CHECK(right.outside == 0);
      CHECK(right.unbounded == 0);
      for (const testing::memory& m : written) {
        const tensor& t = m.view;
        const bool is_partial = m.name.ends_with("_partial");
        m.set_bits(is_partial ? t.offset(splits - 1, 5, 1) : t.offset(5, 1), 0);
      }
      const judgement wrong = sum(judge(bounds, testing::views(written)));
      CHECK(wrong.outside == static_cast<std::int64_t>(written.size()));
      CHECK(wrong.overwritten == wrong.outside);
    }
}

TEST_CASE("the exact results leave rows behind the last sequence's unwritten as well", "[padding]") {
  const testing::setting s = padded(0, 1);
  for (const enclosure& exact :
       {evaluate_exactly(s.stated, s.tensors()), evaluate_in_binary64(s.stated, s.tensors())}) {
    CHECK(kept(exact.tensors[0]) == padding * s.stated.heads_q * s.stated.head_dim_v);
    CHECK(kept(exact.tensors[1]) == padding * s.stated.heads_q);
  }
}

TEST_CASE("sequences that end behind the last row are no problem of attention", "[padding]") {
  testing::setting s = padded(0, 1);
  s["cu_seqlens_q"].set(2, static_cast<double>(s.stated.total_q + 1));
  CHECK_THROWS_AS(enclose(s.stated, s.tensors(), tiles_of_16()), std::invalid_argument);
}

}  // namespace
}  // namespace assay::oracle
