// A kernel library for NVIDIA GPUs that does on the device what ASSAY_GPU_FAULT names, on problems with an odd number
// of query rows. It computes nothing, so all other cases fail by their enclosure: they show that the run goes on. The
// nvidia platform builds it: lib/gpu_faults.so.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>

#include "kernels/library.h"

namespace {

using assay::contract;
using assay::problem;

enum class fault { none, illegal_address, misaligned_address, hang, trap, no_launch, past_the_end };

fault planted() {
  const char* const name = std::getenv("ASSAY_GPU_FAULT");
  const auto is = [&](const char* what) { return name != nullptr && std::strcmp(name, what) == 0; };
  return is("illegal_address")      ? fault::illegal_address
         : is("misaligned_address") ? fault::misaligned_address
         : is("hang")               ? fault::hang
         : is("trap")               ? fault::trap
         : is("no_launch")          ? fault::no_launch
         : is("past_the_end")       ? fault::past_the_end
                                    : fault::none;
}

__global__ void write_nothing_right(float* lse, long long elements, fault what) {
  volatile float* const to = lse;
  if (what == fault::illegal_address) *reinterpret_cast<volatile float*>(0x10) = 1;
  if (what == fault::misaligned_address)
    *reinterpret_cast<volatile float*>(reinterpret_cast<unsigned long long>(lse) + 1) = 1;
  if (what == fault::trap) __trap();
  if (what == fault::past_the_end) to[elements] = 1;
  while (what == fault::hang && to[0] != 12345) {
  }
}

assay_status plan(const problem* p, std::int64_t, assay_plan* plan) {
  plan->num_splits = p->num_splits > 0 ? p->num_splits : 1;
  plan->workspace_bytes =
      plan->num_splits > 1 ? 4LL * plan->num_splits * p->total_q * p->heads_q * (p->head_dim_v + 1) : 0;
  return {};
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
  float* lse = nullptr;
  long long elements = 0;
  for (std::int32_t i = 0; i < count; ++i)
    if (std::strcmp(tensors[i].name, "lse") == 0) {
      lse = static_cast<float*>(tensors[i].view.data);
      elements = (tensors[i].view.shape[0] - 1) * tensors[i].view.strides[0] + tensors[i].view.shape[1];
    }
  if (lse == nullptr) return {ASSAY_REJECTED, "there is no lse"};
  const fault what = p->total_q % 2 == 1 ? planted() : fault::none;
  const unsigned threads = what == fault::no_launch ? 1U << 20 : 1U;
  write_nothing_right<<<1, threads, 0, static_cast<cudaStream_t>(launch->stream)>>>(lse, elements, what);
  const cudaError_t said = cudaGetLastError();
  assay_status status{};
  if (said == cudaSuccess) return status;
  status.code = ASSAY_FAILED;
  std::strncpy(status.message, cudaGetErrorName(said), sizeof status.message - 1);
  return status;
}

const assay_kernel kernel = {"split_kv", plan, nullptr, run, nullptr};
const assay_library library = ASSAY_DEVICE_LIBRARY("nvidia", &kernel, 1, kDLCUDA);

}  // namespace

extern "C" __attribute__((visibility("default"))) const assay_library* assay_library_v1() {
  return &library;
}
