/// Paged MQA logits, with fixed and with variable contexts. A block takes one query row of one sequence and one part of
/// its context, in chunks of 256 keys of two stages each; stages of whole pages overshoot the context, so that every
/// store asks whether the block owns the column: none lies at or past max_model_len, nor below the part's start.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/mqa_logits/mqa_logits_stages.hpp"

namespace assay {

__device__ inline float* logits_of(const mqa_arguments& a, const mqa_work& w) {
  return static_cast<float*>(a.logits.data) + w.query * a.logits.stride[0];
}

/// Each context in num_splits parts of its own length, rounded up to chunks and pages. The first stage stands apart:
/// most parts have no other.
template <class T>
__global__ void __launch_bounds__(mqa_threads) mqa_fixed_block(mqa_arguments a) {
  HIP_DYNAMIC_SHARED(uint4, lds);
  const mqa_work work = find_mqa_work(a, [&](std::int64_t context) {
    const std::int64_t units = (context + a.part_keys - 1) / a.part_keys;
    return (units + a.num_splits - 1) / a.num_splits * a.part_keys;
  });
  float* const logits = logits_of(a, work);

  if (work.first < work.end) {
    mqa_stages<T> stages(a, work, *reinterpret_cast<mqa_lds*>(lds), 0);
    const std::int64_t full = work.full_stages();
    if (full > 0) {
      stages.run(0, [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
    }
    for (std::int64_t stage = 1; stage < full; stage += 2) {
      stages.run(1, [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
      if (stage + 1 == full) break;
      stages.run(0, [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
    }
    if (work.tail_atoms() > 0) {
      stages.run(static_cast<int>(full % 2), work.tail_atoms(), [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
    }
  }

  if (a.fills_hidden == 0) return;
  for (std::int64_t strip = work.end; strip < work.last; strip += mqa_threads) {
    const std::int64_t column = strip + threadIdx.x;
    if (work.owns(column)) logits[column] = hidden_logit;
  }
}

/// All contexts in parts of one length, a multiple of stage and page. Chunks lie at multiples of 256 keys: a part that
/// starts in the middle of one has its second stage as a prefix.
template <class T>
__global__ void __launch_bounds__(mqa_threads) mqa_variable_block(mqa_arguments a) {
  HIP_DYNAMIC_SHARED(uint4, lds);
  const mqa_work work = find_mqa_work(a, [&](std::int64_t) { return a.part_keys; });
  float* const logits = logits_of(a, work);

  if (work.first < work.end) {
    const int prefix = static_cast<int>(work.first % mqa_chunk_keys) / mqa_stage_keys;
    mqa_stages<T> stages(a, work, *reinterpret_cast<mqa_lds*>(lds), prefix);
    std::int64_t left = work.full_stages();
    const int tail_slot = static_cast<int>((prefix + left) % 2);
    if (prefix > 0 && left > 0) {
      stages.run(1, [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
      --left;
    }
    while (left > 0) {
      stages.run(0, [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
      if (--left == 0) break;
      stages.run(1, [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
      --left;
    }
    if (work.tail_atoms() > 0) {
      stages.run(tail_slot, work.tail_atoms(), [&](std::int64_t column, float logit) {
        if (work.owns(column)) logits[column] = logit;
      });
    }
  }

  if (a.fills_hidden == 0) return;
  for (std::int64_t strip = work.end; strip < work.last; strip += mqa_threads) {
    const std::int64_t column = strip + threadIdx.x;
    if (work.owns(column)) logits[column] = hidden_logit;
  }
}

template <class T>
void launch_mqa_logits(const mqa_arguments& arguments, mqa_grid grid, context_split split_contexts) {
  // The names that the platform reports.
  void (*const mqa_logits_fixed)(mqa_arguments) = mqa_fixed_block<T>;
  void (*const mqa_logits_variable)(mqa_arguments) = mqa_variable_block<T>;
  const dim3 blocks(grid.splits, grid.next_n, grid.sequences);
  if (split_contexts == context_split::fixed)
    hipLaunchKernelGGL(mqa_logits_fixed, blocks, dim3(mqa_threads), sizeof(mqa_lds), platform::stream(), arguments);
  else
    hipLaunchKernelGGL(mqa_logits_variable, blocks, dim3(mqa_threads), sizeof(mqa_lds), platform::stream(), arguments);
}

}  // namespace assay
