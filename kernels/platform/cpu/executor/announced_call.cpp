#include "kernels/platform/cpu/executor/announced_call.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "kernels/library_call.hpp"
#include "kernels/platform/cpu/executor/executor.hpp"

namespace assay::cpu {
namespace {

/// Whether it has a place in memory: some calls of the suite describe tensors wrongly, and run() is to refuse them.
bool is_sound(const assay_tensor& t) {
  const DLTensor& view = t.view;
  if (t.name == nullptr || view.ndim < 0) return false;
  for (int d = 0; d < view.ndim; ++d)
    if (view.shape == nullptr || view.strides == nullptr || view.shape[d] < 0 ||
        (view.shape[d] > 1 && view.strides[d] < 0))  // the stride of one element is free
      return false;
  return true;
}

std::vector<assay_tensor> sound_tensors(const assay_call& call) {
  std::vector<assay_tensor> kept;
  for (std::int32_t i = 0; i < call.num_tensors; ++i)
    if (is_sound(call.tensors[i])) kept.push_back(call.tensors[i]);
  return kept;
}

struct announced_call {
  explicit announced_call(const assay_call& call)
      : launch(call.launch), scope(*call.launch, default_lds_limit_bytes, sound_tensors(call), call.watch) {}

  const assay_launch* launch;
  launch_scope scope;
  announced_call* outer_of_thread = nullptr;
  announced_call* outer_of_all = nullptr;
};

thread_local constinit announced_call* latest_of_thread = nullptr;

std::mutex& launching() {
  static std::mutex mutex;
  return mutex;
}
constinit announced_call* latest_of_all = nullptr;  // by launching()

/// Takes the call out of the list of all, wherever it is: calls of several threads end in any order.
void forget(announced_call& ended) {
  for (announced_call** at = &latest_of_all; *at != nullptr; at = &(*at)->outer_of_all)
    if (*at == &ended) {
      *at = ended.outer_of_all;
      return;
    }
}

}  // namespace

bool is_announced(const assay_launch& launch) {
  return latest_of_thread != nullptr && latest_of_thread->launch == &launch;
}

launch_scope* announced_scope(std::unique_lock<std::mutex>& held) {
  held = std::unique_lock(launching());
  return latest_of_all != nullptr ? &latest_of_all->scope : nullptr;
}

}  // namespace assay::cpu

using assay::cpu::announced_call;

extern "C" {

[[gnu::visibility("default")]] void* assay_begin_call_v1(const assay_call* call) {
  if (call == nullptr || call->size_bytes != sizeof(assay_call) || call->launch == nullptr || call->num_tensors < 0)
    return nullptr;
  if (call->tensors == nullptr && call->num_tensors > 0) return nullptr;
  std::unique_ptr<announced_call> begun;
  try {
    begun = std::make_unique<announced_call>(*call);
  } catch (const std::bad_alloc&) {  // tensors that are described as larger than all memory
    return nullptr;
  }
  begun->scope.share();
  begun->outer_of_thread = std::exchange(assay::cpu::latest_of_thread, begun.get());
  const std::lock_guard lock(assay::cpu::launching());
  begun->outer_of_all = std::exchange(assay::cpu::latest_of_all, begun.get());
  return begun.release();
}

[[gnu::visibility("default")]] void assay_end_call_v1(void* begun) {
  const std::unique_ptr<announced_call> ended(static_cast<announced_call*>(begun));
  if (ended == nullptr) return;
  assay::cpu::latest_of_thread = ended->outer_of_thread;
  const std::lock_guard lock(assay::cpu::launching());  // after the launches of other threads
  assay::cpu::forget(*ended);
}
}
