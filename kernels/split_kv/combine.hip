/// The combine kernel: a block takes four rows, sixteen lanes each; weights lie in LDS.
#include "kernels/split_kv/combine_arguments.hpp"

#include <hip/hip_runtime.h>

#include "kernels/device/convert.hpp"
#include "kernels/device/math.hpp"

namespace assay {
namespace {

constexpr int combine_threads = 64;
constexpr int lanes_per_row = 16;
constexpr int rows_per_block = combine_threads / lanes_per_row;

__device__ inline float partial_lse(const combine_arguments& a, int split, std::int64_t query, std::int64_t head) {
  const std::int64_t at =
      split * a.lse_partial.stride[0] + query * a.lse_partial.stride[1] + head * a.lse_partial.stride[2];
  return static_cast<const float*>(a.lse_partial.data)[at];
}

__device__ inline void store_o(const combine_arguments& a, std::int64_t at, float value) {
  if (a.o_type == dtype::f16)
    static_cast<device::f16*>(a.o.data)[at] = device::from_float<device::f16>(value);
  else
    static_cast<device::bf16*>(a.o.data)[at] = device::from_float<device::bf16>(value);
}

__global__ void __launch_bounds__(combine_threads) combine(combine_arguments a) {
  __shared__ float weights[rows_per_block][max_num_splits];
  const int lane = static_cast<int>(threadIdx.x) % lanes_per_row, slot = static_cast<int>(threadIdx.x) / lanes_per_row;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * rows_per_block + slot;
  const std::int64_t query = row / a.heads_q, head = row % a.heads_q;
  const bool exists = row < a.rows && (a.end_query == nullptr || query < *a.end_query);
  constexpr float nothing = -__builtin_huge_valf();

  float largest = nothing;
  if (exists) {
    for (int s = 0; s < a.num_splits; ++s) {
      const float lse = partial_lse(a, s, query, head);
      largest = lse > largest || lse != lse ? lse : largest;  // a NaN stays
    }
    for (int s = lane; s < a.num_splits; s += lanes_per_row) {
      const float lse = partial_lse(a, s, query, head);
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
  for (int column = lane; column < a.head_dim_v; column += lanes_per_row) {
    const std::int64_t from =
        query * a.o_partial.stride[1] + head * a.o_partial.stride[2] + column * a.o_partial.stride[3];
    float sum = 0.0F;
    for (int s = 0; s < a.num_splits; ++s)
      sum = fmaf(weights[slot][s], static_cast<const float*>(a.o_partial.data)[from + s * a.o_partial.stride[0]], sum);
    store_o(a, query * a.o.stride[0] + head * a.o.stride[1] + column * a.o.stride[2],
            largest == nothing ? 0.0F : sum / total);
  }
}

}  // namespace

std::int64_t combine_blocks(std::int64_t rows) {
  return (rows + rows_per_block - 1) / rows_per_block;
}

void launch_combine(const combine_arguments& arguments) {
  hipLaunchKernelGGL(combine, dim3(static_cast<unsigned int>(combine_blocks(arguments.rows))), dim3(combine_threads), 0,
                     platform::stream(), arguments);
}

}  // namespace assay
