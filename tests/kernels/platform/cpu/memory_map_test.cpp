/// Which bytes of a tensor's span belong to elements, against a list of all of them.
#include "kernels/platform/cpu/checker/memory_map.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/platform/cpu/checker/mapped_array.hpp"

using namespace assay;

namespace {

struct layout {
  std::array<std::int64_t, 3> shape;
  std::array<std::int64_t, 3> strides;
  std::uint8_t bits;
};

cpu::memory_region region(layout& l) {
  assay_tensor t{};
  t.name = "x";
  t.view.data = &l;  // only its address is of interest
  t.view.ndim = 3;
  t.view.shape = l.shape.data();
  t.view.strides = l.strides.data();
  t.view.dtype = {kDLFloat, l.bits, 1};
  return cpu::region_of(t);
}

/// 1 for each byte of the span that an element has.
std::vector<std::uint8_t> owned_bytes(const layout& l, std::uint64_t span) {
  std::vector<std::uint8_t> owned(span);
  const std::int64_t width = l.bits / 8;
  for (std::int64_t i = 0; i < l.shape[0]; ++i)
    for (std::int64_t j = 0; j < l.shape[1]; ++j)
      for (std::int64_t k = 0; k < l.shape[2]; ++k)
        for (std::int64_t byte = 0; byte < width; ++byte)
          owned.at(static_cast<std::size_t>((i * l.strides[0] + j * l.strides[1] + k * l.strides[2]) * width + byte)) =
              1;
  return owned;
}

/// Each dimension wider than what is inside it by a gap of 0 to 3 elements, the widest anywhere.
layout draw(std::mt19937_64& random) {
  layout l{{}, {}, static_cast<std::uint8_t>(8U << random() % 3)};
  std::int64_t stride = 1 + static_cast<std::int64_t>(random() % 2);
  const std::size_t turn = random() % 3;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t d = (i + turn) % 3;
    l.shape[d] = 1 + static_cast<std::int64_t>(random() % 5);
    l.strides[d] = stride;
    stride = stride * l.shape[d] + (random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 4));
  }
  return l;
}

}  // namespace

TEST_CASE("an access is held by a tensor where all its bytes are of elements") {
  std::mt19937_64 random(3);
  int gaps = 0;
  for (int n = 0; n < 400; ++n) {
    layout l = draw(random);
    const cpu::memory_region r = region(l);
    const std::vector<std::uint8_t> owned = owned_bytes(l, r.span_bytes);
    CHECK(r.is_dense == (std::ranges::count(owned, 0) == 0));
    gaps += r.is_dense ? 0 : 1;
    int wrong = 0;
    for (std::uint64_t offset = 0; offset <= r.span_bytes; ++offset)
      for (const std::uint64_t size : {1U, 2U, 4U, 8U, 16U}) {
        bool all = offset + size <= r.span_bytes;
        for (std::uint64_t byte = offset; all && byte < offset + size; ++byte) all = owned[byte] != 0;
        wrong += r.holds(offset, size) != all ? 1 : 0;
      }
    INFO(r.shape() << ", strides " << l.strides[0] << ", " << l.strides[1] << ", " << l.strides[2]);
    CHECK(wrong == 0);
  }
  CHECK(gaps > 200);
}

TEST_CASE("an access before a tensor, around it, or near the end of addresses is not held") {
  layout l{{2, 3, 4}, {20, 5, 1}, 16};
  const cpu::memory_region r = region(l);
  CHECK(r.span_bytes == 2 * (20 + 10 + 3 + 1));
  CHECK(r.holds(0, 8));
  CHECK_FALSE(r.holds(0, 10));                    // one element past the row
  CHECK_FALSE(r.holds(std::uint64_t{0} - 2, 4));  // from 2 bytes before the start
  CHECK_FALSE(r.holds(0, ~std::uint64_t{0}));
  CHECK_FALSE(r.holds(r.span_bytes - 2, 4));
}

TEST_CASE("shadows lie far from what is mapped without a wish, where a wild load may lead", "[checker]") {
  constexpr std::size_t count = std::size_t{1} << 30;
  constexpr std::intptr_t far = std::intptr_t{1} << 40;
  void* const usual = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(usual != MAP_FAILED);
  std::vector<cpu::mapped_array<std::uint64_t>> arrays;
  for (int i = 0; i < 40; ++i) {
    arrays.emplace_back(count);
    const std::intptr_t away =
        reinterpret_cast<std::intptr_t>(usual) - reinterpret_cast<std::intptr_t>(arrays.back().data());
    CHECK(std::abs(away) > far);
    CHECK(arrays.back()[count - 1] == 0);
  }
  munmap(usual, 4096);
}
