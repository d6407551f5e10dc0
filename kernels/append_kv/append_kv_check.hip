/// The check of an append_kv call's rows: a thread takes a row and claims its slot in a table that all rows share.
///
/// The lowest wrong row is found in every order of threads. Rows of one slot meet at one entry: they search the same
/// way, an entry never becomes free again, and no row of another slot enters it. An entry holds the least of the rows
/// that came to it so far, and each row but the first to come reports the larger one of itself and that. Let a < b be
/// the lowest two rows of a slot. The later one of them to come finds the other: both are below all else that may be
/// there, so b is reported. Nothing below b is, since of two rows of a slot the larger one is at least b. So of each
/// slot the lowest row that has it as a second one is reported, and the header takes the lowest of all reports.
#include "kernels/append_kv/append_kv_check.hpp"

#include <hip/hip_runtime.h>

#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

constexpr int threads = platform::most_threads_of_block;
constexpr std::int64_t header_words = append_header_bytes / 4;
constexpr int words_of_store = 4;

__device__ __host__ inline std::int64_t workspace_words(const append_check_arguments& a) {
  return header_words + (std::int64_t{1} << a.table_bits);
}

/// One block checks so few rows alone, and needs no kernel before it to clear the workspace.
__device__ __host__ inline bool is_one_block(const append_check_arguments& a) {
  return a.rows <= threads;
}

/// Every thread of `count` is to come, with its number.
__device__ inline void clear(const append_check_arguments& a, std::int64_t self, std::int64_t count) {
  for (std::int64_t at = self * words_of_store; at < workspace_words(a); at += count * words_of_store)
    *reinterpret_cast<uint4*>(a.workspace + at) =
        make_uint4(append_no_row, append_no_row, append_no_row, append_no_row);
}

__device__ inline void report(const append_check_arguments& a, std::uint32_t row) {
  atomicMin(a.workspace, row);
}

__device__ inline void claim(const append_check_arguments& a, std::uint32_t row, std::int64_t slot) {
  std::uint32_t* const table = a.workspace + header_words;
  const std::uint32_t last = append_no_row >> (32 - a.table_bits);
  for (std::uint32_t at = append_first_entry(slot, a.table_bits);; at = (at + 1) & last) {
    const std::uint32_t holder = atomicCAS(table + at, append_no_row, row);
    if (holder == append_no_row) return;
    if (a.slots[holder] != slot) continue;
    report(a, device::max_of(atomicMin(table + at, row), row));
    return;
  }
}

__global__ void __launch_bounds__(threads) append_kv_clear(append_check_arguments a) {
  platform::start_next_kernel();
  clear(a, static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x,
        static_cast<std::int64_t>(gridDim.x) * threads);
}

/// A row with a negative slot is skipped: its position is dead.
__global__ void __launch_bounds__(threads) append_kv_check(append_check_arguments a) {
  platform::start_next_kernel();
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  const std::int64_t slot = row < a.rows ? a.slots[row] : -1;
  const std::int32_t position = slot >= 0 && a.positions != nullptr ? a.positions[row] : 0;
  platform::await_kernel_before();
  if (is_one_block(a)) {
    clear(a, threadIdx.x, threads);
    __syncthreads();
  }
  if (slot < 0) return;
  const bool is_outside = a.positions != nullptr && (position < 0 || position >= a.rope_rows);
  if (slot >= a.pool_slots || is_outside)
    report(a, static_cast<std::uint32_t>(row));
  else
    claim(a, static_cast<std::uint32_t>(row), slot);
}

dim3 blocks_of(std::int64_t items) {
  return dim3(static_cast<unsigned int>((items + threads - 1) / threads));
}

}  // namespace

void launch_append_check(const append_check_arguments& arguments) {
  if (is_one_block(arguments)) {
    hipLaunchKernelGGL(append_kv_check, dim3(1), dim3(threads), 0, platform::stream(), arguments);
    return;
  }
  hipLaunchKernelGGL(append_kv_clear, blocks_of(workspace_words(arguments) / words_of_store), dim3(threads), 0,
                     platform::stream(), arguments);
  ASSAY_LAUNCH_BEHIND(append_kv_check, blocks_of(arguments.rows), dim3(threads), arguments);
}

}  // namespace assay
