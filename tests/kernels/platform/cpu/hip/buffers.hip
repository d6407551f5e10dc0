/// Buffer resources and loads into the LDS as kernels for AMD's GPUs write them, for buffers_test.cpp.
#include "tests/kernels/platform/cpu/hip/buffers.hpp"

#include <hip/hip_runtime.h>

namespace buffers {

using int32x4_t = int __attribute__((ext_vector_type(4)));
using fp32x4_t = float __attribute__((ext_vector_type(4)));

__device__ fp32x4_t llvm_amdgcn_raw_buffer_load_fp32x4(int32x4_t srsrc, int voffset, int soffset,
                                                       int glc_slc) __asm("llvm.amdgcn.raw.buffer.load.v4f32");
__device__ void llvm_amdgcn_raw_buffer_store_fp32x4(fp32x4_t vdata, int32x4_t rsrc, int voffset, int soffset,
                                                    int glc_slc) __asm("llvm.amdgcn.raw.buffer.store.v4f32");

namespace {

struct __attribute__((packed)) buffer_resource {
  const void* address;
  unsigned int range;
  unsigned int config;
};
__device__ int32x4_t make_wave_buffer_resource(const void* address, unsigned int size) {
  const buffer_resource res{address, size, 0x00020000U};
  return __builtin_bit_cast(int32x4_t, res);
}

template <int Width>
__global__ void copy(float* out, const float* in, int num_bytes) {
  const auto from = __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(in), 0, num_bytes, 0x00020000);
  const auto to = __builtin_amdgcn_make_buffer_rsrc(out, 0, 1024, 0x00020000);
  const int at = static_cast<int>(threadIdx.x) * 16;
  for (int part = 0; part + Width <= 16; part += Width) {
    if constexpr (Width == 1)
      __builtin_amdgcn_raw_buffer_store_b8(__builtin_amdgcn_raw_buffer_load_b8(from, at + part, 0, 0), to, at, part, 0);
    if constexpr (Width == 2)
      __builtin_amdgcn_raw_buffer_store_b16(__builtin_amdgcn_raw_buffer_load_b16(from, at, part, 0), to, at, part, 0);
    if constexpr (Width == 4)
      __builtin_amdgcn_raw_buffer_store_b32(__builtin_amdgcn_raw_buffer_load_b32(from, at, part, 0), to, at, part, 0);
    if constexpr (Width == 8)
      __builtin_amdgcn_raw_buffer_store_b64(__builtin_amdgcn_raw_buffer_load_b64(from, at, part, 0), to, at, part, 0);
    if constexpr (Width == 12)
      __builtin_amdgcn_raw_buffer_store_b96(__builtin_amdgcn_raw_buffer_load_b96(from, at, part, 0), to, at, part, 0);
    if constexpr (Width == 16)
      __builtin_amdgcn_raw_buffer_store_b128(__builtin_amdgcn_raw_buffer_load_b128(from, at, part, 0), to, at, part, 0);
  }
}

__global__ void store_ones(float* out, int num_bytes) {
  const auto to = __builtin_amdgcn_make_buffer_rsrc(out, 0, num_bytes, 0x00020000);
  __builtin_amdgcn_raw_buffer_store_b32(__float_as_uint(1.0F), to, static_cast<int>(threadIdx.x) * 4, 0, 0);
}

__global__ void labelled(float* out, const float* in, int num_bytes) {
  const int at = static_cast<int>(threadIdx.x) * 16;
  const int32x4_t from = make_wave_buffer_resource(in, static_cast<unsigned int>(num_bytes));
  const int32x4_t to = make_wave_buffer_resource(out, 1024);
  const fp32x4_t moved = llvm_amdgcn_raw_buffer_load_fp32x4(from, at, 0, 0);
  llvm_amdgcn_raw_buffer_store_fp32x4(moved, to, at, 0, 0);
}

__global__ void through_lds(float* out, const float* in, bool by_buffer, bool flaw) {
  __shared__ float part[128];
  const int i = static_cast<int>(threadIdx.x);
  float* const of_wave = part + i / warpSize * warpSize;
  if (by_buffer)
    __builtin_amdgcn_raw_ptr_buffer_load_lds(
        __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(in), 0, 100 * 4, 0x00020000), of_wave, 4, i * 4, 0, 0, 0);
  else
    __builtin_amdgcn_global_load_lds(in + i, of_wave, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  if (!flaw) __builtin_amdgcn_s_barrier();
  out[i] = part[127 - i];
}

__global__ void small_wave(float* out) {
  using fp32x4 = float __attribute__((ext_vector_type(4)));
  out[threadIdx.x] = __builtin_amdgcn_mfma_f32_4x4x1f32(1.0F, 1.0F, fp32x4{0, 0, 0, 0}, 0, 0, 0)[0];
}

}  // namespace

void run_mfma(float* out) {
  small_wave<<<1, 32>>>(out);
}
void run_copy(int width, float* out, const float* in, int num_bytes) {
  switch (width) {
    case 1: copy<1><<<1, 64>>>(out, in, num_bytes); break;
    case 2: copy<2><<<1, 64>>>(out, in, num_bytes); break;
    case 4: copy<4><<<1, 64>>>(out, in, num_bytes); break;
    case 8: copy<8><<<1, 64>>>(out, in, num_bytes); break;
    case 12: copy<12><<<1, 64>>>(out, in, num_bytes); break;
    default: copy<16><<<1, 64>>>(out, in, num_bytes); break;
  }
}
void run_store(float* out, int num_bytes) {
  store_ones<<<1, 64>>>(out, num_bytes);
}
void run_labelled(float* out, const float* in, int num_bytes) {
  labelled<<<1, 64>>>(out, in, num_bytes);
}
void run_through_lds(float* out, const float* in, bool by_buffer, bool flaw) {
  through_lds<<<1, 128>>>(out, in, by_buffer, flaw);
}

}  // namespace buffers
