/// Atoms with the keys of a wave on their long side, and the ring that brings the keys, on the executor with both wave
/// sizes, against plain loops.
#include "kernels/device/key_atoms.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/device/key_ring.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

namespace device = assay::device;

namespace {

constexpr int keys = device::group_keys, queries = device::narrow_columns, dim = 128, columns = 128;

/// Row-major rows to LDS.
template <class T>
__device__ void stage(const device::swizzled_rows& to, const T* from, int rows, int row_elements) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * row_elements; i += static_cast<int>(blockDim.x))
    *reinterpret_cast<T*>(to.at(i / row_elements, i % row_elements * static_cast<int>(sizeof(T)))) = from[i];
}

/// s[key][query] = K Q^T; o[query][column] = (V^T P^T)^T with P = s / 64.
template <class T, class Stored, class Score>
__global__ void both_products(const T* q, const Stored* k, const device::f16* v, Score* s_out, float* o_out) {
  HIP_DYNAMIC_SHARED(uint4, lds);
  auto* const base = reinterpret_cast<unsigned char*>(lds);
  const device::swizzled_rows q_rows{base, dim * 2}, k_rows{base + queries * dim * 2, dim * 2},
      v_rows{base + (queries + keys) * dim * 2, columns * 2};
  stage(q_rows, q, queries, dim);
  stage(k_rows, k, keys, dim);
  stage(v_rows, v, keys, columns);
  __syncthreads();
  device::narrow_sums<Score> all[1][1];
  device::multiply_keys<T, 0, 1>(
      all, dim / device::atom_depth, [&](int, int step, auto& f) { device::load_keys<Stored>(f, k_rows, step); },
      [&](int, int step, auto& f) { device::load_queries<Stored>(f, q_rows, step); });
  const auto& s = all[0];
  float p[sizeof(device::narrow_sums<float>) / sizeof(float)] = {};
  for (int i = 0; i < s[0].count(); ++i) {
    s_out[device::narrow_row(i) * queries + device::narrow_column(i)] = s[0].value[i];
    p[i] = static_cast<float>(s[0].value[i]) / 64;
  }
  device::query_fragment<device::f16> operand[1][1];
  device::to_operand(operand[0][0], p);
  device::narrow_sums<float> o[1][columns / 16];
  device::multiply_values(o, columns / 64, operand,
                          [&](int, int block, auto& f) { device::load_values<device::f16>(f, v_rows, block); });
  for (int atom = 0; atom < columns / 16; ++atom)
    for (int i = 0; i < o[0][atom].count(); ++i)
      o_out[device::narrow_column(i) * columns + device::value_column<device::f16>(atom, device::narrow_row(i))] =
          o[0][atom].value[i];
}

template <class T>
T draw(std::mt19937& random) {
  const int number = static_cast<int>(random() % 17U) - 8;
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<std::int8_t>(number);
  else
    return device::from_float<T>(static_cast<float>(number) / 4);
}
template <class T>
float value_of(T x) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return x;
  else
    return device::to_float(x);
}
template <class T>
std::vector<T> draw_all(std::mt19937& random, int count) {
  std::vector<T> all(static_cast<std::size_t>(count));
  for (T& x : all) x = draw<T>(random);
  return all;
}

/// Small numbers, whose products and sums are exact.
template <class T, class Stored, class Score>
void require_products() {
  std::mt19937 random(3);
  const auto q = draw_all<T>(random, queries * dim);
  const auto k = draw_all<Stored>(random, keys * dim);
  const auto v = draw_all<device::f16>(random, keys * columns);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  for (const assay_launch& l : assay::cpu::all_launches()) {
    INFO(assay::cpu::name(l));
    std::vector<Score> s(at(keys * queries));
    std::vector<float> o(at(queries * columns));
    auto* const kernel = both_products<T, Stored, Score>;
    REQUIRE(assay::cpu::defects_of(l, [&] {
              hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(l.wave_size)),
                                 (queries + keys) * dim * 2 + keys * columns * 2, nullptr, q.data(), k.data(), v.data(),
                                 s.data(), o.data());
            }).empty());
    for (int query = 0; query < queries; ++query) {
      for (int key = 0; key < keys; ++key) {
        float dot = 0;
        for (int d = 0; d < dim; ++d) dot += value_of(q[at(query * dim + d)]) * value_of(k[at(key * dim + d)]);
        REQUIRE(static_cast<float>(s[at(key * queries + query)]) == dot);
      }
      for (int column = 0; column < columns; ++column) {
        double sum = 0;
        for (int key = 0; key < keys; ++key)
          sum += static_cast<double>(device::to_float(
                     device::from_float<device::f16>(static_cast<float>(s[at(key * queries + query)]) / 64))) *
                 static_cast<double>(value_of(v[at(key * columns + column)]));
        REQUIRE(o[at(query * columns + column)] == static_cast<float>(sum));
      }
    }
  }
}

constexpr int pool_pages = 40, waves = 2, most_keys = 203;

/// A pool's columns that keys and values have.
struct ring_columns {
  int pool, values;
};

/// Each wave sums the columns of its keys and values, and of what lies behind them in LDS. Keys: of a group.
template <class T, int Keys>
__global__ void sum_keys(const T* pool, ring_columns columns_of, device::sequence_pages pages, device::key_range live,
                         int slots, bool has_whole_vectors, float* sums) {
  HIP_DYNAMIC_SHARED(uint4, lds);
  constexpr int row_bytes = device::swizzled_row_bytes(128 * static_cast<int>(sizeof(T)));
  const int wave = device::wave_of_block(), lane = static_cast<int>(threadIdx.x) % device::wave_lanes();
  const auto source_of = [&](int source_columns) {
    return device::group_source<T>{{pool, pages.page_size * columns_of.pool, columns_of.pool},
                                   source_columns * static_cast<int>(sizeof(T)),
                                   128 * static_cast<int>(sizeof(T))};
  };
  const int first_group = live.first / Keys, last_group = (live.last + Keys - 1) / Keys;
  device::key_ring<T, T, row_bytes, row_bytes, device::wave_crew<Keys>> ring(
      source_of(columns_of.pool), source_of(columns_of.values),
      {pages, live, first_group + wave, last_group, waves, has_whole_vectors},
      {reinterpret_cast<unsigned char*>(lds) + wave * slots * 2 * Keys * row_bytes, row_bytes, row_bytes, slots});
  ring.start();
  for (int group = first_group + wave; group < last_group; group += waves) {
    const auto sum_of = [&](const device::swizzled_rows& rows, int column) {
      float sum = 0;
      for (int row = 0; row < Keys; ++row)
        sum += device::to_float(*reinterpret_cast<const T*>(rows.at(row, column * static_cast<int>(sizeof(T)))));
      return sum;
    };
    ring.advance();
    for (int column = lane; column < 128; column += device::wave_lanes())
      sums[group * 128 + column] = sum_of(ring.keys(), column);
    for (int column = lane; column < 128; column += device::wave_lanes())
      sums[group * 128 + column] += 2 * sum_of(ring.values(), column);
  }
  ring.finish();
}

template <class T, int Keys>
void require_ring(ring_columns columns_of, bool has_whole_vectors) {
  const int pool_columns = columns_of.pool;
  std::mt19937 random(5);
  for (const int page_size : {1, 3, 8, 16, 24, 48}) {
    std::vector<T> pool = draw_all<T>(random, pool_pages * 48 * pool_columns);
    std::vector<std::int32_t> table(most_keys);
    for (std::int32_t& page : table) page = static_cast<std::int32_t>(random() % pool_pages);
    const device::sequence_pages pages{table.data(), page_size, device::divisor(page_size)};
    for (const device::key_range live : {device::key_range{0, most_keys}, device::key_range{21, 150}})
      for (const int slots : {2, 3, 4})
        for (const assay_launch& l : assay::cpu::all_launches()) {
          INFO("pages of " << page_size << ", keys " << live.first << " to " << live.last << ", " << slots << " slots, "
                           << assay::cpu::name(l));
          std::vector<float> sums(16 * 128, -1.0F);
          auto* const kernel = sum_keys<T, Keys>;
          constexpr int row_bytes = device::swizzled_row_bytes(128 * static_cast<int>(sizeof(T)));
          REQUIRE(assay::cpu::defects_of(l, [&] {
                    hipLaunchKernelGGL(kernel, dim3(1), dim3(static_cast<unsigned int>(waves * l.wave_size)),
                                       static_cast<unsigned int>(waves * slots * 2 * Keys * row_bytes), nullptr,
                                       pool.data(), columns_of, pages, live, slots, has_whole_vectors, sums.data());
                  }).empty());
          for (int group = 0; group < 16; ++group)
            for (int column = 0; column < 128; ++column) {
              const bool is_visited = group >= live.first / Keys && group < (live.last + Keys - 1) / Keys;
              float sum = is_visited ? 0.0F : -1.0F;
              for (int key = group * Keys; is_visited && column < pool_columns && key < (group + 1) * Keys; ++key)
                if (live.holds(key)) {
                  const std::int64_t row = std::int64_t{table[static_cast<std::size_t>(key / page_size)]} * page_size;
                  const std::int64_t at = (row + key % page_size) * pool_columns + column;
                  sum +=
                      (column < columns_of.values ? 3.0F : 1.0F) * device::to_float(pool[static_cast<std::size_t>(at)]);
                }
              REQUIRE(sums[static_cast<std::size_t>(group * 128 + column)] == sum);
            }
        }
  }
}

}  // namespace

TEST_CASE("a wave multiplies its keys and values by queries as the definition says", "[key_atoms]") {
  require_products<device::f16, device::f16, float>();
  require_products<device::bf16, device::bf16, float>();
  require_products<device::f16, device::e4m3fn, float>();
  require_products<device::bf16, device::e4m3fnuz, float>();
  require_products<std::int8_t, std::int8_t, std::int32_t>();
}

TEST_CASE("the ring brings each wave its groups of keys, zeros for dead ones and behind the columns", "[key_atoms]") {
  require_ring<device::f16, keys>({72, 72}, true);
  require_ring<device::f16, keys>({72, 72}, false);
  require_ring<device::f16, keys>({128, 128}, true);  // whole rows
  require_ring<device::f16, keys>({128, 72}, true);   // of keys alone
  require_ring<device::e4m3fn, keys>({72, 72}, false);
  require_ring<device::e4m3fn, 2 * keys>({72, 72}, false);
  require_ring<device::e4m3fn, 2 * keys>({128, 128}, true);
}

// PTX ISA, "Strides" and "128B swizzling" of wgmma's matrices: rows of 128 bytes, whose chunks change places by the
// row.
TEST_CASE("strips lie in LDS as a matrix unit reads them", "[key_atoms]") {
  constexpr int rows = 64, strip_bytes = rows * 128;
  const device::swizzled_strips strips{nullptr, strip_bytes};
  for (int row = 0; row < rows; ++row)
    for (int chunk = 0; chunk < 16; ++chunk)
      CHECK(strips.chunk_offset(row, chunk) == chunk / 8 * strip_bytes + row * 128 + ((chunk % 8) ^ (row % 8)) * 16);
}

TEST_CASE("chunks of a column lie in different banks in eight rows that follow each other", "[key_atoms]") {
  for (int chunk = 0; chunk < 16; ++chunk) {
    std::vector<bool> is_taken(8);
    for (int row = 0; row < 8; ++row) {
      const device::swizzled_rows rows{nullptr, 256};
      const auto place = static_cast<std::size_t>(rows.chunk_offset(row, chunk) / 16 % 8);
      CHECK_FALSE(is_taken[place]);
      is_taken[place] = true;
    }
  }
}
