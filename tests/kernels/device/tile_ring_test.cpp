// The ring of tiles on the executor, with both wave sizes and the checker: what one group of waves brings, two others
// sum, against plain loops.
#include "kernels/device/tile_ring.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/device/warpgroup.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

namespace device = assay::device;

namespace {

constexpr int dim = 128, tile_keys = device::ring_tile_keys;
constexpr int taking_threads = 128;  ///< of both groups
constexpr int pool_pages = 40, sequences = 2;

/// Keys of e4m3fn stay as they are.
template <class Stored>
using key_of = device::group_element<Stored, device::f16>;
template <class Stored>
using ring_of = device::tile_ring<Stored, key_of<Stored>, device::f16, dim>;
/// Columns of keys in LDS: zeros behind those that they have.
template <class Stored>
constexpr int brought_columns(int columns) {
  return sizeof(key_of<Stored>) == 1 ? (columns + 31) / 32 * 32 : columns;
}

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

constexpr int tiles_of(int live) {
  return (live + tile_keys - 1) / tile_keys;
}
/// The second group takes no part in some loads: it waits for them and releases them.
constexpr bool is_skipped(int load) {
  return load % 3 == 2;
}

/// Rows of K or of V in pages: `stride` elements apart.
template <class Stored>
struct rows_of_pool {
  const Stored* data;
  int columns, stride;
};
struct sequences_of_test {
  const std::int32_t* table[sequences];
  int live[sequences];
  int page_size;
};

/// sums[load][column] = the column's sum over the load's keys, and [load][dim + column] over its values, of one
/// sequence after the other. Group 0 takes even columns, group 1 odd ones.
template <class Stored, class Taker>
__global__ void sum_tiles(rows_of_pool<Stored> k, rows_of_pool<Stored> v, sequences_of_test all, bool has_whole_vectors,
                          float* sums) {
  using ring = ring_of<Stored>;
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);
  __shared__ device::ring_barriers<ring::slots> barriers;
  __shared__ int turns;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) barriers.start(taking_threads / device::wave_lanes()), turns = 0;
  __syncthreads();
  if (thread < device::bringing_threads) {
    const auto source = [&](const rows_of_pool<Stored>& rows, int brought) {
      constexpr int bytes = sizeof(Stored);
      return device::group_source<Stored>{
          {rows.data, all.page_size * rows.stride, rows.stride}, rows.columns * bytes, brought * bytes};
    };
    device::tile_bringer<Stored, key_of<Stored>, device::f16, dim> bringer(lds, barriers, has_whole_vectors);
    const auto pages_of = [&](int i) {
      return device::sequence_pages{all.table[i], all.page_size, device::divisor(all.page_size)};
    };
    std::int32_t first = bringer.first_pages(pages_of(0), all.live[0]);
    for (int i = 0; i < sequences; ++i)
      bringer.bring(source(k, brought_columns<Stored>(k.columns)), source(v, v.columns), pages_of(i), all.live[i],
                    first, [&] {
                      if (i + 1 < sequences) first = bringer.first_pages(pages_of(i + 1), all.live[i + 1]);
                    });
    bringer.end();
    return;
  }
  const int own = thread - device::bringing_threads, group = own / (taking_threads / 2);
  Taker taker(lds, barriers, group);
  const auto sum_columns = [&]<class Element>(Element, const device::swizzled_strips& rows, int columns, float* to) {
    for (int column = 2 * (own % (taking_threads / 2)) + group; column < columns; column += taking_threads) {
      float sum = 0;
      for (int row = 0; row < tile_keys; ++row)
        sum += device::to_float(
            *reinterpret_cast<const Element*>(rows.at(row, column * static_cast<int>(sizeof(Element)))));
      to[column] = sum;
    }
  };
  for (const int live : all.live)
    for (int load = 0; load <= tiles_of(live); ++load, sums += 2 * dim) {
      taker.advance();
      if constexpr (std::is_same_v<Taker, taker_of<Stored>>)  // not where a race of tiles is looked for
        if (own % (taking_threads / 2) == 0) ++turns;         // a race, if turns do not order it
      if (group == 1 && is_skipped(load)) {
        taker.pass_turn();
        taker.release();
        continue;
      }
      if (load < tiles_of(live)) sum_columns(key_of<Stored>{}, taker.keys(), brought_columns<Stored>(k.columns), sums);
      if (load > 0) sum_columns(device::f16{}, taker.values(), v.columns, sums + dim);
      assay::platform::wave_fence();
      taker.pass_turn();
      taker.release();
    }
}

/// Pages of K or V, drawn.
template <class Stored>
struct drawn_pool {
  int page_size, columns, stride;
  std::vector<Stored> data;

  drawn_pool(std::mt19937& random, int of_page, int of_row, int between)
      : page_size(of_page), columns(of_row), stride(of_row + between) {
    for (int i = 0; i < pool_pages * page_size * stride; ++i) {
      const auto range = sizeof(Stored) == 1 ? 7 : 127;
      const auto drawn = static_cast<int>(random() % static_cast<unsigned int>(2 * range + 1));
      data.push_back(device::from_float<Stored>(static_cast<float>(drawn - range)));
    }
  }
  rows_of_pool<Stored> rows() const { return {data.data(), columns, stride}; }
  /// The sum of a column over a tile's live keys.
  float sum(const std::vector<std::int32_t>& table, int live, int tile, int column) const {
    float sum = 0;
    for (int key = tile * tile_keys; key < std::min(live, (tile + 1) * tile_keys); ++key) {
      const std::int64_t page = table[static_cast<std::size_t>(key / page_size)];
      const std::int64_t at = (page * page_size + key % page_size) * stride + column;
      sum += device::to_float(data[static_cast<std::size_t>(at)]);
    }
    return sum;
  }
};

template <class Stored>
struct paged_sequences {
  std::mt19937 random{7};
  drawn_pool<Stored> k, v;
  int live[sequences];
  std::vector<std::int32_t> table[sequences];

  /// V has rows of its own length.
  paged_sequences(int page_size, int columns, int keys)
      : k(random, page_size, columns, 16),
        v(random, page_size, std::max(columns - 32, 32), 48),
        live{keys, keys / 2 + 1} {
    for (int i = 0; i < sequences; ++i)
      for (int page = 0; page * page_size < live[i]; ++page)
        table[i].push_back(static_cast<std::int32_t>(random() % pool_pages));
  }
  int loads() const { return tiles_of(live[0]) + tiles_of(live[1]) + sequences; }

  template <class Taker>
  std::vector<assay::cpu::seen_defect> defects(const assay_launch& l, bool has_whole_vectors,
                                               std::vector<float>& sums) {
    sums.assign(static_cast<std::size_t>(loads()) * 2 * dim, -1.0F);
    const auto given = [](const char* name, auto& values, int role) {
      return std::make_unique<assay::cpu::toy_tensor>(
          name, values.data(), std::vector<std::int64_t>{std::ssize(values)}, std::vector<std::int64_t>{1}, role);
    };
    const std::unique_ptr<assay::cpu::toy_tensor> named[] = {
        given("k", k.data, ASSAY_INPUT), given("v", v.data, ASSAY_INPUT), given("table", table[0], ASSAY_INPUT),
        given("second_table", table[1], ASSAY_INPUT), given("sums", sums, ASSAY_OUTPUT)};
    std::vector<assay_tensor> tensors;
    for (const auto& tensor : named) tensors.push_back(tensor->get());
    const sequences_of_test all{{table[0].data(), table[1].data()}, {live[0], live[1]}, k.page_size};
    auto* const kernel = sum_tiles<Stored, Taker>;
    constexpr int lds_bytes = ring_of<Stored>::lds_bytes;
    return assay::cpu::checked_defects(
        l, tensors,
        [&] {
          hipLaunchKernelGGL(kernel, dim3(1), dim3(device::bringing_threads + taking_threads), lds_bytes, nullptr,
                             k.rows(), v.rows(), all, has_whole_vectors, sums.data());
        },
        std::size_t{256} << 10);
  }

  /// Sums that are not what plain loops say.
  int wrong(const std::vector<float>& sums) const {
    int wrong = 0;
    const float* of_load = sums.data();
    for (int i = 0; i < sequences; ++i)
      for (int load = 0; load <= tiles_of(live[i]); ++load, of_load += 2 * dim)
        for (int column = 0; column < dim; ++column) {
          const bool is_taken = column % 2 == 0 || !is_skipped(load);
          const bool is_zero = column >= k.columns;
          const bool has_key = is_taken && column < brought_columns<Stored>(k.columns) && load < tiles_of(live[i]);
          const bool has_value = is_taken && column < v.columns && load > 0;
          wrong +=
              of_load[column] == (has_key ? is_zero ? 0.0F : k.sum(table[i], live[i], load, column) : -1.0F) ? 0 : 1;
          wrong += of_load[dim + column] == (has_value ? v.sum(table[i], live[i], load - 1, column) : -1.0F) ? 0 : 1;
        }
    return wrong;
  }
};

struct extents {
  int page_size, columns, live;
};
constexpr extents one_key{1, 32, 1}, odd_pages{3, dim, 150}, whole_tiles{64, dim, 200}, few_columns{16, 48, 300};

template <class Stored>
void require_sums(bool has_whole_vectors, std::initializer_list<extents> all) {
  for (const extents& e : all) {
    paged_sequences<Stored> rows(e.page_size, e.columns, e.live);
    for (const int wave_size : {32, 64}) {
      const assay_launch l = assay::cpu::parameters(wave_size, ASSAY_RANDOM, static_cast<std::uint64_t>(e.live));
      INFO("pages of " << e.page_size << ", " << e.columns << " columns, " << e.live << " keys, "
                       << assay::cpu::name(l));
      std::vector<float> sums;
      const auto defects = rows.template defects<taker_of<Stored>>(l, has_whole_vectors, sums);
      INFO((defects.empty() ? std::string() : defects.front().message));
      REQUIRE(defects.empty());
      CHECK(rows.wrong(sums) == 0);
    }
  }
}

/// The executor finds a race of such takers in some schedule.
template <class Stored, class Taker>
void require_race() {
  paged_sequences<Stored> rows(16, 32, 3 * tile_keys);
  bool is_seen = false;
  for (const int schedule : {ASSAY_ROUND_ROBIN, ASSAY_REVERSE, ASSAY_RANDOM}) {
    if (is_seen) break;
    std::vector<float> sums;
    for (const auto& defect : rows.template defects<Taker>(assay::cpu::parameters(64, schedule), true, sums))
      is_seen = is_seen || defect.kind == ASSAY_DATA_RACE;
  }
  CHECK(is_seen);
}

}  // namespace

TEST_CASE("the ring of tiles brings keys, values a tile later, and zeros for dead ones", "[tile_ring]") {
  require_sums<device::f16>(true, {one_key, odd_pages, whole_tiles, few_columns});
  require_sums<device::f16>(false, {few_columns});
}

TEST_CASE("the ring of tiles widens FP8, and leaves keys of e4m3fn as they are", "[tile_ring]") {
  require_sums<device::e4m3fn>(true, {odd_pages, whole_tiles, few_columns});
  require_sums<device::e4m3fn>(false, {few_columns});
  require_sums<device::e4m3fnuz>(true, {odd_pages, whole_tiles});
  require_sums<device::e4m3fnuz>(false, {few_columns});
}

TEST_CASE("who does not wait for a tile races with who brings it", "[tile_ring]") {
  require_race<device::f16, hasty_taker<device::f16>>();
  require_race<device::e4m3fn, hasty_taker<device::e4m3fn>>();
  require_race<device::e4m3fnuz, hasty_taker<device::e4m3fnuz>>();
}

TEST_CASE("who releases a tile too early races with who brings the next one", "[tile_ring]") {
  require_race<device::f16, early_taker<device::f16>>();
  require_race<device::e4m3fn, early_taker<device::e4m3fn>>();
  require_race<device::e4m3fnuz, early_taker<device::e4m3fnuz>>();
}
