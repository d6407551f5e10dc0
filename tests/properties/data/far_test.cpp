// Tensors whose indices lie far apart: laid where it is asked for, with memory for their elements alone.
#include <algorithm>
#include <numeric>

#include <catch2/catch_test_macros.hpp>

#include "properties/case/tensor_plan.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/edit.hpp"
#include "properties/relations/relations.hpp"
#include "properties/run/row_gaps.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

using testing::small_case;

/// Two sequences of two rows each, two heads, two splits, a bias.
attention_case far_case(std::int32_t dimension) {
  attention_case c = small_case();
  c.sequences.resize(1);
  c.sequences[0].q = 2;
  c.sequences.push_back(c.sequences[0]);
  c.heads_q = 4;
  c.heads_kv = 2;
  c.num_splits = 2;
  c.bias_type = dtype::f32;
  c.far_dimension = dimension;
  return c;
}

/// Bytes from the first index of a dimension to the last.
std::int64_t reach(const tensor& t, int dimension) {
  return (t.shape[dimension] - 1) * t.stride[dimension] * size_bytes(t.type);
}

void check_far(const buffer& b, int dimension) {
  CAPTURE(b.name(), dimension);
  const tensor& t = b.view();
  REQUIRE(b.is_sparse());
  CHECK(reach(t, dimension) >= far_bytes);
  CHECK(t.stride[t.rank - 1] == 1);
  std::int64_t bytes = 0;
  for (const index_range& r : b.accessible()) bytes += r.size();
  CHECK(bytes <= t.shape[dimension] * (64 << 10));
  for (int d = 0; d < t.rank; ++d)
    if (d != dimension) CHECK(reach(t, d) < 64 << 10);
}

}  // namespace

TEST_CASE("each tensor with rows has the dimension far apart that the case names", "[far]") {
  const attention_case one = far_case(1), two = far_case(2), three = far_case(3);
  const auto planned = [](const attention_case& c) {
    problem p = to_problem(c);
    return make_outputs(p, layout_of(c));
  };
  const inputs first = fill(one), second = fill(two);
  for (const char* name : {"q", "block_table"}) check_far(*find_buffer(first.buffers, name), 0);
  check_far(*find_buffer(first.buffers, "bias"), 0);
  check_far(*find_buffer(second.buffers, "q"), 1);
  check_far(*find_buffer(second.buffers, "bias"), 1);
  check_far(*find_buffer(second.buffers, "block_table"), 0);
  const outputs out = planned(one), other = planned(two), heads = planned(three);
  for (const char* name : {"o", "lse", "o_partial", "lse_partial"}) check_far(*find_buffer(out.buffers, name), 0);
  for (const char* name : {"o", "o_partial", "lse_partial"}) check_far(*find_buffer(other.buffers, name), 1);
  check_far(*find_buffer(other.buffers, "lse"), 0);
  check_far(*find_buffer(heads.buffers, "o_partial"), 2);
  // Pools and lists stay.
  for (const char* name : {"k", "v", "seqlens_k", "cu_seqlens_q"})
    CHECK_FALSE(find_buffer(first.buffers, name)->is_sparse());
}

TEST_CASE("a tensor with one index there, or with too many, stays as it is", "[far]") {
  problem p = to_problem(far_case(1));
  p.num_splits = 1;
  for (const std::int32_t rows : {1, 2, 256, 257}) {
    p.total_q = rows;
    const outputs out = make_outputs(p, {.row_margin = 3, .far_dimension = 1});
    CHECK(out.buffers[0].is_sparse() == (rows == 2 || rows == 256));
    if (out.buffers[0].is_sparse()) CHECK(reach(out.buffers[0].view(), 0) >= far_bytes);
  }
}

TEST_CASE("the data of far tensors, and of what is made from them, are those of near ones", "[far]") {
  const inputs near = fill(far_case(0));
  for (const std::int32_t dimension : {1, 2, 3}) {
    const inputs far = fill(far_case(dimension)), copies = clone(far);
    for (const buffer& b : near.buffers)
      for (const inputs* in : {&far, &copies})
        for_each_index(b.view(), [&](const auto& index) {
          const tensor& other = find_buffer(in->buffers, b.name())->view();
          CHECK(bits_at(b.view(), offset_of(b.view(), index)) == bits_at(other, offset_of(other, index)));
        });
    const buffer& q = *find_buffer(far.buffers, "q");
    const buffer swapped = gather(q, 0, {1, 0, 2});
    CHECK(bits_at(swapped.view(), swapped.view().stride[1]) ==
          bits_at(q.view(), q.view().stride[0] + q.view().stride[1]));
  }
}

TEST_CASE("a shared bias that is copied apart is near", "[far]") {
  attention_case c = far_case(2);
  c.bias_shared = bias_sharing::heads;
  const inputs in = clone(fill(c));
  CHECK_FALSE(find_buffer(in.buffers, "bias")->is_sparse());
}

TEST_CASE("a write between the far rows of an output is seen", "[far]") {
  problem p = to_problem(far_case(1));
  p.num_splits = 1;
  outputs out = make_outputs(p, {.row_margin = 3, .far_dimension = 1});
  const row_gaps before(out.buffers);
  CHECK(before.first_change().empty());
  buffer& o = out.buffers[0];
  const tensor& t = o.view();
  const std::int64_t past_row = (2 * t.stride[0] + t.shape[1] * t.stride[1]) * size_bytes(t.type);
  o.bytes({past_row, past_row + 1})[0] ^= std::byte{1};
  CHECK(before.first_change().starts_with("o was written between its rows: at [2, 4, 0]"));
}

TEST_CASE("the kernels do not mind how far rows lie apart", "[far]") {
  for (const std::int32_t dimension : {0, 1, 2, 3}) {
    const verdict v = relations::far_rows.check(*library::built_in(), far_case(dimension));
    CAPTURE(v.what);
    CHECK(v.result == outcome::pass);
  }
  // One row, one head, no bias: nothing can lie apart.
  attention_case c = small_case();
  c.sequences.resize(1);
  c.sequences[0].q = 1;
  c.heads_q = c.heads_kv = 1;
  c.num_splits = 1;
  CHECK(relations::far_rows.check(*library::built_in(), c).result == outcome::discard);
}

TEST_CASE("far_rows keeps to as many rows as can lie apart", "[far]") {
  attention_case c = small_case();
  c.heads_q = c.heads_kv = 1;
  c.num_splits = 1;
  for (const std::int32_t padding : {0, 22, 1000}) {
    c.padding_rows = padding;
    c.sequences.resize(2);
    c.sequences[0].q = c.sequences[1].q = 300;
    relations::far_rows.adapt(c, {});
    CHECK(to_problem(c).total_q == far_indices_max);
    const verdict v = relations::far_rows.check(*library::built_in(), c);
    CAPTURE(v.what);
    CHECK(v.result == outcome::pass);
  }
}

TEST_CASE("a kernel that takes far rows for others computes other bits", "[far]") {
  // Rows of Q beyond 2^31 bytes are taken to be the first row.
  const auto lib = testing::faulty_library([](testing::call& c) {
    std::int64_t& stride = c.at("q").view.strides[0];
    const std::int64_t given = stride;
    if (given * 2 > std::int64_t{1} << 31) stride = 0;
    const assay_status status = c.run();
    stride = given;
    return status;
  });
  const verdict v = relations::far_rows.check(*lib, far_case(0));
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "far_rows");
  CHECK(v.what.starts_with("after laying the indices of dimension 0 of every tensor over 32 GiB o["));
}

}  // namespace assay
