/// The combine kernel: a block takes two rows, 32 lanes each, four columns a lane. LSEs and weights lie in LDS.
/// Partials of several splits are on their way at once: few rows have many splits, and then latency is all that there
/// is.
#include "kernels/split_kv/combine_arguments.hpp"

#include <hip/hip_runtime.h>

#include "kernels/device/convert.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/vector.hpp"

namespace assay {
namespace {

constexpr int combine_threads = 64;
constexpr int lanes_per_row = 32;
constexpr int rows_per_block = combine_threads / lanes_per_row;
constexpr int columns_of_lane = 4;  // head_dim_v is a multiple of 8
constexpr int splits_at_once = 16;
constexpr float nothing = -__builtin_huge_valf();

__device__ inline float partial_lse(const combine_arguments& a, int split, std::int64_t query, std::int64_t head) {
  const std::int64_t at =
      split * a.lse_partial.stride[0] + query * a.lse_partial.stride[1] + head * a.lse_partial.stride[2];
  return static_cast<const float*>(a.lse_partial.data)[at];
}

/// A lane's columns of one split.
__device__ inline void load_partial(const combine_arguments& a, const float* from, float (&to)[columns_of_lane]) {
  if (a.has_whole_partials != 0) return device::load_adjacent<columns_of_lane>(to, from);
  ASSAY_UNROLL
  for (int i = 0; i < columns_of_lane; ++i) to[i] = from[i];
}

/// Adds w_s o_s for all splits, in their order.
__device__ inline void sum_partials(const combine_arguments& a, const float* weights, const float* from,
                                    float (&sum)[columns_of_lane]) {
  for (int first = 0; first < a.num_splits; first += splits_at_once) {
    float part[splits_at_once][columns_of_lane];
    ASSAY_UNROLL
    for (int i = 0; i < splits_at_once; ++i)
      if (first + i < a.num_splits) load_partial(a, from + (first + i) * a.o_partial.stride[0], part[i]);
    ASSAY_UNROLL
    for (int i = 0; i < splits_at_once; ++i) {
      if (first + i >= a.num_splits) break;
      ASSAY_UNROLL
      for (int c = 0; c < columns_of_lane; ++c) sum[c] = fmaf(weights[first + i], part[i][c], sum[c]);
    }
  }
}

__device__ inline void store_o(const combine_arguments& a, std::int64_t at, float value) {
  if (a.o_type == dtype::f16)
    static_cast<device::f16*>(a.o.data)[at] = device::from_float<device::f16>(value);
  else
    static_cast<device::bf16*>(a.o.data)[at] = device::from_float<device::bf16>(value);
}

__global__ void __launch_bounds__(combine_threads) combine(combine_arguments a) {
  __shared__ float lses[rows_per_block][max_num_splits];
  __shared__ float weights[rows_per_block][max_num_splits];
  const int lane = static_cast<int>(threadIdx.x) % lanes_per_row, slot = static_cast<int>(threadIdx.x) / lanes_per_row;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * rows_per_block + slot;
  const std::int64_t query = row / a.heads_q, head = row % a.heads_q;
  platform::await_kernel_before();
  const bool exists = row < a.rows && (a.end_query == nullptr || query < *a.end_query);

  if (exists)
    for (int s = lane; s < a.num_splits; s += lanes_per_row) lses[slot][s] = partial_lse(a, s, query, head);
  __syncthreads();
  float largest = nothing;
  if (exists) {
    for (int s = 0; s < a.num_splits; ++s) {
      const float lse = lses[slot][s];
      largest = lse > largest || lse != lse ? lse : largest;  // a NaN stays
    }
    for (int s = lane; s < a.num_splits; s += lanes_per_row) {
      const float lse = lses[slot][s];
      weights[slot][s] = lse == nothing ? 0.0F : device::exp(lse - largest);  // all empty: -inf - -inf would be NaN
    }
  }
  __syncthreads();
  if (!exists) return;

  float total = 0.0F;
  for (int s = 0; s < a.num_splits; ++s) total += weights[slot][s];
  if (lane == 0)
    static_cast<float*>(a.lse.data)[query * a.lse.stride[0] + head * a.lse.stride[1]] =
        largest == nothing ? nothing : largest + device::log(total);
  const float* const partials =
      static_cast<const float*>(a.o_partial.data) + query * a.o_partial.stride[1] + head * a.o_partial.stride[2];
  const std::int64_t to = query * a.o.stride[0] + head * a.o.stride[1];
  for (int column = lane * columns_of_lane; column < a.head_dim_v; column += lanes_per_row * columns_of_lane) {
    float sum[columns_of_lane] = {};
    sum_partials(a, weights[slot], partials + column, sum);
    ASSAY_UNROLL
    for (int i = 0; i < columns_of_lane; ++i)
      store_o(a, to + (column + i) * a.o.stride[2], largest == nothing ? 0.0F : sum[i] / total);
  }
}

}  // namespace

std::int64_t combine_blocks(std::int64_t rows) {
  return (rows + rows_per_block - 1) / rows_per_block;
}

void launch_combine(const combine_arguments& arguments) {
  ASSAY_LAUNCH_BEHIND(combine, dim3(static_cast<unsigned int>(combine_blocks(arguments.rows))), dim3(combine_threads),
                      arguments);
}

}  // namespace assay
