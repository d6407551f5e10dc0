/// The combine kernel: a block takes a row, two columns a lane. LSEs and weights lie in LDS. Partials of many splits
/// are on their way at once, and before the weights are known: few rows have many splits, and then latency is all that
/// there is.
#include "kernels/split_kv/combine_arguments.hpp"

#include <hip/hip_runtime.h>

#include "kernels/device/convert.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/vector.hpp"

namespace assay {
namespace {

constexpr int combine_threads = 64;
constexpr int columns_of_lane = 2;  // head_dim_v is a multiple of 8
constexpr int columns_at_once = combine_threads * columns_of_lane;
constexpr int splits_at_once = 48;
constexpr int splits_of_step = 16;  // of which all are loaded, or none
constexpr float nothing = -__builtin_huge_valf();

__device__ inline float partial_lse(const combine_arguments& a, int split, std::int64_t query, std::int64_t head) {
  const std::int64_t at =
      split * a.lse_partial.stride[0] + query * a.lse_partial.stride[1] + head * a.lse_partial.stride[2];
  return static_cast<const float*>(a.lse_partial.data)[at];
}

/// A lane's columns of some splits.
struct partials {
  float of_split[splits_at_once][columns_of_lane];
};

/// Starts the loads from split `first` on. `from`: the columns of split 0.
__device__ inline void load_partials(const combine_arguments& a, const float* from, int first, partials& to) {
  ASSAY_UNROLL
  for (int step = 0; step < splits_at_once; step += splits_of_step) {
    if (first + step >= a.num_splits) continue;
    ASSAY_UNROLL
    for (int i = step; i < step + splits_of_step; ++i) {
      if (first + i >= a.num_splits) continue;
      const float* const split = from + (first + i) * a.o_partial.stride[0];
      if (a.has_whole_partials != 0)
        device::load_adjacent<columns_of_lane>(to.of_split[i], split);
      else
        for (int c = 0; c < columns_of_lane; ++c) to.of_split[i][c] = split[c];
    }
  }
}

/// Adds w_s o_s, in the splits' order.
__device__ inline void add_partials(const combine_arguments& a, const float* weights, int first, const partials& from,
                                    float (&sum)[columns_of_lane]) {
  ASSAY_UNROLL
  for (int step = 0; step < splits_at_once; step += splits_of_step) {
    if (first + step >= a.num_splits) continue;
    ASSAY_UNROLL
    for (int i = step; i < step + splits_of_step; ++i) {
      if (first + i >= a.num_splits) continue;
      ASSAY_UNROLL
      for (int c = 0; c < columns_of_lane; ++c) sum[c] = fmaf(weights[first + i], from.of_split[i][c], sum[c]);
    }
  }
}

__device__ inline void store_o(const combine_arguments& a, std::int64_t at, float value) {
  if (a.o_type == dtype::f16)
    static_cast<device::f16*>(a.o.data)[at] = device::from_float<device::f16>(value);
  else
    static_cast<device::bf16*>(a.o.data)[at] = device::from_float<device::bf16>(value);
}

/// Leaves the weight of each split in LDS, and returns the largest LSE. All threads are to call this.
__device__ inline float weigh_splits(const combine_arguments& a, std::int64_t query, std::int64_t head, float* lses,
                                     float* weights) {
  const int lane = static_cast<int>(threadIdx.x);
  for (int s = lane; s < a.num_splits; s += combine_threads) lses[s] = partial_lse(a, s, query, head);
  __syncthreads();
  float largest = nothing;
  for (int s = 0; s < a.num_splits; ++s) {
    const float lse = lses[s];
    largest = lse > largest || lse != lse ? lse : largest;  // a NaN stays
  }
  for (int s = lane; s < a.num_splits; s += combine_threads) {
    const float lse = lses[s];
    weights[s] = lse == nothing ? 0.0F : device::exp(lse - largest);  // all empty: -inf - -inf would be NaN
  }
  __syncthreads();
  return largest;
}

__global__ void __launch_bounds__(combine_threads) combine(combine_arguments a) {
  __shared__ float lses[max_num_splits];
  __shared__ float weights[max_num_splits];
  const std::int64_t row = blockIdx.x, query = row / a.heads_q, head = row % a.heads_q;
  const bool exists = a.end_query == nullptr || query < *a.end_query;
  platform::await_kernel_before();
  if (!exists) return;

  const int own = static_cast<int>(threadIdx.x) * columns_of_lane;
  const float* const of_row =
      static_cast<const float*>(a.o_partial.data) + query * a.o_partial.stride[1] + head * a.o_partial.stride[2];
  partials part;
  if (own < a.head_dim_v) load_partials(a, of_row + own, 0, part);
  const float largest = weigh_splits(a, query, head, lses, weights);

  float total = 0.0F;
  for (int s = 0; s < a.num_splits; ++s) total += weights[s];
  if (threadIdx.x == 0)
    static_cast<float*>(a.lse.data)[query * a.lse.stride[0] + head * a.lse.stride[1]] =
        largest == nothing ? nothing : largest + device::log(total);
  const std::int64_t to = query * a.o.stride[0] + head * a.o.stride[1];
  for (int column = own; column < a.head_dim_v; column += columns_at_once) {
    float sum[columns_of_lane] = {};
    for (int first = 0; first < a.num_splits; first += splits_at_once) {
      if (column != own || first != 0) load_partials(a, of_row + column, first, part);
      add_partials(a, weights, first, part, sum);
    }
    ASSAY_UNROLL
    for (int i = 0; i < columns_of_lane; ++i)
      store_o(a, to + (column + i) * a.o.stride[2], largest == nothing ? 0.0F : sum[i] / total);
  }
}

}  // namespace

std::int64_t combine_blocks(std::int64_t rows) {
  return rows;
}

void launch_combine(const combine_arguments& arguments) {
  ASSAY_LAUNCH_BEHIND(combine, dim3(static_cast<unsigned int>(combine_blocks(arguments.rows))), dim3(combine_threads),
                      arguments);
}

}  // namespace assay
