// Each property holds for the clean kernels and catches a fault made for it. Where a fault flips one bit of the output,
// the enclosure alone would not see it.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "oracle/decode.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/relations/expect_caught.hpp"

namespace assay::relations {
namespace {

using testing::call;
using testing::corrupting_library;
using testing::small_case;

void expect_clean(const property& p, const attention_case& c) {
  const verdict v = p.check(*library::built_in(), c);
  CAPTURE(p.name, v.origin, v.what);
  CHECK(v.result == outcome::pass);
}

TEST_CASE("every property holds for the clean kernels") {
  for (const property& p : properties())
    if (applies(p, small_case().kernel)) expect_clean(p, adapted(p));
}

TEST_CASE("every property holds for a batch of one decode row on one key") {
  attention_case c = small_case();
  c.causal = false;
  c.sequences = {{.q = 1, .k = 1, .prefix_offset = {}, .pages = {5}}};
  for (const property& p : properties())
    if (applies(p, c.kernel)) expect_clean(p, adapted(p, c));
}

TEST_CASE("no property fails on a batch without keys") {
  attention_case c = small_case();
  c.sequences = {{.q = 1, .k = 0, .prefix_offset = {}, .pages = {}}};
  for (const property& p : properties())
    if (applies(p, c.kernel)) CHECK(p.check(*library::built_in(), c).result != outcome::fail);
}

TEST_CASE("output_enclosed catches a wrong value") {
  const auto faulty = corrupting_library([](call& c) { set_bits(c.view("o"), 0, 0x7BFF); });
  CHECK(output_enclosed.check(*faulty, small_case()).result == outcome::fail);
}

TEST_CASE("every property catches a wrong value that all runs have alike") {
  const auto faulty = corrupting_library([](call& c) { set_bits(c.view("o"), 0, 0x7BFF); });
  for (const property& p : properties()) {
    if (!applies(p, small_case().kernel)) continue;
    const verdict v = p.check(*faulty, adapted(p));
    CAPTURE(p.name, v.what);
    CHECK(v.result == outcome::fail);
    CHECK((v.origin == "enclosure" || v.origin == p.name));
  }
}

TEST_CASE("a broken relation is reported as that, though the base is wrong as well") {
  const auto faulty =
      corrupting_library([](call& c) { set_bits(c.view("o"), 0, c.i32("block_table", 0, 0) == 3 ? 0x7BFF : 0x7BFE); });
  CHECK(run_case(*faulty, small_case()).origin == "enclosure");
  CHECK(page_permutation.check(*faulty, small_case()).origin == "page_permutation");
}

TEST_CASE("split_count catches a fault that only other split counts show") {
  const auto faulty = corrupting_library([](call& c) {
    if (c.stated.num_splits != 2) set_bits(c.view("o"), 0, 0x7BFF);
  });
  CHECK(run_case(*faulty, small_case()).result == outcome::pass);
  const verdict v = split_count.check(*faulty, small_case());
  CHECK(v.origin == "split_count");
  CHECK(v.what.starts_with("2 splits pass, but with "));
}

TEST_CASE("combine_partials catches a fault of the unsplit kernel") {
  const auto faulty = corrupting_library([](call& c) {
    if (c.stated.num_splits == 1) set_bits(c.view("o"), 0, 0x7BFF);
  });
  const verdict v = combine_partials.check(*faulty, small_case());
  CHECK(v.origin == "combine_partials");
  CHECK(v.what.starts_with("2 splits pass, but unsplit o[0, 0, 0]"));
}

TEST_CASE("combine_partials catches an output that its partials do not join to") {
  const auto faulty = corrupting_library([](call& c) {
    const tensor o = c.view("o");
    if (c.has("o_partial")) set_bits(o, 0, bits_at(o, 0) ^ 0x40U);
  });
  CHECK(combine_partials.check(*faulty, small_case()).result == outcome::fail);
}

TEST_CASE("combine_partials knows how f32 rounds below its normal range") {
  attention_case c;  // o[0, 0, 47] lies half-way between two subnormals of bf16
  c.q_type = c.kv_type = c.o_type = dtype::bf16;
  c.bias_type = dtype::f32;
  c.pool_pages = 6;
  c.num_splits = 2;
  c.sequences = {{.q = 1, .k = 95, .prefix_offset = {}, .pages = {0, 1, 2, 3, 4, 5}}};
  c.data.fill = fill_kind::subnormal;
  c.data.bias = bias_kind::steep;
  c.data.seed = 228;
  const verdict v = combine_partials.check(*library::built_in(), c);
  CAPTURE(v.what);
  CHECK(v.result == outcome::pass);
  const auto faulty = corrupting_library([](call& called) {  // within its enclosure, but more than f32 rounds by
    if (!called.has("o_partial")) return;
    const tensor partial = called.view("o_partial");
    set_bits(partial, 47, bits_at(partial, 47) + 4);
  });
  CHECK(combine_partials.check(*faulty, c).origin == "combine_partials");
}

TEST_CASE("page_permutation catches a bit that depends on a page's number") {
  expect_caught(page_permutation, corrupting_library([](call& c) {
                  if (c.i32("block_table", 0, 0) != 3) c.flip_o();
                }),
                "after permuting the physical pages o[0, 0, 0]: ");
}

TEST_CASE("pool_shift catches a bit that depends on how far away a page is") {
  expect_caught(pool_shift, corrupting_library([](call& c) {
                  const tensor k = c.view("k");
                  const std::int64_t at = c.i32("block_table", 0, 0) * k.stride[0] * size_bytes(k.type);
                  if (at >= std::int64_t{1} << 32) c.flip_o();
                }),
                "after shifting the pool by 2^32 bytes o[0, 0, 0]: ");
}

TEST_CASE("pages move where V's pool is sparse, by its longer rows, and K's is dense") {
  attention_case c;
  c.head_dim_v = 88;
  c.page_size = 1024, c.pool_pages = 198;
  c.layout = pool_layout::hnd, c.v_has_other_layout = true;
  c.packing = tensor_packing::packed;
  c.num_splits = 1;
  c.sequences = {{.q = 1, .k = 0, .prefix_offset = {}, .pages = {}}};
  for (const property* p : {&pool_shift, &page_permutation, &page_sharing}) {
    const verdict v = p->check(*library::built_in(), c);
    CAPTURE(p->name, v.what);
    CHECK(v.result != outcome::fail);
  }
  CHECK(pool_shift.check(*library::built_in(), c).result == outcome::pass);
}

TEST_CASE("table_tail catches a bit that depends on an entry past the last page") {
  for (const auto& [entry, name] : {std::pair{-1, "-1"}, {2147483647, "2147483647"}, {0, "0"}})
    expect_caught(table_tail, corrupting_library([entry = entry](call& c) {
                    // Sequence 0 has two pages, sequence 1 three; two entries are spare.
                    if (c.i32("block_table", 0, 2) == entry && c.i32("block_table", 0, 3) == entry) c.flip_o();
                  }),
                  std::string("after setting all table entries past the last page to ") + name + " ");
}

TEST_CASE("table_tail catches a bit that depends on the length of the table") {
  const auto faulty = corrupting_library([](call& c) {
    if (c.view("block_table").shape[1] == 3) c.flip_o();
  });
  expect_caught(table_tail, faulty, "cutting the page table to its exact length");
}

TEST_CASE("page_sharing catches a bit that depends on two sequences having one page") {
  expect_caught(page_sharing, corrupting_library([](call& c) {
                  if (c.i32("block_table", 0, 0) != c.i32("block_table", 1, 0)) c.flip_o();
                }),
                "private copies");
}

TEST_CASE("dead_memory catches a bit that depends on a slot after the last key") {
  expect_caught(dead_memory, corrupting_library([](call& c) {
                  const tensor k = c.view("k");  // sequence 0 has 20 keys: slot 4 of its page 1 is dead
                  if (bits_at(k, k.offset(1, 4)) == 0) c.flip_o();
                }),
                "changing dead memory from nan to zero");
}

TEST_CASE("hidden_keys catches a bit that depends on a key that a causal row does not see") {
  // The last of 20 keys, in slot 3 of page 1, is hidden from row 0 and visible to row 1.
  std::optional<std::uint32_t> first;
  expect_caught(hidden_keys, corrupting_library([&](call& c) {
                  const tensor v = c.view("v");
                  const std::uint32_t now = bits_at(v, v.offset(1, 3));
                  if (now != first.value_or(now))
                    for (std::int64_t row = 0; row < 3; row += 2) {
                      const tensor o = c.view("o");
                      set_bits(o, o.offset(row), bits_at(o, o.offset(row)) ^ 1U);
                    }
                  if (!first) first = now;
                }),
                "changing all keys that row");
}

TEST_CASE("hidden_keys catches a bit that depends on a key that no row sees") {
  attention_case c = small_case();
  c.window = 4;
  const auto faulty = corrupting_library([](call& one) {
    const tensor v = one.view("v");  // page 0 is the first of sequence 1: behind the window
    if (!std::isnan(value_at(v, v.offset(0, 0)))) one.flip_o();
  });
  expect_caught(hidden_keys, faulty, "replacing the keys that no row sees", c);
}

TEST_CASE("other_sequences catches a bit that depends on the size of the batch") {
  expect_caught(other_sequences, corrupting_library([](call& c) {
                  if (c.stated.num_seqs == 1) c.flip_o();
                }),
                "dropping all sequences but sequence");
}

TEST_CASE("other_sequences makes no dead NaN live for a kernel that does not take live NaN") {
  // As torch on AVX-512, which converts NaN to the bf16 of all ones: the bits of an unwritten element.
  const auto odd_nan = corrupting_library([](call& c) {
    const tensor o = c.view("o");
    for_each_index(o, [&](const std::vector<std::int64_t>& at) {
      const std::int64_t i = offset_of(o, at);
      if (std::isnan(oracle::decode(o.type, bits_at(o, i)))) set_bits(o, i, 0xFFFF);
    });
  });
  attention_case c = testing::small_case();
  c.window = 1;
  c.sequences.assign(2, c.sequences.front());
  c.sequences[0].q = c.sequences[1].q = 1;
  c.sequences[0].k = 4;  // half of it ends with a key that the window hid
  c.sequences[1].k = 1;
  c.sequences[0].pages = c.sequences[1].pages = {0};
  c.page_size = 16;
  c.pool_pages = 1;
  for (c.data.seed = 0; c.data.seed < 2; ++c.data.seed) {
    const bool keeps_the_second = c.data.seed == 0;
    assay_support takes{};
    takes.size_bytes = sizeof takes;
    takes.no_same_bits = 1;  // each run is then judged by its enclosure
    odd_nan->supports["split_kv"] = takes;
    const verdict taking = other_sequences.check(*odd_nan, c);
    INFO(taking.what);
    if (keeps_the_second) CHECK(taking.what.find("(not written) where NaN is due") != std::string::npos);
    takes.no_live_nan = 1;
    odd_nan->supports["split_kv"] = takes;
    CHECK(other_sequences.check(*odd_nan, c).result == outcome::pass);
  }
}

TEST_CASE("other_sequences catches a bit that depends on another's keys") {
  const auto faulty = corrupting_library([](call& c) {
    if (c.i32("seqlens_k", 0) == 10 || (c.stated.num_seqs > 1 && c.i32("seqlens_k", 1) == 18)) {
      const tensor o = c.view("o");
      for (std::int64_t row = 0; row < 4; ++row) set_bits(o, o.offset(row), bits_at(o, o.offset(row)) ^ 1U);
    }
  });
  expect_caught(other_sequences, faulty, "altering all sequences but sequence");
}

TEST_CASE("wave_schedule catches a bit that depends on the schedule") {
  for (const auto kind : {ASSAY_REVERSE, ASSAY_RANDOM, ASSAY_PCT})
    expect_caught(wave_schedule, corrupting_library([kind](call& c) {
                    if (c.launch.schedule == kind) c.flip_o();
                  }),
                  "after scheduling ");
}

TEST_CASE("wave_schedule catches a bit that depends on the number of threads") {
  expect_caught(wave_schedule, corrupting_library([](call& c) {
                  if (c.launch.workers > 1) c.flip_o();
                }),
                "over 2 threads");
}

TEST_CASE("head_permutation catches a bit that belongs to a head's number") {
  expect_caught(head_permutation, corrupting_library([](call& c) { c.flip_o(); }), "permuting the heads", small_case(),
                enclosure_sees::maybe);
}

TEST_CASE("other_rows catches a bit that depends on another row's query, or on another head's") {
  for (const auto& [row, head] : {std::pair{0, 0}, {2, 1}}) {  // row 2 and head 0 are kept
    std::optional<std::uint32_t> first;
    expect_caught(other_rows, corrupting_library([&first, row, head](call& c) {
                    const tensor q = c.view("q"), o = c.view("o");
                    const std::uint32_t now = bits_at(q, q.offset(row, head));
                    if (now != first.value_or(now)) set_bits(o, o.offset(2), bits_at(o, o.offset(2)) ^ 1U);
                    if (!first) first = now;
                  }),
                  "of all but row 2 and head 0, there, o[0, 0, 0]: ");
  }
}

TEST_CASE("row_strides catches a bit that depends on a stride of an output, or of an input") {
  for (const char* name : {"o", "lse_partial", "q", "k", "block_table"})
    expect_caught(row_strides, corrupting_library([name](call& c) {
                    const tensor t = c.view(name);
                    if (t.stride[0] != t.size() / t.shape[0]) c.flip_o();
                  }),
                  "after laying the rows of outputs 1 elements apart and those of inputs 1 o[0, 0, 0]: ");
}

TEST_CASE("row_strides catches a library that reads the stride of a dimension of one element, or forgets an offset") {
  attention_case c = small_case();
  c.num_splits = 1;
  c.heads_q = c.heads_kv = 1;
  c.sequences.resize(1);
  expect_caught(row_strides, corrupting_library([](call& one) {
                  const std::int64_t stride = one.view("o").stride[1];
                  if (stride < 64 || stride > 80) one.flip_o();
                }),
                "after giving dimensions of one element other strides, and addresses an offset o[0, 0, 0]: ", c);
  expect_caught(row_strides, testing::faulty_library([](call& one) {
                  assay_tensor& q = one.at("q");
                  if (q.view.byte_offset != 0) return assay_status{ASSAY_REJECTED, "planted"};
                  return one.run();
                }),
                "and addresses an offset the library says: rejected: planted", c);
}

TEST_CASE("row_strides catches a kernel that needs an alignment, or the last stride of a bias to be 1") {
  attention_case c = small_case();
  c.bias_type = dtype::f16;
  const std::string change = "after laying tensors out in another order, at the least alignment o[0, 0, 0]: ";
  for (const char* name : {"q", "k", "bias", "o", "lse_partial", "seqlens_k"})
    expect_caught(row_strides, corrupting_library([name](call& one) {
                    const tensor t = one.view(name);
                    const std::int64_t least = size_bytes(t.type) * (name[0] == 'k' ? 8 : 1);
                    if (reinterpret_cast<std::uintptr_t>(t.data) % 256 == static_cast<std::uintptr_t>(least))
                      one.flip_o();
                  }),
                  change, c);
  for (const char* name : {"q", "bias"})
    expect_caught(row_strides, corrupting_library([name](call& one) {
                    if (one.view(name).stride[2] != 1) one.flip_o();
                  }),
                  change, c);
}

TEST_CASE("v_scaling catches a rounding that depends on the magnitude") {
  expect_caught(v_scaling, corrupting_library([](call& c) {
                  const tensor o = c.view("o");  // every second binade, not the first run's
                  if ((bits_at(o, 0) >> 10) % 2 == 1) c.flip_o();
                }),
                "scaling V by 2^1");
}

TEST_CASE("v_scaling holds where outputs are NaN, and lets the enclosure speak of a wrong one") {
  attention_case c = small_case();
  c.scale = 1e38F;  // logits overflow: NaN before and after
  const verdict v = v_scaling.check(*library::built_in(), c);
  CAPTURE(v.what);
  CHECK(v.result != outcome::fail);
  const auto some_nan = corrupting_library([](call& called) { set_bits(called.view("o"), 0, 0x7E00); });
  const verdict lost = v_scaling.check(*some_nan, small_case());
  CHECK(lost.result == outcome::fail);
  CHECK(lost.origin == "enclosure");
  CHECK(lost.what.find("o[0, 0, 0] = nan lies outside") != std::string::npos);
  std::uint64_t runs = 0;  // a number instead of NaN, in the last run alone
  const auto no_nan = corrupting_library([&](call& called) {
    if (++runs == 3) set_bits(called.view("o"), 0, 0x3C00);
  });
  CHECK(v_scaling.check(*no_nan, c).origin == "v_scaling");
}

TEST_CASE("nothing_else_written catches an output that is added to instead of written") {
  std::uint32_t before = 0;
  expect_caught(nothing_else_written, testing::faulty_library([&](call& c) {
                  before = bits_at(c.view("o"), 0);
                  const assay_status status = c.run();
                  if (before == 0) c.flip_o();
                  return status;
                }),
                "outputs held the byte 0x00");
}

TEST_CASE("nothing_else_written catches a write outside the outputs") {
  const auto faulty = corrupting_library([](call& c) {
    const tensor o = c.view("o");
    set_bits(o, o.size(), 0);
  });
  const verdict v = nothing_else_written.check(*faulty, small_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "memory");
}

TEST_CASE("another_problem_first catches a bit that depends on the call before") {
  static std::int32_t keys_before = 0;
  keys_before = 0;
  expect_caught(another_problem_first, testing::corrupting_library([](call& c) {
                  if (keys_before != 0 && keys_before != c.stated.max_k) c.flip_o();
                  keys_before = c.stated.max_k;
                }),
                "after running another problem o[0, 0, 0]: ");
}

TEST_CASE("planned_workspace catches a plan whose bytes do not fit into 32 bits") {
  expect_caught(planned_workspace, testing::planning_library([](const problem& p, assay_plan& plan) {
                  if (p.total_q > 1'000'000) plan.workspace_bytes &= 0xFFFFFFFF;
                }),
                " splits: plan() says plan() asks for a workspace of ");
}

TEST_CASE("planned_workspace catches a refusal that comes from 32 bits, and a contract that a plan has no more") {
  attention_case c = small_case();
  c.num_splits = 1;
  expect_caught(planned_workspace, testing::planning_library([](const problem& p, assay_plan& plan) {
                  const std::int64_t elements = std::int64_t{p.num_seqs} * p.max_q * p.heads_q * p.head_dim_v;
                  if (const auto narrow = static_cast<std::int32_t>(elements); narrow < 0) plan.num_splits = narrow;
                }),
                "plan() says plan() chose -", c);
  expect_caught(planned_workspace, testing::declaring_library([](contract& declared) {
                  static int calls = 0;
                  if (++calls > 3000) declared.tile_keys = 0;
                }),
                " splits: the declared contract cannot bound the outputs: tile_keys is 0, must be in [1, 65536]", c,
                enclosure_sees::maybe);
}

TEST_CASE("planned_workspace catches a plan that does not keep to its budget") {
  attention_case c = small_case();
  c.num_splits = 1;
  expect_caught(planned_workspace, testing::planning_library([](const problem&, assay_plan& plan) {
                  if (plan.workspace_bytes > 0 && plan.workspace_bytes < 1'000'000) plan.workspace_bytes += 16;
                }),
                " as the budget it says plan() asks for a workspace of ", c);
}

TEST_CASE("a plan with the workspace of one split too few is a failure, for any property") {
  const auto faulty = testing::planning_library([](const problem& p, assay_plan& plan) {
    if (plan.num_splits > 1) plan.workspace_bytes -= std::int64_t{p.total_q} * p.heads_q * (p.head_dim_v + 1) * 4;
  });
  const verdict v = run_case(*faulty, testing::small_case());
  CHECK(v.result == outcome::fail);
  // 2 splits of 4 rows and 4 heads with 64 columns and an LSE, of 4 bytes.
  CHECK(v.what == "plan() asks for a workspace of 4160 bytes, but the partials of 2 splits have 8320");
}

TEST_CASE("a change that makes the library refuse is a failure, not a discard") {
  expect_caught(page_permutation, testing::faulty_library([](call& c) {
                  return c.i32("block_table", 0, 0) == 3 ? c.run() : assay_status{ASSAY_REJECTED, "planted"};
                }),
                "after permuting the physical pages the library says: rejected: planted");
}

}  // namespace
}  // namespace assay::relations
