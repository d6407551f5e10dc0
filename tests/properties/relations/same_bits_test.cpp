/// Relations of kernels whose runs may differ in bits: as they declare (support.h: no_same_bits), or by roundings.
#include <catch2/catch_test_macros.hpp>

#include "oracle/decode.hpp"
#include "oracle/encode.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {
namespace {

using testing::call;
using testing::corrupting_library;
using testing::small_case;

TEST_CASE("a kernel whose runs may differ in bits must keep to its enclosure in each run") {
  const auto changing_by = [](float factor) {
    int runs = 0;
    auto made = corrupting_library([factor, runs](call& c) mutable {
      const tensor o = c.view("o");
      if (++runs > 1) set_bits(o, 0, oracle::encode(o.type, factor * value_at(o, 0)));
    });
    made->supports["split_kv"].no_same_bits = 1;
    return made;
  };
  attention_case c = small_case();
  page_permutation.adapt(c, {});
  CHECK(page_permutation.check(*changing_by(1.0F), c).result == outcome::pass);
  const verdict wrong = page_permutation.check(*changing_by(1.5F), c);
  CHECK(wrong.result == outcome::fail);
  CHECK(wrong.what.starts_with("after permuting the physical pages: o[0, 0, 0] = "));

  const auto flipping = corrupting_library([](call& c) {
    if (c.i32("block_table", 0, 0) != small_case().sequences[0].pages[0]) c.flip_o();
  });
  CHECK(page_permutation.check(*flipping, c).result == outcome::fail);
  flipping->supports["split_kv"].no_same_bits = 1;
  flipping->judged_by = contract_use::open;
  CHECK(page_permutation.check(*flipping, c).result == outcome::pass);
}

TEST_CASE("runs that may differ in bits are tested by their residuals, too") {
  int runs = 0;
  const auto faulty = corrupting_library([&runs](call& c) {
    if (++runs < 2) return;
    const tensor o = c.view("o");  // P V of all keys is too large by 0.6%: within what the types allow
    for_each_index(o, [&](const std::vector<std::int64_t>& at) {
      set_bits(o, offset_of(o, at),
               oracle::encode(o.type, oracle::round_to_nearest(o.type, 1.006 * value_at(o, offset_of(o, at)))));
    });
  });
  faulty->judged_by = contract_use::none;
  faulty->supports["split_kv"].no_same_bits = 1;
  attention_case c = small_case();
  c.num_splits = 1;
  c.scale = 0.125F;
  c.page_size = 64;
  c.sequences = {{.q = 8, .k = 256, .prefix_offset = {}, .pages = {0, 1, 2, 3}}};
  c.pool_pages = 4;
  c.data.fill = fill_kind::even_weights;
  const verdict v = page_permutation.check(*faulty, c);
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "residual");
}

TEST_CASE("a kernel that takes no number of splits must choose the same one for the same problem") {
  int plans = 0;
  const auto changing = testing::planning_library([&](const problem& stated, assay_plan& plan) {
    plan.num_splits = stated.num_splits == 0 && ++plans > 1 ? 2 : 1;
    plan.workspace_bytes = 1 << 20;
  });
  changing->supports["split_kv"].no_split_count = 1;
  attention_case c = small_case();
  c.num_splits = 0;
  page_permutation.adapt(c, {});
  const verdict v = page_permutation.check(*changing, c);
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("after permuting the physical pages plan() chose 2 splits, before 1 for the same problem") == 0);
}

TEST_CASE("v_scaling asks for no more than the enclosure of kernels that round products or partials to f16") {
  const auto moving_by = [](float factor) {
    std::uint64_t runs = 0;
    return corrupting_library([factor, runs](call& c) mutable {
      const tensor o = c.view("o");
      if (++runs == 3) set_bits(o, 0, oracle::encode(o.type, factor * value_at(o, 0)));  // the scaled one
    });
  };
  const auto slightly = moving_by(1.001F);
  CHECK(v_scaling.check(*slightly, small_case()).origin == "v_scaling");
  const auto slightly_open = moving_by(1.001F);
  slightly_open->judged_by = contract_use::none;  // partials may be f16
  const verdict kept = v_scaling.check(*slightly_open, small_case());
  CAPTURE(kept.what);
  CHECK(kept.result == outcome::pass);
  const auto far_open = moving_by(1.5F);
  far_open->judged_by = contract_use::none;
  const verdict far = v_scaling.check(*far_open, small_case());
  CHECK(far.result == outcome::fail);
  CAPTURE(far.what);
  CHECK(far.what.find(": o[0, 0, 0] = ") != std::string::npos);
}

}  // namespace
}  // namespace assay::relations
