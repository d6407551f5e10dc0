#include "kernels/append_kv/append_kv_check.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <vector>

#include "kernels/host/check.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

constexpr const char* other_workspace = "the workspace is not that of a run()";

assay_status failed(const char* why) {
  return refuse(ASSAY_FAILED, "append_kv_check: %s", why);
}

/// Copies `count` elements of the device behind the stream's work, and waits.
template <class T>
hipError_t fetch(T* to, const T* from, std::int64_t count) {
  const hipError_t copied =
      hipMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), hipMemcpyDeviceToHost, platform::stream());
  return copied == hipSuccess ? hipStreamSynchronize(platform::stream()) : copied;
}

/// Says what is wrong with the last one of these rows, before which none is wrong.
assay_status tell(const std::vector<std::int64_t>& slots, std::int32_t position, const append_check_arguments& a,
                  std::int32_t page_size) {
  const auto row = static_cast<int>(slots.size() - 1);
  const auto slot = static_cast<long long>(slots.back());
  if (slot < 0) return failed(other_workspace);
  if (slot >= a.pool_slots)
    return refuse(ASSAY_REJECTED, "tensor slots has slot %lld in row %d, but the pool has %lld", slot, row,
                  static_cast<long long>(a.pool_slots));
  if (a.positions != nullptr && (position < 0 || position >= a.rope_rows))
    return refuse(ASSAY_REJECTED, "tensor positions has position %d in row %d, but the rope tables have %lld rows",
                  position, row, static_cast<long long>(a.rope_rows));
  const auto first = std::find(slots.begin(), slots.end(), slots.back());
  if (first == slots.end() - 1) return failed(other_workspace);
  return refuse(ASSAY_REJECTED, "tensor slots has slot %lld (page %lld, slot %lld of it) in rows %d and %d", slot,
                slot / page_size, slot % page_size, static_cast<int>(first - slots.begin()), row);
}

}  // namespace

assay_status tell_append_check(const append_check_arguments& arguments, std::int32_t page_size) {
  std::uint32_t row = 0;
  hipError_t error = fetch(&row, static_cast<const std::uint32_t*>(arguments.workspace), 1);
  if (error != hipSuccess) return failed(hipGetErrorString(error));
  if (row == append_no_row) return {};
  if (row >= static_cast<std::uint32_t>(arguments.rows)) return failed(other_workspace);
  std::vector<std::int64_t> slots(std::size_t{row} + 1);
  std::int32_t position = 0;
  error = fetch(slots.data(), arguments.slots, std::ssize(slots));
  if (error == hipSuccess && arguments.positions != nullptr) error = fetch(&position, arguments.positions + row, 1);
  return error == hipSuccess ? tell(slots, position, arguments, page_size) : failed(hipGetErrorString(error));
}

}  // namespace assay
