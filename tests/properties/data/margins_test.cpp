// What lies between rows: laid where it is asked for, kept through every edit of inputs, checked bit for bit where it
// is of outputs, and poisoned where it is of inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "properties/case/tensor_plan.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/pages.hpp"
#include "properties/generate/empty.hpp"
#include "properties/generate/shrink.hpp"
#include "properties/relations/relations.hpp"
#include "properties/run/row_gaps.hpp"
#include "properties/suite/suite.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

using testing::call;
using testing::small_case;

const std::vector<std::vector<int>> orders{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};

buffer with_gap(std::vector<int> order, std::int64_t gap, const std::vector<std::int64_t>& shape = {2, 3, 5}) {
  buffer_backing backing;
  backing.gap = gap;
  return {"x", dtype::f32, shape, std::move(order), std::move(backing)};
}

/// Numbers the elements row major.
void count(const buffer& b) {
  std::uint32_t next = 0;
  for_each_index(b.view(), [&](const auto& i) { set_bits(b.view(), offset_of(b.view(), i), next++); });
}

/// Two rows, two splits, margins everywhere.
attention_case spread_case() {
  attention_case c = small_case();
  c.row_margin = 3;
  c.input_margin = 5;
  return c;
}

verdict expect_failure(const std::shared_ptr<library>& lib, const attention_case& c, const std::string& origin,
                       const std::string& what) {
  const verdict v = run_case(*lib, c);
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == origin);
  CHECK(v.what.starts_with(what));
  return v;
}

/// Strides as they would be without gaps.
void make_dense(assay_tensor& t) {
  std::int64_t stride = 1;
  for (int d = t.view.ndim - 1; d >= 0; --d) {
    t.view.strides[d] = stride;
    stride *= t.view.shape[d];
  }
}

/// Makes a tensor dense in the kernel's eyes.
std::shared_ptr<library> library_that_takes_as_dense(const std::string& name) {
  return testing::faulty_library([name](call& c) {
    std::int64_t strides[max_rank];
    DLTensor& view = c.at(name).view;
    std::copy(view.strides, view.strides + view.ndim, strides);
    std::int64_t* const given = std::exchange(view.strides, strides);
    make_dense(c.at(name));
    const assay_status status = c.run();
    view.strides = given;
    return status;
  });
}

}  // namespace

TEST_CASE("every byte up to the last element is an element's or a gap's, in any order of the dimensions", "[margins]") {
  for (const auto& order : orders)
    for (const std::int64_t gap : {0, 1, 3, 8}) {
      const buffer b = with_gap(order, gap);
      std::vector<int> owners(static_cast<std::size_t>(b.size_bytes()), 0);
      const auto own = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++owners.at(static_cast<std::size_t>(i));
      };
      for_each_index(b.view(), [&](const auto& i) {
        const std::int64_t at = offset_of(b.view(), i) * 4;
        own(at, at + 4);
      });
      for (const index_range& r : b.gaps()) own(r.begin, r.end);
      CHECK(std::ranges::all_of(owners, [](int n) { return n == 1; }));
      CHECK(b.gaps().empty() == (gap == 0));
      // Bounded as it was planned; nothing lies behind the last row.
      CHECK(checked_bytes({.name = "x", .type = dtype::f32, .shape = {2, 3, 5}, .order = order, .gap = gap}).value() >=
            b.size_bytes());
      CHECK(b.size_bytes() == 4 * extent(b.view()));
    }
  CHECK(with_gap({}, 7, {4, 0, 3}).gaps().empty());
  CHECK(with_gap({}, 7, {4, 0, 3}).size_bytes() == 0);
}

TEST_CASE("no stride follows from another one and the extents", "[margins]") {
  const tensor t = with_gap({}, 3).view();
  CHECK(t.stride[2] == 1);
  CHECK(t.stride[1] == 5 + 3);
  CHECK(t.stride[0] == 3 * 8 + 3);
}

TEST_CASE("any bit that changes between rows is seen, and named by row and column", "[margins]") {
  for (const std::int64_t gap : {1, 3}) {
    std::vector<buffer> buffers;
    buffers.push_back(with_gap({}, gap));
    const row_gaps before(buffers);
    count(buffers[0]);
    CHECK(before.first_change().empty());
    for (const index_range& r : buffers[0].gaps())
      for (std::int64_t i = r.begin; i < r.end; ++i)
        for (const std::byte bit : {std::byte{1}, std::byte{0x80}}) {
          buffers[0].bytes({i, i + 1})[0] ^= bit;
          CHECK(before.first_change().starts_with("x was written between its rows: at ["));
          CHECK(before.first_change().ends_with(fmt::format("byte {} of {}", i, buffers[0].size_bytes())));
          buffers[0].bytes({i, i + 1})[0] ^= bit;
        }
  }
  std::vector<buffer> buffers;
  buffers.push_back(with_gap({}, 3));
  const row_gaps before(buffers);
  set_bits(buffers[0].view(), buffers[0].view().offset(0, 2, 6), 0);  // behind the last row of the first index
  CHECK(before.first_change() == "x was written between its rows: at [0, 2, 6] of [2, 3, 5], byte 88 of 192");
}

TEST_CASE("a canary is neither what unwritten elements hold, nor zero, nor the same in two words", "[margins]") {
  const buffer b = with_gap({}, 8);
  for (const index_range& r : b.gaps()) {
    const auto word = [&](std::int64_t at) { return bits_at(b.view(), at / 4); };
    for (std::int64_t at = r.begin; at < r.end; at += 4) {
      CHECK(word(at) != 0xFFFFFFFFU);
      CHECK(word(at) != 0U);
      if (at > r.begin) CHECK(word(at) != word(at - 4));
    }
  }
}

TEST_CASE("gather and clone keep gaps and elements, along any axis in any order", "[margins]") {
  for (const auto& order : orders) {
    const buffer b = with_gap(order, 3);
    count(b);
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<std::int64_t> picked{1, 0, 1};
      const buffer g = gather(b, axis, picked);
      CHECK(g.backing().gap == 3);
      CHECK(g.guards_intact(nullptr));
      bool equal = true;
      for_each_index(g.view(), [&](std::vector<std::int64_t> i) {
        const std::uint32_t now = bits_at(g.view(), offset_of(g.view(), i));
        std::int64_t& along = i[static_cast<std::size_t>(axis)];
        along = picked[static_cast<std::size_t>(along)];
        equal = equal && now == bits_at(b.view(), offset_of(b.view(), i));
      });
      CHECK(equal);
      CHECK(g.view().stride[order[0]] > g.view().stride[order[1]]);
      CHECK(g.view().stride[order[1]] > g.view().stride[order[2]]);
    }
    outputs out;
    out.buffers.push_back(gather(b, 0, {0, 1}));
    CHECK(std::ranges::equal(clone(out).buffers[0].bytes(), out.buffers[0].bytes()));
  }
}

TEST_CASE("pages move with their gaps, between dense pools and sparse ones", "[margins]") {
  for (const pool_layout layout : {pool_layout::nhd, pool_layout::hnd}) {
    attention_case c = spread_case();
    c.layout = layout;
    const inputs given = fill(c);
    inputs moved = clone(given);
    constexpr std::int64_t far = std::int64_t{1} << 20;
    repage(moved, far + 8, {{0, far, 8}});
    REQUIRE(find_buffer(moved.buffers, "k")->is_sparse());
    repage(moved, 9, {{far + 1, 0, 7}, {far, 8, 1}});
    for (const char* name : {"k", "v"}) {
      const tensor& was = find_buffer(given.buffers, name)->view();
      const tensor& is = find_buffer(moved.buffers, name)->view();
      CHECK(is.stride[0] == was.stride[0]);
      bool equal = true;
      for_each_index(was, [&](std::vector<std::int64_t> i) {
        const std::uint32_t bits = bits_at(was, offset_of(was, i));
        i[0] = i[0] == 0 ? 8 : i[0] - 1;
        equal = equal && bits == bits_at(is, offset_of(is, i));
      });
      CHECK(equal);
    }
  }
}

TEST_CASE("the strides of K and V stay multiples of 8, and preshuffled keys stay dense", "[margins]") {
  attention_case c = spread_case();
  for (const std::int32_t margin : {1, 5, 8, 9}) {
    c.input_margin = margin;
    const inputs given = fill(c);
    for (const char* name : {"k", "v"}) {
      const tensor& t = find_buffer(given.buffers, name)->view();
      for (int d = 0; d < 3; ++d) CHECK(t.stride[d] % 8 == 0);
      CHECK(t.stride[2] == 64 + (margin + 7) / 8 * 8);
    }
    CHECK(find_buffer(given.buffers, "q")->view().stride[1] == 64 + margin);
    CHECK(find_buffer(given.buffers, "block_table")->view().stride[0] == 3 + margin);
  }
  c.kernel = "mqa_logits";
  c.k_order = key_order::preshuffled;
  for (const planned_tensor& t : plan_tensors(c)) CHECK(t.gap == (t.name == "k" ? 0 : 9));
}

TEST_CASE("margins change no element of any input, and what lies there is dead: poison in the case's kind",
          "[margins]") {
  for (const std::string kernel : {"split_kv", "batch_prefill", "mqa_logits"})
    test::for_cases(60,
                    [](attention_case c) {
                      c.input_margin = 0;
                      const inputs dense = fill(c);
                      c.input_margin = 7;
                      const inputs spread = fill(c);
                      for (const buffer& b : spread.buffers) {
                        const tensor &was = find_buffer(dense.buffers, b.name())->view(), &is = b.view();
                        bool equal = true;
                        for_each_index(b, [&](const auto& i) {
                          equal = equal && bits_at(was, offset_of(was, i)) == bits_at(is, offset_of(is, i));
                        });
                        CHECK(equal);
                        if (b.is_sparse() || is.type == dtype::i8 || c.data.poison != poison_kind::nan) continue;
                        for (const index_range& r : b.gaps())
                          for (std::int64_t at = r.begin / size_bytes(is.type); at < r.end / size_bytes(is.type); ++at)
                            REQUIRE((is.type == dtype::i32 || std::isnan(value_at(is, at))));
                      }
                    },
                    {kernel});
}

TEST_CASE("a store past a row of any output or workspace is a fault of memory, whatever is stored", "[margins]") {
  struct overrun {
    const char* name;
    std::vector<std::int64_t> at;
    const char* what;
  };
  // o [4, 4, 64] of f16, lse [4, 4], their partials in 2 splits.
  const overrun all[] = {
      {"o", {1, 2, 64}, "o was written between its rows: at [1, 2, 64] of [4, 4, 64], byte 938 of "},
      {"o", {0, 4, 2}, "o was written between its rows: at [0, 4, 2] of [4, 4, 64], byte 540 of "},
      {"lse", {2, 4}, "lse was written between its rows: at [2, 4] of [4, 4], byte 72 of "},
      {"o_partial", {1, 3, 2, 65}, "o_partial was written between its rows: at [1, 3, 2, 65] of [2, 4, 4, 64], byte "},
      {"lse_partial", {0, 3, 4}, "lse_partial was written between its rows: at [0, 3, 4] of [2, 4, 4], byte 100 of "},
      {"lse_partial", {0, 4, 1}, "lse_partial was written between its rows: at [0, 4, 1] of [2, 4, 4], byte 116 of "},
  };
  for (const overrun& o : all)
    for (const std::uint32_t bits : {0U, 0xFFFFFFFFU, 0xFF800000U})
      expect_failure(testing::corrupting_library([&o, bits](call& c) {
                       const tensor t = c.view(o.name);
                       set_bits(t, offset_of(t, o.at), bits);
                     }),
                     spread_case(), "memory", o.what);
  // Behind the last row are the canaries that lie around a tensor.
  expect_failure(testing::corrupting_library([](call& c) {
                   const tensor t = c.view("lse");
                   set_bits(t, t.offset(3, 4), 0);
                 }),
                 spread_case(), "memory", "lse was written outside its memory, at byte ");
}

TEST_CASE("a kernel that takes an output for dense is caught with a margin, and only there", "[margins]") {
  for (const char* name : {"o", "lse", "o_partial", "lse_partial"}) {
    const auto faulty = library_that_takes_as_dense(name);
    CHECK(run_case(*faulty, small_case()).result == outcome::pass);
    expect_failure(faulty, spread_case(), "memory", std::string(name) + " was written between its rows: at [0, ");
    const verdict v = relations::row_strides.check(*faulty, small_case());
    CAPTURE(v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "memory");
    CHECK(v.what.starts_with("after laying the rows of outputs 1 elements apart and those of inputs 1: "));
  }
}

TEST_CASE("a kernel that takes an input for dense is caught with a margin, and only there", "[margins]") {
  for (const char* name : {"q", "k", "v"}) {
    const auto faulty = library_that_takes_as_dense(name);
    CHECK(run_case(*faulty, small_case()).result == outcome::pass);
    expect_failure(faulty, spread_case(), "enclosure", "");
    CHECK(relations::row_strides.check(*faulty, small_case()).result == outcome::fail);
  }
}

TEST_CASE("a bit that depends on what lies between the rows of an input is seen by dead_memory", "[margins]") {
  for (const char* name : {"q", "k", "v", "block_table"}) {
    std::optional<std::uint32_t> first;
    const auto faulty = testing::corrupting_library([&first, name](call& c) {
      const tensor t = c.view(name);
      const std::uint32_t now = bits_at(t, t.stride[0] - 1);  // the last element before the second row
      if (now != first.value_or(now)) c.flip_o();
      if (!first) first = now;
    });
    CHECK(run_case(*faulty, spread_case()).result == outcome::pass);
    const verdict v = relations::dead_memory.check(*faulty, spread_case());
    CAPTURE(name, v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "dead_memory");
  }
}

TEST_CASE("every property holds with margins", "[margins]") {
  for (const char* kernel : {"split_kv", "batch_prefill"})
    for (const property& p : properties()) {
      if (!applies(p, kernel)) continue;
      attention_case c = spread_case();
      c.kernel = kernel;
      if (c.kernel == "batch_prefill") c.q_type = c.kv_type = dtype::e4m3fn, c.num_splits = 1;
      if (p.adapt != nullptr) p.adapt(c, {});
      const verdict v = p.check(*library::built_in(), c);
      CAPTURE(kernel, p.name, v.origin, v.what);
      CHECK(v.result == outcome::pass);
    }
}

TEST_CASE("margins that a failure does not need go, and those that it needs stay at their least", "[margins]") {
  const auto shrunk = [](const std::function<bool(const attention_case&)>& fails) {
    attention_case c = test::arbitrary(5, 90, {"split_kv"});
    c.row_margin = 37;
    c.input_margin = 21;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (attention_case& s : simpler(c))
        if (!smaller && fails(s)) c = std::move(s), smaller = true;
    }
    return c;
  };
  const attention_case none = shrunk([](const attention_case&) { return true; });
  CHECK((none.row_margin == 0 && none.input_margin == 0));
  const attention_case one = shrunk([](const attention_case& c) { return c.row_margin > 0; });
  CHECK((one.row_margin == 1 && one.input_margin == 0));
  const attention_case other = shrunk([](const attention_case& c) { return c.input_margin > 0; });
  CHECK((other.row_margin == 0 && other.input_margin == 1));
}

TEST_CASE("of the default suite's cases a tenth and more have margins in each tensor that can have them", "[margins]") {
  suite_options options;
  options.kernels = {"split_kv", "batch_prefill", "mqa_logits"};
  for (const property& p : properties())
    if (can_be_checked(p, options)) options.selected.push_back(&p);
  options.seed = 1;
  constexpr int cases = 2000;
  std::map<std::string, int> spread, all;
  for (int i = 0, seen = 0; seen < cases; ++i) {
    const attention_case c = suite_case(options, i);
    if (attention_case copy = c; fill_in(copy) != empty_kind::none) continue;  // without elements
    ++seen;
    problem planned = to_problem(c);
    std::vector<planned_tensor> tensors = plan_tensors(c);
    for (planned_tensor& t : plan_outputs(planned, layout_of(c))) tensors.push_back(std::move(t));
    for (const planned_tensor& t : tensors) {
      std::int64_t rows = 1;  // of one row nothing lies between
      for (std::size_t d = 0; d + 1 < t.shape.size(); ++d) rows *= t.shape[d];
      ++all[t.name];
      if (t.gap > 0 && rows > 1) ++spread[t.name];
    }
  }
  for (const char* name : {"o", "lse", "logits", "o_partial", "lse_partial", "q", "k", "v", "block_table", "k_descale",
                           "v_descale", "k_row_scale", "weights"}) {
    INFO(name << ": " << spread[name] << " of " << all[name] << " with a margin, of " << cases << " cases");
    CHECK(10 * spread[name] >= cases);
    CHECK(4 * spread[name] >= all[name]);
  }
}

}  // namespace assay
