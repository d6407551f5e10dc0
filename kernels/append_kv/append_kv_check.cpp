#include "kernels/append_kv/append_kv_check.hpp"

#include <hip/hip_runtime.h>

#include <vector>

#include "kernels/host/check.hpp"
#include "kernels/host/host.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

assay_status failed(hipError_t error) {
  return refuse(ASSAY_FAILED, "append_kv_check: %s", hipGetErrorString(error));
}

/// Memory of the device that ends with its scope.
class device_findings {
 public:
  explicit device_findings(std::size_t size_bytes) : error_(hipMalloc(&memory_, size_bytes)) {}
  device_findings(const device_findings&) = delete;
  device_findings& operator=(const device_findings&) = delete;
  ~device_findings() {
    if (error_ == hipSuccess) static_cast<void>(hipFree(memory_));
  }
  hipError_t error() const { return error_; }
  row_finding* data() const { return static_cast<row_finding*>(memory_); }

 private:
  void* memory_ = nullptr;
  hipError_t error_;
};

assay_status tell(const row_finding& f, const append_check_arguments& a, std::int32_t page_size) {
  const auto slot = static_cast<long long>(f.slot);
  switch (f.fault) {
    case row_fault::nothing: return {};
    case row_fault::slot_past_pool:
      return refuse(ASSAY_REJECTED, "tensor slots has slot %lld in row %d, but the pool has %lld", slot, f.row,
                    static_cast<long long>(a.pool_slots));
    case row_fault::position_outside:
      return refuse(ASSAY_REJECTED, "tensor positions has position %d in row %d, but the rope tables have %lld rows",
                    f.position, f.row, static_cast<long long>(a.rope_rows));
    case row_fault::slot_taken:
      return refuse(ASSAY_REJECTED, "tensor slots has slot %lld (page %lld, slot %lld of it) in rows %d and %d", slot,
                    slot / page_size, slot % page_size, f.other, f.row);
  }
  return {};
}

}  // namespace

assay_status check_append_rows(append_check_arguments arguments, std::int32_t page_size) {
  std::vector<row_finding> found(static_cast<std::size_t>(append_check_blocks(arguments.rows)));
  const std::size_t size_bytes = found.size() * sizeof(row_finding);
  const device_findings on_device(size_bytes);
  if (on_device.error() != hipSuccess) return failed(on_device.error());
  arguments.findings = on_device.data();
  launch_append_check(arguments);
  if (const assay_status status = launch_outcome("append_kv_check"); status.code != ASSAY_OK) return status;
  hipError_t copied =
      hipMemcpyAsync(found.data(), on_device.data(), size_bytes, hipMemcpyDeviceToHost, platform::stream());
  if (copied == hipSuccess) copied = hipStreamSynchronize(platform::stream());
  if (copied != hipSuccess) return failed(copied);
  for (const row_finding& f : found)
    if (f.fault != row_fault::nothing) return tell(f, arguments, page_size);
  return {};
}

}  // namespace assay
