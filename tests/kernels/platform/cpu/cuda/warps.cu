/// CUDA as its own compiler takes it, with PTX behind small functions, for ptx_test.cpp.
#include "tests/kernels/platform/cpu/cuda/warps.hpp"

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

namespace warps {
namespace {

__global__ void pipeline(float* out, const float* in, int tiles, int flaw) {
  __shared__ float tile[2][64];
  const int i = static_cast<int>(threadIdx.x);
  const auto copy = [&](int t) {
    assay::ptx::cp_async<4>(static_cast<std::uint32_t>(__cvta_generic_to_shared(&tile[t % 2][i])), in + 64 * t + i);
    assay::ptx::cp_async_commit_group();
  };
  copy(0);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      if (flaw != 3) __syncthreads();
      copy(t + 1);
      if (flaw != 1) assay::ptx::cp_async_wait_group<1>();
    } else if (flaw != 1) {
      assay::ptx::cp_async_wait_all();
    }
    if (flaw != 2) __syncthreads();
    out[64 * t + i] = 1 + tile[t % 2][63 - i];
  }
}

__global__ void partial(float* out, const float* in, int bytes) {
  __shared__ __align__(16) float tile[4];
  if (threadIdx.x == 0) {
    assay::ptx::cp_async<16>(&tile[0], in, bytes);
    assay::ptx::cp_async_wait_all();
    for (int i = 0; i < 4; ++i) out[i] = tile[i];
  }
}

template <bool Transposed>
__global__ void matrices(std::uint32_t* out, const std::uint16_t* in, int shift) {
  extern __shared__ __align__(16) std::uint16_t tile[];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 16 * 16 + 8; i += 32) tile[i] = i < 256 ? in[i] : std::uint16_t{0};
  __syncwarp();
  // Matrices 0 and 1 are the upper and lower left, 2 and 3 the right ones.
  const std::uint16_t* const row = tile + lane % 16 * 16 + lane / 16 * 8 + shift / 2;
  std::uint32_t registers[4];
  assay::ptx::ldmatrix<4, Transposed>(registers, row);
  for (int i = 0; i < 4; ++i) out[4 * lane + i] = registers[i];
}

template <product Which>
__global__ void multiply(std::uint32_t* out, const std::uint32_t* registers) {
  constexpr bool is_long = Which == product::k16_f16 || Which == product::k16_bf16 || Which == product::k16_f16_sums;
  constexpr bool has_pairs = Which == product::k16_f16_sums || Which == product::k8_f16_sums;
  constexpr int as = is_long ? 4 : 2, bs = is_long ? 2 : 1, cs = has_pairs ? 2 : 4;
  const std::uint32_t* const own = registers + threadIdx.x * (as + bs + cs);
  std::uint32_t a[as], b[bs], c[cs];
  for (int i = 0; i < as; ++i) a[i] = own[i];
  for (int i = 0; i < bs; ++i) b[i] = own[as + i];
  for (int i = 0; i < cs; ++i) c[i] = own[as + bs + i];
  if constexpr (has_pairs) {
    if constexpr (is_long)
      assay::ptx::mma_m16n8k16_f16_f16(c, a, b, c);
    else
      assay::ptx::mma_m16n8k8_f16_f16(c, a, b, c);
    for (int i = 0; i < cs; ++i) out[threadIdx.x * cs + static_cast<unsigned int>(i)] = c[i];
  } else {
    float sums[4];
    for (int i = 0; i < cs; ++i) sums[i] = __uint_as_float(c[i]);
    if constexpr (Which == product::k16_f16) assay::ptx::mma_m16n8k16_f32_f16(sums, a, b, sums);
    if constexpr (Which == product::k16_bf16) assay::ptx::mma_m16n8k16_f32_bf16(sums, a, b, sums);
    if constexpr (Which == product::k8_f16) assay::ptx::mma_m16n8k8_f32_f16(sums, a, b, sums);
    if constexpr (Which == product::k8_bf16) assay::ptx::mma_m16n8k8_f32_bf16(sums, a, b, sums);
    for (int i = 0; i < cs; ++i) out[threadIdx.x * cs + static_cast<unsigned int>(i)] = __float_as_uint(sums[i]);
  }
}

namespace written {

__device__ __forceinline__ void pred_load(float* smem_ptr, const float* gmem_ptr, bool predicate) {
  uint32_t smem_int_ptr = static_cast<uint32_t>(__cvta_generic_to_shared(smem_ptr));
  asm volatile(
      "{\n"
      " .reg .pred p;\n"
      " setp.ne.b32 p, %0, 0;\n"
      " @p cp.async.ca.shared.global.L2::128B [%1], [%2], %3;\n"
      "}\n" ::"r"((int)predicate),
      "r"(smem_int_ptr), "l"(gmem_ptr), "n"(4));
}
__device__ __forceinline__ void commit_group() {
  asm volatile("cp.async.commit_group;\n" ::);
}
template <size_t n>
__device__ __forceinline__ void wait_group() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(n));
}

__global__ void pipeline(float* out, const float* in, int tiles, int flaw) {
  __shared__ float tile[2][64];
  const int i = static_cast<int>(threadIdx.x);
  const auto copy = [&](int t) {
    pred_load(&tile[t % 2][i], in + 64 * t + i, t < tiles);
    commit_group();
  };
  copy(0);
  for (int t = 0; t < tiles; ++t) {
    asm volatile("bar.sync 0;");
    copy(t + 1);
    if (flaw != 1) wait_group<1>();
    __syncthreads();
    out[64 * t + i] = tile[t % 2][63 - i] + 1;
  }
}

__device__ __forceinline__ void mma_f32(float* C, const uint32_t* A, const uint32_t* B) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,  %1,  %2,  %3},"
      "{%4,  %5,  %6,  %7},"
      "{%8,  %9},"
      "{%10, %11, %12, %13};\n"
      : "=f"(C[0]), "=f"(C[1]), "=f"(C[2]), "=f"(C[3])
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]), "f"(C[0]), "f"(C[1]), "f"(C[2]), "f"(C[3]));
}
__device__ __forceinline__ void mma_f16(uint32_t* C, const uint32_t* A, const uint32_t* B) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16\n"
      "{%0, %1},\n"
      "{%2, %3, %4, %5},\n"
      "{%6, %7},\n"
      "{%8, %9};\n"
      : "=r"(C[0]), "=r"(C[1])
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]), "r"(C[0]), "r"(C[1]));
}

template <bool Pairs>
__global__ void multiply(std::uint32_t* out, const std::uint32_t* registers) {
  constexpr int cs = Pairs ? 2 : 4;
  const std::uint32_t* const own = registers + threadIdx.x * (6 + cs);
  std::uint32_t c[cs];
  for (int i = 0; i < cs; ++i) c[i] = own[6 + i];
  if constexpr (Pairs) {
    mma_f16(c, own, own + 4);
  } else {
    float sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = __uint_as_float(c[i]);
    mma_f32(sums, own, own + 4);
    for (int i = 0; i < 4; ++i) c[i] = __float_as_uint(sums[i]);
  }
  for (int i = 0; i < cs; ++i) out[threadIdx.x * cs + static_cast<unsigned int>(i)] = c[i];
}

template <bool Transposed>
__global__ void matrices(std::uint32_t* out, const std::uint16_t* in) {
  extern __shared__ __align__(16) std::uint16_t tile[];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 256; i += 32) tile[i] = in[i];
  __syncwarp();
  uint32_t smem_int_ptr = static_cast<uint32_t>(__cvta_generic_to_shared(tile + lane % 16 * 16 + lane / 16 * 8));
  uint4 R;
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.trans.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(R.x), "=r"(R.y), "=r"(R.z), "=r"(R.w)
                 : "r"(smem_int_ptr));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(R.x), "=r"(R.y), "=r"(R.z), "=r"(R.w)
                 : "r"(smem_int_ptr));
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4 * lane), "r"(R.x), "r"(R.y), "r"(R.z), "r"(R.w)
               : "memory");
}

__global__ void functions(float* out, const float* in) {
  const int lane = static_cast<int>(threadIdx.x);
  float x, y;
  uint32_t pair;
  asm volatile("ld.global.nc.f32 %0, [%1 + 4];" : "=f"(x) : "l"(in + lane));
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x));
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(y) : "f"(x), "r"(4));
  asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(y));
  asm("{cvt.rn.f16x2.f32 %0, %1, %2;}\n" : "=r"(pair) : "f"(1.5F), "f"(y));
  asm volatile("" ::: "memory");
  out[lane] =
      __half2float(__ushort_as_half(static_cast<unsigned short>(pair & 0xFFFF))) + (pair >> 16 == 0x3E00 ? 100 : 0);
}

__global__ void halves(uint32_t* out, const uint32_t* in) {
  const int lane = static_cast<int>(threadIdx.x);
  uint32_t sum, pair;
  uint16_t low, high, one;
  asm volatile("mul.f16x2 %0, %1, %2;\n" : "=r"(sum) : "r"(in[lane]), "r"(0x4000'3800U));
  asm volatile("add.f16x2 %0, %1, %2;\n" : "=r"(sum) : "r"(sum), "r"(0x3C00'0000U));
  asm volatile("fma.rn.f16x2 %0, %1, %2, %3;\n" : "=r"(sum) : "r"(sum), "r"(sum), "r"(0U));
  asm volatile("mov.b32 {%0, %1}, %2;\n" : "=h"(low), "=h"(high) : "r"(sum));
  asm volatile("add.f16 %0, %1, %2;\n" : "=h"(one) : "h"(low), "h"(high));
  asm volatile("mov.b32 %0, {%1, %1};" : "=r"(pair) : "h"(one));
  out[lane] = pair;
}

__global__ void unknown() {
  asm volatile("wgmma.fence.sync.aligned;");
}

}  // namespace written

__global__ void names(int* out) {
  extern __shared__ int large[];
  __shared__ float of_warps[1024 / warpSize];
  constexpr int lanes = warpSize;
  large[25000 + threadIdx.x] = lanes;
  of_warps[threadIdx.x] = __bfloat162float(__nv_bfloat16(1.0F)) + static_cast<float>(__nv_fp8_e4m3(2.0F));
  const auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  tile.sync();
  const int last = __shfl_sync(0xFFFFFFFFU, large[25000 + threadIdx.x], 31);
  out[threadIdx.x] = last + static_cast<int>(of_warps[threadIdx.x]) + static_cast<int>(tile.size());
}

}  // namespace

void run_pipeline(float* out, const float* in, int tiles, int flaw) {
  pipeline<<<1, 64>>>(out, in, tiles, flaw);
}
void run_partial(float* out, const float* in, int bytes) {
  partial<<<1, 32>>>(out, in, bytes);
}
void run_ldmatrix(std::uint32_t* out, const std::uint16_t* in, bool transposed, int shift) {
  constexpr std::size_t bytes = (16 * 16 + 8) * 2;
  transposed ? matrices<true><<<1, 32, bytes>>>(out, in, shift) : matrices<false><<<1, 32, bytes>>>(out, in, shift);
}
void run_product(product which, std::uint32_t* out, const std::uint32_t* registers) {
  switch (which) {
    case product::k16_f16: return multiply<product::k16_f16><<<1, 32>>>(out, registers);
    case product::k16_bf16: return multiply<product::k16_bf16><<<1, 32>>>(out, registers);
    case product::k8_f16: return multiply<product::k8_f16><<<1, 32>>>(out, registers);
    case product::k8_bf16: return multiply<product::k8_bf16><<<1, 32>>>(out, registers);
    case product::k16_f16_sums: return multiply<product::k16_f16_sums><<<1, 32>>>(out, registers);
    case product::k8_f16_sums: return multiply<product::k8_f16_sums><<<1, 32>>>(out, registers);
  }
}
void run_written_pipeline(float* out, const float* in, int tiles, int flaw) {
  written::pipeline<<<1, 64>>>(out, in, tiles, flaw);
}
void run_written_product(product which, std::uint32_t* out, const std::uint32_t* registers) {
  which == product::k16_f16 ? written::multiply<false><<<1, 32>>>(out, registers)
                            : written::multiply<true><<<1, 32>>>(out, registers);
}
void run_written_ldmatrix(std::uint32_t* out, const std::uint16_t* in, bool transposed) {
  transposed ? written::matrices<true><<<1, 32, 512>>>(out, in) : written::matrices<false><<<1, 32, 512>>>(out, in);
}
void run_written_functions(float* out, const float* in) {
  written::functions<<<1, 32>>>(out, in);
}
void run_written_halves(std::uint32_t* out, const std::uint32_t* in) {
  written::halves<<<1, 32>>>(out, in);
}
void run_unknown() {
  written::unknown<<<1, 32>>>();
}
bool run_names(int* out) {
  constexpr int bytes = 101 * 1024;
  cudaDeviceProp properties;
  int blocks = 0;
  cudaStream_t stream = nullptr;
  bool fine = cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.warpSize == 32;
  fine &= cudaFuncSetAttribute(names, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
  fine &= cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, names, 32, bytes) == cudaSuccess && blocks > 0;
  fine &= cudaStreamCreate(&stream) == cudaSuccess;
  cudaFuncAttributes attributes;
  fine &= cudaFuncGetAttributes(&attributes, names) == cudaSuccess && attributes.maxThreadsPerBlock >= 1024;
  fine &= cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&names)) == cudaSuccess;
  void* arguments[] = {(void*)&out};
  fine &= cudaLaunchKernel((void*)names, dim3(1), dim3(32), arguments, bytes, stream) == cudaSuccess;
  const auto erased = reinterpret_cast<void*>(&names);
  fine &= cudaLaunchKernel((void*)erased, dim3(1), dim3(32), arguments, bytes, stream) == cudaErrorNotSupported;
  fine &= cudaLaunchKernel(fine ? (void*)names : erased, dim3(1), dim3(32), arguments) == cudaErrorNotSupported;
  fine &= cudaGetLastError() == cudaErrorNotSupported;
  int threads = 0;
  fine &= cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0) == cudaSuccess && threads >= 1024;
  cudaLaunchAttribute attribute{cudaLaunchAttributeProgrammaticStreamSerialization, {1}};
  const cudaLaunchConfig_t config{dim3(1), dim3(32), bytes, stream, &attribute, 1};
  fine &= cudaLaunchKernelEx(&config, names, out) == cudaSuccess;
  attribute.id = cudaLaunchAttributeClusterDimension;
  fine &= cudaLaunchKernelEx(&config, names, out) == cudaErrorNotSupported;
  return fine && cudaStreamDestroy(stream) == cudaSuccess && cudaGetLastError() == cudaSuccess;
}

namespace {

__global__ void store_one(float* out) {
  out[threadIdx.x] = 1;
}
__global__ void add_one(float* out, bool waits) {
  if (waits) cudaGridDependencySynchronize();
  out[threadIdx.x] += 1;
  cudaTriggerProgrammaticLaunchCompletion();
}

}  // namespace

void run_early(float* out, bool waits, bool is_of_sm_90) {
  cudaLaunchAttribute attribute{cudaLaunchAttributeProgrammaticStreamSerialization, {1}};
  const cudaLaunchConfig_t config{dim3(1), dim3(32), 0, nullptr, &attribute, 1};
  store_one<<<1, 32>>>(out);
  if (is_of_sm_90)
    cudaLaunchKernelEx<32, true>(&config, add_one, out, waits);
  else
    cudaLaunchKernelEx(&config, add_one, out, waits);
}

}  // namespace warps
