#include "hip/ptx.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/platform/cpu/checker/access_checker.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"

namespace assay::cpu {
namespace {

constexpr int lanes_of_warp = 32;

}  // namespace

void demand_warp(const char* name) {
  if (wave_size() != lanes_of_warp) throw std::invalid_argument(std::string(name) + " needs waves of 32 lanes");
}

template <int Count, bool IsTransposed>
void exchange_rows(wave_records& records) {
  const auto of = [&](int lane) { return static_cast<matrix_rows*>(records.lane[lane]); };
  for (int lane = 0; lane < lanes_of_warp; ++lane)
    for (int i = 0; of(lane) != nullptr && i < Count; ++i) {
      std::uint16_t parts[2] = {};
      for (int e = 0; e < 2; ++e) {
        const int outer = lane / 4, inner = 2 * (lane % 4) + e;
        const matrix_rows* const from = of(8 * i + (IsTransposed ? inner : outer));
        if (from != nullptr) parts[e] = from->row[IsTransposed ? outer : inner];
      }
      of(lane)->result[i] = static_cast<std::uint32_t>(parts[0] | parts[1] << 16);
    }
}
template void exchange_rows<1, false>(wave_records&);
template void exchange_rows<2, false>(wave_records&);
template void exchange_rows<4, false>(wave_records&);
template void exchange_rows<1, true>(wave_records&);
template void exchange_rows<2, true>(wave_records&);
template void exchange_rows<4, true>(wave_records&);

void load_matrices(std::uintptr_t pc, std::source_location where, std::uint32_t* words, const void* row, int count,
                   bool is_transposed) {
  demand_warp("ldmatrix");
  if (count != 1 && count != 2 && count != 4) throw std::invalid_argument("ldmatrix loads 1, 2 or 4 matrices");
  matrix_rows own{};
  if (lane_id() < 8 * count) {
    demand_multiple(row, sizeof own.row, pc);
    note_load(row, sizeof own.row, pc);
    std::memcpy(own.row, row, sizeof own.row);
  }
  const wave_operation exchange = count == 1   ? (is_transposed ? &exchange_rows<1, true> : &exchange_rows<1, false>)
                                  : count == 2 ? (is_transposed ? &exchange_rows<2, true> : &exchange_rows<2, false>)
                                               : (is_transposed ? &exchange_rows<4, true> : &exchange_rows<4, false>);
  wave_rendezvous("ldmatrix", where, &own, exchange);
  std::memcpy(words, own.result, static_cast<std::size_t>(count) * sizeof *words);
}

namespace {

double half_of(float_format format, std::uint32_t pair, int which) {
  return decoded(format, pair >> (16 * which) & 0xFFFF);
}

}  // namespace

template <float_format Format, int K, class Sum>
void multiply_warp(wave_records& records) {
  constexpr int m = 16, n = 8;
  double a[m][K] = {}, b[K][n] = {}, sum[m][n] = {};  // a lane that is not there has zeros
  const auto of = [&](int lane) { return static_cast<mma_fragments*>(records.lane[lane]); };
  constexpr bool is_f32 = std::is_same_v<Sum, float>;
  // Element e of a lane's sums: rows l / 4 and 8 below, columns 2 (l % 4) and the next.
  const auto row_of = [](int lane, int e) { return lane / 4 + 8 * (e / 2); };
  const auto column_of = [](int lane, int e) { return 2 * (lane % 4) + e % 2; };
  for (int lane = 0; lane < lanes_of_warp; ++lane) {
    const mma_fragments* const r = of(lane);
    if (r == nullptr) continue;
    // Register i of A: rows l / 4 and 8 below in turn, then k 8 further on. Register i of B: k 8 i further on.
    for (int i = 0; i < K / 4; ++i)
      for (int e = 0; e < 2; ++e)
        a[lane / 4 + 8 * (i % 2)][8 * (i / 2) + 2 * (lane % 4) + e] = half_of(Format, r->a[i], e);
    for (int i = 0; i < K / 8; ++i)
      for (int e = 0; e < 2; ++e) b[8 * i + 2 * (lane % 4) + e][lane / 4] = half_of(Format, r->b[i], e);
    for (int e = 0; e < 4; ++e)
      sum[row_of(lane, e)][column_of(lane, e)] =
          is_f32 ? static_cast<double>(static_cast<const float*>(r->c)[e])
                 : half_of(f16_format, static_cast<const std::uint32_t*>(r->c)[e / 2], e % 2);
  }
  for (int row = 0; row < m; ++row)
    for (int k = 0; k < K; ++k)
      for (int column = 0; column < n; ++column) sum[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < lanes_of_warp; ++lane) {
    mma_fragments* const r = of(lane);
    for (int e = 0; r != nullptr && e < 4; ++e) {
      const double value = sum[row_of(lane, e)][column_of(lane, e)];
      if constexpr (is_f32) {
        static_cast<float*>(r->d)[e] = static_cast<float>(value);
      } else {
        auto* const pair = static_cast<std::uint32_t*>(r->d) + e / 2;
        const std::uint32_t code = encoded(f16_format, value, false);
        *pair = e % 2 == 0 ? code : *pair | code << 16;
      }
    }
  }
}
template void multiply_warp<f16_format, 16, float>(wave_records&);
template void multiply_warp<bf16_format, 16, float>(wave_records&);
template void multiply_warp<f16_format, 8, float>(wave_records&);
template void multiply_warp<bf16_format, 8, float>(wave_records&);
template void multiply_warp<f16_format, 16, std::uint32_t>(wave_records&);
template void multiply_warp<f16_format, 8, std::uint32_t>(wave_records&);

}  // namespace assay::cpu
