// The ring of tiles on the executor, with both wave sizes and the checker: what one group of waves brings, two others
// sum, against plain loops.
#include "kernels/device/tile_ring.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

namespace device = assay::device;

namespace {

constexpr int dim = 128, tile_keys = device::ring_tile_keys;
constexpr int taking_threads = 128;  ///< of both groups
constexpr int times = 2;             ///< that all tiles are brought

template <class Stored>
using ring_of = device::tile_ring<Stored, device::f16, dim>;

template <class Stored>
using taker_of = device::tile_taker<ring_of<Stored>>;

/// Does not wait for what it reads.
template <class Stored>
struct hasty_taker : taker_of<Stored> {
  using taker_of<Stored>::taker_of;
  __device__ void advance() {}
};
/// Tells that it has read a load before it reads it.
template <class Stored>
struct early_taker : taker_of<Stored> {
  using taker_of<Stored>::taker_of;
  __device__ void advance() {
    taker_of<Stored>::advance();
    keys_ = taker_of<Stored>::keys(), values_ = taker_of<Stored>::values();
    taker_of<Stored>::release();
  }
  __device__ device::swizzled_strips keys() const { return keys_; }
  __device__ device::swizzled_strips values() const { return values_; }
  __device__ void release() {}

 private:
  device::swizzled_strips keys_ = {}, values_ = {};
};

/// sums[load][column] = the column's sum over the load's keys, and [load][dim + column] twice over its values. Group 0
/// takes even columns, group 1 odd ones.
template <class Stored, class Taker>
__global__ void sum_tiles(const Stored* pool, int pool_columns, device::sequence_pages pages, std::int32_t live,
                          bool has_whole_vectors, float* sums) {
  using ring = ring_of<Stored>;
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);
  __shared__ device::ring_barriers<ring::slots> barriers;
  const int thread = static_cast<int>(threadIdx.x), tiles = (live + tile_keys - 1) / tile_keys;
  if (thread == 0) barriers.start(taking_threads / device::wave_lanes());
  __syncthreads();
  if (thread < device::bringing_threads) {
    const int row_bytes = pool_columns * static_cast<int>(sizeof(Stored));
    const device::group_source<Stored> source{
        {pool, pages.page_size * pool_columns, pool_columns}, row_bytes, row_bytes};
    device::tile_bringer<Stored, device::f16, dim> bringer(lds, barriers, has_whole_vectors);
    for (int time = 0; time < times; ++time) bringer.bring(source, source, pages, live);
    return;
  }
  const int group = (thread - device::bringing_threads) / (taking_threads / 2);
  Taker taker(lds, barriers, group);
  for (int number = 0; number < times * (tiles + 1); ++number) {
    const int load = number % (tiles + 1);
    taker.advance();
    for (int column = 2 * (thread % (taking_threads / 2)) + group; column < pool_columns; column += taking_threads) {
      const auto sum_of = [&](const device::swizzled_strips& rows) {
        float sum = 0;
        for (int row = 0; row < tile_keys; ++row)
          sum += device::to_float(*reinterpret_cast<const device::f16*>(rows.at(row, column * 2)));
        return sum;
      };
      if (load < tiles) sums[load * 2 * dim + column] = sum_of(taker.keys());
      if (load > 0) sums[load * 2 * dim + dim + column] = 2 * sum_of(taker.values());
    }
    assay::platform::wave_fence();
    taker.pass_turn();
    taker.release();
  }
}

/// Both pools are one, of pages that are drawn.
template <class Stored>
struct paged_rows {
  int page_size, columns, live;
  std::vector<Stored> pool;
  std::vector<std::int32_t> table;

  paged_rows(int of_page, int of_row, int keys) : page_size(of_page), columns(of_row), live(keys) {
    std::mt19937 random(7);
    constexpr int pages = 40;
    for (int i = 0; i < pages * page_size * columns; ++i) {
      if constexpr (sizeof(Stored) == 1)
        pool.push_back(device::from_float<Stored>(static_cast<float>(random() % 15) - 7));
      else
        pool.push_back(device::from_float<Stored>(static_cast<float>(random() % 255) - 127));
    }
    for (int i = 0; i < (live + page_size - 1) / page_size; ++i)
      table.push_back(static_cast<std::int32_t>(random() % pages));
  }
  float at(int key, int column) const {
    const std::int64_t row =
        std::int64_t{table[static_cast<std::size_t>(key / page_size)]} * page_size + key % page_size;
    return device::to_float(pool[static_cast<std::size_t>(row * columns + column)]);
  }
  int tiles() const { return (live + tile_keys - 1) / tile_keys; }
  /// The sum of a column over a tile's live keys.
  float sum(int tile, int column) const {
    float sum = 0;
    for (int key = tile * tile_keys; key < std::min(live, (tile + 1) * tile_keys); ++key) sum += at(key, column);
    return sum;
  }
};

template <class Stored, class Taker>
std::vector<assay::cpu::seen_defect> defects_of(paged_rows<Stored>& rows, const assay_launch& l, bool has_whole_vectors,
                                                std::vector<float>& sums) {
  sums.assign(static_cast<std::size_t>((rows.tiles() + 1) * 2 * dim), -1.0F);
  const device::sequence_pages pages{rows.table.data(), rows.page_size, device::divisor(rows.page_size)};
  const auto extent = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
  assay::cpu::toy_tensor pool("pool", rows.pool.data(), {extent(rows.pool)}, {1}, ASSAY_INPUT);
  assay::cpu::toy_tensor table("table", rows.table.data(), {extent(rows.table)}, {1}, ASSAY_INPUT);
  assay::cpu::toy_tensor to("sums", sums.data(), {extent(sums)}, {1}, ASSAY_OUTPUT);
  const std::vector<assay_tensor> tensors{pool.get(), table.get(), to.get()};
  auto* const kernel = sum_tiles<Stored, Taker>;
  constexpr int lds_bytes = ring_of<Stored>::lds_bytes;
  return assay::cpu::checked_defects(
      l, tensors,
      [&] {
        hipLaunchKernelGGL(kernel, dim3(1), dim3(device::bringing_threads + taking_threads), lds_bytes, nullptr,
                           rows.pool.data(), rows.columns, pages, rows.live, has_whole_vectors, sums.data());
      },
      std::size_t{256} << 10);
}

template <class Stored>
void require_sums(bool has_whole_vectors) {
  struct extents {
    int page_size, columns, live;
  };
  for (const extents& e : {extents{1, 32, 1}, extents{3, dim, 150}, extents{16, 32, 300}, extents{64, 64, tile_keys}}) {
    paged_rows<Stored> rows(e.page_size, e.columns, e.live);
    for (const int wave_size : {32, 64}) {
      if (wave_size == 32 && e.page_size == 3) continue;  // the largest once
      const assay_launch l = assay::cpu::parameters(wave_size, ASSAY_RANDOM, static_cast<std::uint64_t>(e.live));
      INFO("pages of " << e.page_size << ", " << e.columns << " columns, " << e.live << " keys, "
                       << assay::cpu::name(l));
      std::vector<float> sums;
      const auto defects = defects_of<Stored, taker_of<Stored>>(rows, l, has_whole_vectors, sums);
      INFO((defects.empty() ? std::string() : defects.front().message));
      REQUIRE(defects.empty());
      std::size_t wrong = 0;
      for (int load = 0; load <= rows.tiles(); ++load)
        for (int column = 0; column < e.columns; ++column) {
          const auto at = static_cast<std::size_t>(load * 2 * dim + column);
          const float of_keys = load < rows.tiles() ? rows.sum(load, column) : -1.0F;
          const float of_values = load > 0 ? 2 * rows.sum(load - 1, column) : -1.0F;
          wrong += sums[at] == of_keys && sums[at + dim] == of_values ? 0 : 1;
        }
      CHECK(wrong == 0);
    }
  }
}

/// The executor finds a race of such takers in some schedule.
template <class Stored, class Taker>
void require_race() {
  paged_rows<Stored> rows(16, 32, 3 * tile_keys);
  bool is_seen = false;
  for (const int schedule : {ASSAY_ROUND_ROBIN, ASSAY_REVERSE, ASSAY_RANDOM}) {
    if (is_seen) break;
    std::vector<float> sums;
    for (const auto& defect : defects_of<Stored, Taker>(rows, assay::cpu::parameters(64, schedule), true, sums))
      is_seen = is_seen || defect.kind == ASSAY_DATA_RACE;
  }
  CHECK(is_seen);
}

}  // namespace

TEST_CASE("the ring of tiles brings keys, values a tile later, and zeros for dead ones", "[tile_ring]") {
  require_sums<device::f16>(true);
  require_sums<device::f16>(false);
}

TEST_CASE("the ring of tiles widens FP8", "[tile_ring]") {
  require_sums<device::e4m3fn>(true);
  require_sums<device::e4m3fnuz>(false);
}

TEST_CASE("who does not wait for a tile races with who brings it", "[tile_ring]") {
  require_race<device::f16, hasty_taker<device::f16>>();
}

TEST_CASE("who releases a tile too early races with who brings the next one", "[tile_ring]") {
  require_race<device::f16, early_taker<device::f16>>();
  require_race<device::e4m3fn, early_taker<device::e4m3fn>>();
}
