/// The check of an append_kv call's rows: a thread takes a row and compares its slot with those of all rows before it,
/// a block's worth of them at a time. Each block reports for itself, so that what is found depends on no order.
#include "kernels/append_kv/append_kv_check.hpp"

#include <hip/hip_runtime.h>

#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

constexpr int threads = append_check_threads;

struct check_lds {
  std::int64_t slots[threads];
  std::int32_t lowest[threads];
};

/// The first row before `row` with the same slot, or -1. All threads of the block are to call this.
__device__ inline std::int32_t find_same_slot(const append_check_arguments& a, check_lds& lds, std::int64_t row,
                                              std::int64_t slot) {
  std::int32_t found = -1;
  for (std::int64_t tile = 0; tile <= blockIdx.x; ++tile) {
    const std::int64_t start = tile * threads, own = start + threadIdx.x;
    lds.slots[threadIdx.x] = own < a.rows ? a.slots[own] : -1;
    __syncthreads();
    if (slot >= 0 && found < 0) {
      const auto before = static_cast<int>(device::min_of<std::int64_t>(threads, row - start));
      for (int i = 0; i < before; ++i)
        if (lds.slots[i] == slot && found < 0) found = static_cast<std::int32_t>(start + i);
    }
    __syncthreads();
  }
  return found;
}

/// The row is skipped where its slot is negative: its position is dead.
__device__ inline row_finding look_at(const append_check_arguments& a, check_lds& lds, std::int64_t row) {
  const std::int64_t slot = row < a.rows ? a.slots[row] : -1;
  const std::int32_t other = find_same_slot(a, lds, row, slot);
  const std::int32_t position = slot >= 0 && a.positions != nullptr ? a.positions[row] : 0;
  row_finding found{row_fault::nothing, static_cast<std::int32_t>(row), other, position, slot};
  if (slot >= a.pool_slots)
    found.fault = row_fault::slot_past_pool;
  else if (slot >= 0 && a.positions != nullptr && (position < 0 || position >= a.rope_rows))
    found.fault = row_fault::position_outside;
  else if (other >= 0)
    found.fault = row_fault::slot_taken;
  return found;
}

__global__ void __launch_bounds__(append_check_threads) append_kv_check(append_check_arguments a) {
  __shared__ check_lds lds;
  const int self = static_cast<int>(threadIdx.x);
  const row_finding found = look_at(a, lds, static_cast<std::int64_t>(blockIdx.x) * threads + self);
  lds.lowest[self] = found.fault == row_fault::nothing ? threads : self;
  __syncthreads();
  for (int reach = threads / 2; reach > 0; reach /= 2) {
    if (self < reach) lds.lowest[self] = device::min_of(lds.lowest[self], lds.lowest[self + reach]);
    __syncthreads();
  }
  const int lowest = lds.lowest[0];
  if (self == (lowest < threads ? lowest : 0)) a.findings[blockIdx.x] = found;
}

}  // namespace

std::int64_t append_check_blocks(std::int32_t rows) {
  return (std::int64_t{rows} + threads - 1) / threads;
}

void launch_append_check(const append_check_arguments& arguments) {
  const auto blocks = static_cast<unsigned int>(append_check_blocks(arguments.rows));
  hipLaunchKernelGGL(append_kv_check, dim3(blocks), dim3(threads), 0, platform::stream(), arguments);
}

}  // namespace assay
