/// The export assay_matrix_unit_v1: copies to the device, a launch, and back.
#include <vector>

#include "kernels/host/check.hpp"
#include "kernels/host/host.hpp"
#include "kernels/matrix_unit/matrix_unit_arguments.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

/// Device memory for as long as it lives.
class device_copy {
 public:
  device_copy(const void* from, std::size_t size_bytes) {
    if (hipMalloc(&memory_, size_bytes) != hipSuccess) memory_ = nullptr;
    if (memory_ != nullptr && from != nullptr &&
        hipMemcpyAsync(memory_, from, size_bytes, hipMemcpyHostToDevice, nullptr) != hipSuccess)
      free();
  }
  ~device_copy() { free(); }
  device_copy(const device_copy&) = delete;
  device_copy& operator=(const device_copy&) = delete;
  void* get() const { return memory_; }
  bool copy_back(void* to, std::size_t size_bytes) const {
    return hipMemcpyAsync(to, memory_, size_bytes, hipMemcpyDeviceToHost, nullptr) == hipSuccess &&
           hipStreamSynchronize(nullptr) == hipSuccess;
  }

 private:
  void free() {
    if (memory_ != nullptr) static_cast<void>(hipFree(memory_));
    memory_ = nullptr;
  }
  void* memory_ = nullptr;
};

assay_launch plain_launch() {
  assay_launch launch{};
  launch.wave_size = 64;  // of the cpu platform
  launch.workers = 1;
  return launch;
}

assay_status multiply(std::int32_t atom, std::int32_t count, const void* a, const void* b, const void* c, void* d) {
  const std::span<const unit_atom> all = unit_atoms();
  if (atom < 0 || static_cast<std::size_t>(atom) >= all.size() || count < 1)
    return refuse(ASSAY_REJECTED, "there is no atom %d, or no tile", atom);
  const unit_atom& one = all[static_cast<std::size_t>(atom)];
  const auto tiles = static_cast<std::size_t>(count);
  const std::size_t operand = tiles * 16 * static_cast<std::size_t>(one.described.depth) *
                              static_cast<std::size_t>(size_bytes(static_cast<dtype>(one.described.type)));
  const std::size_t result = tiles * 256 * sizeof(float);
  const device_copy on_a(a, operand), on_b(b, operand), on_c(c, result), on_d(nullptr, result);
  if (on_a.get() == nullptr || on_b.get() == nullptr || on_c.get() == nullptr || on_d.get() == nullptr)
    return refuse(ASSAY_FAILED, "no device, or no memory for %d tiles", count);
  {
    const assay_launch launch = plain_launch();
    const platform::launch_guard guard(launch, {});
    one.launch({on_a.get(), on_b.get(), on_c.get(), on_d.get(), count});
    if (const assay_status status = launch_outcome(one.described.name); status.code != ASSAY_OK) return status;
  }
  return on_d.copy_back(d, result) ? assay_status{} : refuse(ASSAY_FAILED, "%s: the launch failed", one.described.name);
}

assay_status evaluate(std::int32_t function, std::int64_t count, const float* x, float* y) {
  if (function < ASSAY_EXP2 || function > ASSAY_TANH || count < 1)
    return refuse(ASSAY_REJECTED, "there is no function %d, or no value", function);
  const std::size_t size = static_cast<std::size_t>(count) * sizeof(float);
  const device_copy on_x(x, size), on_y(nullptr, size);
  if (on_x.get() == nullptr || on_y.get() == nullptr) return refuse(ASSAY_FAILED, "no device, or no memory");
  {
    const assay_launch launch = plain_launch();
    const platform::launch_guard guard(launch, {});
    launch_function({function, count, static_cast<const float*>(on_x.get()), static_cast<float*>(on_y.get())});
    if (const assay_status status = launch_outcome("function"); status.code != ASSAY_OK) return status;
  }
  return on_y.copy_back(y, size) ? assay_status{} : refuse(ASSAY_FAILED, "function: the launch failed");
}

}  // namespace
}  // namespace assay

extern "C" [[gnu::visibility("default")]] const assay_matrix_unit* assay_matrix_unit_v1(void) {
  using namespace assay;
  static const std::vector<assay_unit_atom> atoms = [] {
    std::vector<assay_unit_atom> all;
    for (const unit_atom& atom : unit_atoms()) all.push_back(atom.described);
    return all;
  }();
  static const assay_matrix_unit unit = {static_cast<std::int32_t>(sizeof(assay_matrix_unit)),
                                         static_cast<std::int32_t>(sizeof(assay_unit_atom)),
                                         static_cast<std::int32_t>(atoms.size()),
                                         atoms.data(),
                                         multiply,
                                         evaluate,
                                         platform::errors.exp2_relative,
                                         platform::errors.exp2_flush,
                                         platform::errors.log_absolute,
                                         platform::errors.log_relative,
                                         platform::errors.tanh_relative};
  return &unit;
}
