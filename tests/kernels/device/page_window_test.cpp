// Page ids that come a window ahead, through a ring of keys: groups enough for several windows, each access checked.
#include "kernels/device/page_window.hpp"

#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/device/key_ring.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

namespace {

namespace device = assay::device;
using assay::cpu::toy_tensor;

constexpr int waves = 2, lds_row_bytes = 128;
constexpr int most_keys = 4000;  // a window has 16 or 8 groups, and here a wave over 60 of 32 keys

/// Writes the first element of each live key's row.
template <int Keys>
__global__ void read_keys(const device::f16* pool, int columns, device::sequence_pages pages, device::key_range live,
                          int slots, std::uint16_t* first_elements) {
  HIP_DYNAMIC_SHARED(uint4, lds);
  auto* const base = reinterpret_cast<unsigned char*>(lds);
  const int wave = device::wave_of_block(), lane = static_cast<int>(threadIdx.x) % device::wave_lanes();
  const device::group_source<device::f16> source{{pool, pages.page_size * columns, columns}, columns * 2, columns * 2};
  const int first = live.first / Keys + wave, last = (live.last + Keys - 1) / Keys;
  const int ring_bytes = slots * Keys * lds_row_bytes;
  device::key_ring<device::f16, device::f16, lds_row_bytes, 0, device::wave_crew<Keys, false, true>> ring(
      source, source, {pages, live, first, last, waves, true},
      {base + waves * device::page_window_bytes + wave * ring_bytes, lds_row_bytes, 0, slots,
       base + wave * device::page_window_bytes});
  ring.start();
  for (int group = first; group < last; group += waves) {
    ring.advance();
    for (int row = lane; row < Keys; row += device::wave_lanes())
      if (live.holds(group * Keys + row))
        first_elements[group * Keys + row] = *reinterpret_cast<const std::uint16_t*>(ring.keys().at(row, 0));
  }
  ring.finish();
}

constexpr int pool_rows = 1 << 11;
constexpr int few_columns = 8, usual_columns = lds_row_bytes / 2;  // of f16

/// A pool of rows that hold their number, and a table of any pages.
struct numbered_pool {
  explicit numbered_pool(int page_size, int row_columns = few_columns)
      : size(page_size),
        columns(row_columns),
        rows(pool_rows * static_cast<std::size_t>(row_columns)),
        table(most_keys) {
    for (std::size_t row = 0; row < pool_rows; ++row)
      rows[row * static_cast<std::size_t>(row_columns)].bits = static_cast<std::uint16_t>(row);
    std::mt19937 random(7);
    const auto pages = static_cast<unsigned int>(pool_rows / size);
    for (std::int32_t& page : table) page = static_cast<std::int32_t>(random() % pages);
  }
  int row_of(int key) const { return table[static_cast<std::size_t>(key / size)] * size + key % size; }

  int size, columns;
  std::vector<device::f16> rows;
  std::vector<std::int32_t> table;
};

/// Of the table only the entries of live keys are a tensor: a load of another one is a finding.
template <int Keys>
void require_keys(numbered_pool& pool, device::key_range live, int slots) {
  for (const assay_launch& l : assay::cpu::all_launches()) {
    INFO("groups of " << Keys << " keys, pages of " << pool.size << ", keys " << live.first << " to " << live.last
                      << ", " << slots << " slots, " << assay::cpu::name(l));
    std::vector<std::uint16_t> first_elements(most_keys, 0xFFFF);
    const std::int64_t first_entry = live.first / pool.size, end_entry = (live.last - 1) / pool.size + 1;
    toy_tensor table("table", pool.table.data() + first_entry, {end_entry - first_entry}, {1}, ASSAY_INPUT);
    toy_tensor rows("pool", &pool.rows.data()->bits, {std::ssize(pool.rows)}, {1}, ASSAY_INPUT);
    toy_tensor out("first_elements", first_elements.data(), {most_keys}, {1}, ASSAY_OUTPUT);
    const std::array tensors{table.get(), rows.get(), out.get()};
    auto* const kernel = read_keys<Keys>;
    const device::sequence_pages pages{pool.table.data(), pool.size, device::divisor(pool.size)};
    const std::vector<assay::cpu::seen_defect> seen = assay::cpu::checked_defects(l, tensors, [&] {
      hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(waves * l.wave_size)),
                         static_cast<unsigned int>(waves * (device::page_window_bytes + slots * Keys * lds_row_bytes)),
                         nullptr, pool.rows.data(), pool.columns, pages, live, slots, first_elements.data());
    });
    INFO((seen.empty() ? "" : seen.front().message));
    REQUIRE(seen.empty());
    for (int key = 0; key < most_keys; ++key) {
      const int expected = live.holds(key) ? pool.row_of(key) : 0xFFFF;
      if (first_elements[static_cast<std::size_t>(key)] != expected) {
        INFO("key " << key);
        REQUIRE(first_elements[static_cast<std::size_t>(key)] == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("page ids of many windows of groups are those of the table", "[page_window]") {
  for (const int page_size : {16, 48, 64}) {
    numbered_pool pool(page_size);
    require_keys<16>(pool, {0, 3990}, 2);
    require_keys<32>(pool, {0, 4000}, 4);
    require_keys<32>(pool, {777, 3003}, 3);
  }
}

TEST_CASE("page ids of whole groups of usual rows are those of the table", "[page_window]") {
  for (const int page_size : {16, 48}) {
    numbered_pool pool(page_size, usual_columns);
    require_keys<16>(pool, {7, 1500}, 3);
    require_keys<32>(pool, {0, 3990}, 2);
  }
}

TEST_CASE("page ids of groups that cross pages are those of the table", "[page_window]") {
  numbered_pool pool(24);
  require_keys<16>(pool, {5, 1000}, 3);
  require_keys<32>(pool, {0, 999}, 2);
}

TEST_CASE("ranges within a group, or without a group for a wave, read no entry but those of their keys",
          "[page_window]") {
  numbered_pool pool(16);
  require_keys<16>(pool, {17, 31}, 2);
  require_keys<32>(pool, {52, 64}, 4);
  require_keys<32>(pool, {640, 1000}, 3);
}
