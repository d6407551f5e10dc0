#include "properties/data/inputs.hpp"

#include <algorithm>
#include <cstdint>

#include <catch2/catch_test_macros.hpp>

using namespace assay;

TEST_CASE("a buffer's elements are aligned, unwritten and dense in the order asked for", "[inputs]") {
  buffer b("x", dtype::f16, {2, 3, 5}, {2, 0, 1});
  CHECK(reinterpret_cast<std::uintptr_t>(b.view().data) % 256 == 0);
  CHECK(b.bytes().size() == 60);
  CHECK(std::ranges::all_of(b.bytes(), [](std::byte byte) { return byte == std::byte{0xFF}; }));
  CHECK(b.view().stride[1] == 1);
  CHECK(b.view().stride[0] == 3);
  CHECK(b.view().stride[2] == 6);
  CHECK(buffer("x", dtype::f16, {2, 3, 5}).view().stride[0] == 15);
  CHECK(buffer("x", dtype::f16, {2, 0}).bytes().empty());
}

TEST_CASE("a write one byte before or after the elements is found, and where", "[inputs]") {
  for (const std::int64_t at : {-256, -1, 60, 60 + 255}) {
    buffer b("x", dtype::f16, {2, 3, 5});
    std::int64_t changed = 0;
    CHECK(b.guards_intact(&changed));
    b.bytes()[59] = std::byte{0};
    b.bytes()[0] = std::byte{0};
    CHECK(b.guards_intact(&changed));
    auto* byte = static_cast<std::byte*>(b.view().data) + at;
    *byte ^= std::byte{1};
    CHECK_FALSE(b.guards_intact(&changed));
    CHECK(changed == at);
    CHECK_FALSE(b.guards_intact(nullptr));
  }
}

TEST_CASE("a moved buffer keeps its memory", "[inputs]") {
  buffer b("x", dtype::f32, {7});
  void* const data = b.view().data;
  const buffer moved = std::move(b);
  CHECK(moved.view().data == data);
  CHECK(moved.guards_intact(nullptr));
}

TEST_CASE("outputs have partials only with more than one split", "[inputs]") {
  problem p;
  p.total_q = 3;
  p.heads_q = 2;
  p.num_splits = 1;
  CHECK(make_outputs(p).buffers.size() == 2);
  p.num_splits = 4;
  const outputs out = make_outputs(p);
  REQUIRE(out.buffers.size() == 4);
  const auto tensors = out.tensors();
  CHECK(find(tensors, "o")->size() == 3 * 2 * 64);
  CHECK(find(tensors, "o_partial")->size() == 4 * 3 * 2 * 64);
  CHECK(find(tensors, "lse_partial")->type == dtype::f32);
  CHECK(find(tensors, "q") == nullptr);
}

TEST_CASE("integers end at the last byte that can be read, data keep their alignment", "[inputs]") {
  const auto end_of = [](const buffer& b) { return b.reserved().end - os_page_bytes(); };
  for (const std::int64_t n : {0, 1, 3, 1023, 1024, 1025}) {
    CHECK(end_of(buffer("x", dtype::i32, {n})) == 4 * n);
    CHECK(end_of(buffer("x", dtype::f32, {n}, {}, {.flush_end = true, .used = {}})) == 4 * n);
    CHECK(end_of(buffer("x", dtype::f32, {n})) >= 4 * n + buffer::guard_bytes);
  }
}

TEST_CASE("a sparse buffer has its used pages, whole OS pages around them, and nothing else", "[inputs]") {
  const std::int64_t os = os_page_bytes();
  // 2^40 pages of 16 bytes.
  buffer b("x", dtype::f16, {std::int64_t{1} << 40, 8}, {}, {.used = {{{0, 1}, {1 << 20, (1 << 20) + 2}}}});
  CHECK(b.is_sparse());
  CHECK(b.accessible() == std::vector<index_range>{{0, os}, {16 << 20, (16 << 20) + os}});
  CHECK(b.bytes({16 << 20, (16 << 20) + os}).back() == std::byte{0xFF});
  CHECK(b.guards_intact(nullptr));
  CHECK_THROWS_AS(b.bytes(), std::logic_error);
  // The last OS page has room behind the elements: guards, as far as it goes.
  constexpr std::int64_t last = 1 << 30;
  buffer end("x", dtype::i8, {last + 1, 3}, {}, {.used = {{{last, last + 1}}}});
  CHECK(end.guards_intact(nullptr));
  std::int64_t changed = 0;
  static_cast<std::byte*>(end.view().data)[3 * (last + 1) + 7] ^= std::byte{1};
  CHECK_FALSE(end.guards_intact(&changed));
  CHECK(changed == 3 * (last + 1) + 7);
}

TEST_CASE("memory that had another owner is unwritten again", "[inputs]") {
  for (int i = 0; i < 3; ++i) {
    buffer b("x", dtype::f16, {2, 3, 5});
    CHECK(b.guards_intact(nullptr));
    CHECK(std::ranges::all_of(b.bytes(), [](std::byte byte) { return byte == std::byte{0xFF}; }));
    std::ranges::fill(b.bytes({-256, 60 + 256}), std::byte{0});
  }
}
