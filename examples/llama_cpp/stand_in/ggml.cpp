/// What the kernels' host code asks of ggml: sizes of tensors, one device, a pool of memory, and errors.
#include "ggml.h"

#include <cstdarg>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>

#include "common.cuh"
#include "convert.cuh"

extern "C" {

size_t ggml_type_size(ggml_type type) {
  switch (type) {
    case GGML_TYPE_F32:
    case GGML_TYPE_I32: return 4;
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16: return 2;
    default: throw std::logic_error("the stand-in for ggml knows no quantised types");
  }
}

int64_t ggml_blck_size(ggml_type) {
  return 1;
}

size_t ggml_element_size(const ggml_tensor* t) {
  return ggml_type_size(t->type);
}

int64_t ggml_nelements(const ggml_tensor* t) {
  return std::accumulate(t->ne, t->ne + GGML_MAX_DIMS, int64_t{1}, std::multiplies<>());
}

int64_t ggml_nrows(const ggml_tensor* t) {
  return t->ne[1] * t->ne[2] * t->ne[3];
}

size_t ggml_nbytes(const ggml_tensor* t) {
  if (ggml_nelements(t) == 0) return 0;
  size_t last = ggml_type_size(t->type);  // the end of the last element
  for (int d = 0; d < GGML_MAX_DIMS; ++d) last += static_cast<size_t>(t->ne[d] - 1) * t->nb[d];
  return last;
}

bool ggml_is_contiguously_allocated(const ggml_tensor* t) {
  return ggml_nbytes(t) == static_cast<size_t>(ggml_nelements(t)) * ggml_type_size(t->type);
}

void ggml_abort(const char* file, int line, const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

}  // extern "C"

void ggml_cuda_error(const char* statement, const char*, const char* file, int line, const char* message) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + statement + ": " + message);
}

/// An Ampere of one processor: the launcher cuts the keys into as many parts as it can run at once, which are 8.
const ggml_cuda_device_info& ggml_cuda_info() {
  static const ggml_cuda_device_info info = [] {
    ggml_cuda_device_info made{};
    made.device_count = made.physical_device_count = 1;
    made.devices[0].cc = GGML_CUDA_CC_AMPERE;
    made.devices[0].nsm = 1;
    made.devices[0].warp_size = WARP_SIZE;
    return made;
  }();
  return info;
}

void ggml_cuda_set_device(int) {}

int ggml_cuda_get_device() {
  return 0;
}

namespace {

/// Every allocation on its own, so that the checker knows its ends.
struct separate_allocations : ggml_cuda_pool {
  void* alloc(size_t size, size_t* actual_size) override {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, size));
    *actual_size = size;
    return memory;
  }
  void free(void* memory, size_t) override { CUDA_CHECK(cudaFree(memory)); }
};

}  // namespace

std::unique_ptr<ggml_cuda_pool> ggml_backend_cuda_context::new_pool_for_device(int, int) {
  return std::make_unique<separate_allocations>();
}

ggml_backend_cuda_context::~ggml_backend_cuda_context() {
  for (auto& of_device : streams)
    for (cudaStream_t stream : of_device)
      if (stream != nullptr) (void)cudaStreamDestroy(stream);
}

// Of other types than the cache's, and of sparse attention: the adapter asks for neither.
to_fp16_cuda_t ggml_get_to_fp16_cuda(ggml_type) {
  throw std::logic_error("the stand-in for ggml converts no cache");
}
to_fp16_nc_cuda_t ggml_get_to_fp16_nc_cuda(ggml_type) {
  throw std::logic_error("the stand-in for ggml converts no cache");
}
void ggml_cuda_flash_attn_ext_compact_mask(const ggml_tensor*, int32_t*, int32_t*, int32_t, int32_t, int32_t,
                                           cudaStream_t);
void ggml_cuda_flash_attn_ext_compact_mask(const ggml_tensor*, int32_t*, int32_t*, int32_t, int32_t, int32_t,
                                           cudaStream_t) {
  throw std::logic_error("the stand-in for ggml has no sparse attention");
}
