#include "properties/data/edit.hpp"
#include "properties/data/difference.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

/// A [2, 3, 4] tensor whose element i, j, l is 100 i + 10 j + l, in a memory order.
buffer counted(std::vector<int> order) {
  buffer b("counted", dtype::i32, {2, 3, 4}, std::move(order));
  for_each_index(b.view(), [&](const std::vector<std::int64_t>& i) {
    set_bits(b.view(), offset_of(b.view(), i), static_cast<std::uint32_t>(100 * i[0] + 10 * i[1] + i[2]));
  });
  return b;
}

std::uint32_t at(const buffer& b, std::int64_t i, std::int64_t j, std::int64_t l) {
  return bits_at(b.view(), b.view().offset(i, j, l));
}

TEST_CASE("gather picks along any axis in any memory order") {
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}}) {
    const buffer b = counted(order);
    const buffer g = gather(b, 1, {2, 0, 2, 1});
    CHECK(g.view().shape[1] == 4);
    CHECK(at(g, 1, 0, 3) == 123);
    CHECK(at(g, 1, 2, 3) == 123);
    CHECK(at(g, 0, 1, 2) == 2);
    CHECK(at(gather(b, 0, {1}), 0, 2, 1) == 121);
    CHECK(at(gather(b, 2, {3, 3}), 1, 1, 0) == 113);
    CHECK(gather(b, 0, {}).bytes().empty());
    // The dimensions keep their order in memory.
    const auto fastest = [](const buffer& x) {
      return std::min_element(x.view().stride, x.view().stride + 3) - x.view().stride;
    };
    CHECK(fastest(g) == fastest(b));
  }
}

TEST_CASE("bits change once in each element, be they few or many, side by side or in steps") {
  const auto next = [](std::uint32_t bits) { return (bits + 1) & 0xFFFFU; };
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}})
    for (const std::int64_t rows : {2, 5000}) {
      buffer b("x", dtype::f16, {3, rows, 7}, order, {.used = {}, .gap = 3});
      for_each_index(b, [&](const std::vector<std::int64_t>& i) {
        set_bits(b.view(), offset_of(b.view(), i), static_cast<std::uint32_t>(i[0] + 5 * i[1] + i[2]) & 0xFFFFU);
      });
      change_bits(b, next);
      std::int64_t wrong = 0;
      for_each_index(b, [&](const std::vector<std::int64_t>& i) {
        const auto was = static_cast<std::uint32_t>(i[0] + 5 * i[1] + i[2]) & 0xFFFFU;
        wrong += bits_at(b.view(), offset_of(b.view(), i)) != next(was) ? 1 : 0;
      });
      CHECK(wrong == 0);
      buffer anew("x", dtype::f16, {3, rows, 7}, order, {.used = {}, .gap = 3});
      for (const index_range& gap : b.gaps()) REQUIRE(std::ranges::equal(b.bytes(gap), anew.bytes(gap)));
    }
  const buffer sparse("x", dtype::i8, {std::int64_t{1} << 30, 8}, {}, {.used = {{{0, 1}, {1 << 20, (1 << 20) + 2}}}});
  change_bits(sparse, [](std::uint32_t bits) { return bits == 0xFF ? 0x11U : 0x22U; });
  for (const std::int64_t row : {0, 1 << 20, (1 << 20) + 1})
    for (std::int64_t i = 0; i < 8; ++i) CHECK(bits_at(sparse.view(), sparse.view().offset(row, i)) == 0x11);
}

TEST_CASE("a permutation has every index once, repeats, and is not the identity") {
  for (const std::int64_t size : {2, 3, 7, 64})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<std::int64_t> p = permutation(size, seed);
      CHECK(p == permutation(size, seed));
      CHECK_FALSE(std::ranges::is_sorted(p));
      std::ranges::sort(p);
      for (std::int64_t i = 0; i < size; ++i) REQUIRE(p[static_cast<std::size_t>(i)] == i);
    }
  CHECK(permutation(0, 1).empty());
  CHECK(permutation(1, 1) == std::vector<std::int64_t>{0});
}

TEST_CASE("visibility is the definition of the problem statement") {
  attention_case c = testing::small_case();  // rows 0, 1 of sequence 0 stand at keys 18, 19
  inputs in = fill(c);
  CHECK(is_visible(in, 0, 0, 18));
  CHECK_FALSE(is_visible(in, 0, 0, 19));
  CHECK(is_visible(in, 0, 1, 19));
  c.window = 3;
  in = fill(c);
  CHECK(is_visible(in, 0, 0, 16));
  CHECK_FALSE(is_visible(in, 0, 0, 15));
  c.sequences[0].prefix_offset = c.sequences[1].prefix_offset = -1;
  in = fill(c);
  CHECK_FALSE(is_visible(in, 0, 0, 0));
  CHECK(is_visible(in, 0, 1, 0));
}

TEST_CASE("pages are found in both kinds of page table") {
  attention_case c = testing::small_case();
  for (const page_table_kind kind : {page_table_kind::block_table, page_table_kind::page_list}) {
    c.page_table = kind;
    c.spare_table_entries = 2;
    inputs in = fill(c);
    std::vector<std::int32_t> pages;
    for_each_page(in, [&](std::int64_t, std::int64_t, std::int32_t& page) { pages.push_back(page); });
    CHECK(pages == std::vector<std::int32_t>{3, 1, 0, 6, 2});
    CHECK(page_entry(in, 1, 2) == 2);
    CHECK(std::as_const(in).stated.num_pages == 8);
  }
}

TEST_CASE("the first difference is named with index, values and bits") {
  problem p;
  p.total_q = 2;
  p.heads_q = 3;
  p.head_dim_v = 8;
  p.num_splits = 1;
  outputs a = make_outputs(p);
  for (buffer& b : a.buffers) std::ranges::fill(b.bytes(), std::byte{0});
  outputs b = clone(a);
  CHECK_FALSE(first_difference(a, b).has_value());
  set_bits(find_buffer(b.buffers, "o")->view(), find_buffer(b.buffers, "o")->view().offset(1, 2, 5), 0x3C00);
  set_bits(find_buffer(b.buffers, "o")->view(), find_buffer(b.buffers, "o")->view().offset(1, 2, 7), 0x8000);
  CHECK(first_difference(a, b) == "o[1, 2, 5]: 0 (0x0000) became 1 (0x3c00); 2 of 48 elements differ");
}

TEST_CASE("computed NaNs are equal, zeros of both signs are not, and an unwritten element is equal to itself") {
  problem p;
  p.total_q = 1;
  p.num_splits = 1;
  outputs a = make_outputs(p);  // all 0xFF
  outputs b = clone(a);
  CHECK_FALSE(first_difference(a, b).has_value());
  const tensor &lse_a = find_buffer(a.buffers, "lse")->view(), &lse_b = find_buffer(b.buffers, "lse")->view();
  set_bits(lse_a, 0, 0x7FC00000);
  CHECK(first_difference(a, b).has_value());  // b was not written
  set_bits(lse_b, 0, 0xFFC00001);             // of a computed NaN the bits do not count
  CHECK_FALSE(first_difference(a, b).has_value());
  set_bits(lse_b, 0, 0x3F800000);
  CHECK(first_difference(a, b).has_value());
  using oracle::element_rule;
  oracle::enclosure bounds{{{"lse", dtype::f32, {1, 1}, {{0, 1}}, {static_cast<std::uint8_t>(element_rule::or_nan)}}}};
  outputs masked = clone(a);
  set_rules(masked, bounds);
  CHECK_FALSE(first_difference(masked, b).has_value());
  CHECK_FALSE(first_difference(gather_outputs(masked, output_axis::rows, {0}), b).has_value());
  set_bits(find_buffer(masked.buffers, "lse")->view(), 0, 0x3F800001);
  CHECK(first_difference(masked, b).has_value());  // two numbers
  set_bits(lse_b, 0, 0xFFFFFFFF);
  CHECK(first_difference(masked, b).has_value());  // or none
  set_bits(find_buffer(masked.buffers, "lse")->view(), 0, 0x7FC00000);
  CHECK(first_difference(masked, b).has_value());  // a NaN that was computed, or none
  set_bits(find_buffer(a.buffers, "lse")->view(), 0, 0);
  set_bits(find_buffer(b.buffers, "lse")->view(), 0, 0x80000000);
  CHECK(first_difference(a, b).has_value());
}

}  // namespace
}  // namespace assay
