/// Paged MQA logits, with fixed and with variable contexts. A block takes query rows of one sequence, all of them where
/// their heads are few enough, and one part of its context, in groups of keys. The last group overshoots the
/// context, so that every store asks whether the block owns the column: none lies at or past max_model_len, nor below
/// the part's start.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#include "kernels/mqa_logits/mqa_scores.hpp"
#include "kernels/mqa_logits/mqa_work.hpp"

namespace assay {

/// Logits of the block's rows.
struct mqa_output {
  float* first;
  std::int64_t row_stride;
  __device__ float& at(std::int32_t row, std::int32_t column) const { return first[row * row_stride + column]; }
};

__device__ inline mqa_output logits_of(const mqa_arguments& a, const mqa_work& w) {
  return {static_cast<float*>(a.logits.data) + w.query * a.logits.stride[0], a.logits.stride[0]};
}

template <class Heads, int MaxHeads, int MaxRows>
__global__ void __launch_bounds__(mqa_threads, mqa_blocks_of_unit) mqa_logits_block(mqa_arguments a) {
  HIP_DYNAMIC_SHARED(device::swizzled_lds, lds);
  const mqa_work work = find_mqa_work(a);
  const mqa_output logits = logits_of(a, work);
  if (work.first < work.end) {
    mqa_scores<Heads, MaxHeads, MaxRows> scores(a, work, reinterpret_cast<unsigned char*>(lds));
    scores.run([&](std::int32_t row, std::int32_t column, float logit) {
      if (work.owns(column)) logits.at(row, column) = logit;
    });
  }

  if (a.fills_hidden == 0) return;
  for (std::int64_t strip = work.end; strip < work.last; strip += mqa_threads) {
    const auto column = static_cast<std::int32_t>(strip + threadIdx.x);
    for (std::int32_t row = 0; row < work.rows; ++row)
      if (work.owns(column)) logits.at(row, column) = hidden_logit;
  }
}

template <class Heads, int MaxHeads, int MaxRows>
void launch_mqa_block(const mqa_arguments& arguments, mqa_grid grid) {
  void (*const mqa_logits)(mqa_arguments) =
      mqa_logits_block<Heads, MaxHeads, MaxRows>;  // the name that the platform reports
  platform::allow_lds(mqa_logits, arguments.shape.lds_bytes);
  hipLaunchKernelGGL(mqa_logits, dim3(grid.splits, grid.row_blocks, grid.sequences), dim3(mqa_threads),
                     static_cast<std::size_t>(arguments.shape.lds_bytes), platform::stream(), arguments);
}

template <class Heads>
void launch_mqa_by(const mqa_arguments& arguments, mqa_grid grid) {
  constexpr int few = mqa_few_heads, all = mqa_max_heads;
  if (arguments.shape.heads == few)
    arguments.shape.rows == 1 ? launch_mqa_block<Heads, few, 1>(arguments, grid)
                              : launch_mqa_block<Heads, few, mqa_panel_rows / few>(arguments, grid);
  else
    arguments.shape.rows == 1 ? launch_mqa_block<Heads, all, 1>(arguments, grid)
                              : launch_mqa_block<Heads, all, mqa_panel_rows / all>(arguments, grid);
}

template <class T>
void launch_mqa_logits(const mqa_arguments& arguments, mqa_grid grid) {
  using usual = device::usual_heads<T>;
  using group = device::group_heads<T>;
  if constexpr (!std::is_same_v<usual, group>)
    if (arguments.shape.by_groups != 0) return launch_mqa_by<group>(arguments, grid);
  launch_mqa_by<usual>(arguments, grid);
}

}  // namespace assay
