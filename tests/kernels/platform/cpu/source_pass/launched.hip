/// HIP as its own compiler takes it, for source_pass_test.cpp.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include "tests/kernels/platform/cpu/source_pass/launched.hpp"

namespace launched {
namespace {

extern __shared__ int of_namespace[];

/// Each block reverses its part; `flaw` leaves the barrier out.
template <class T, int Extra>
__global__ void reverse(T* out, const T* in, bool flaw) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* const part = reinterpret_cast<T*>(bytes);
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (!flaw) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x] + Extra;
}

__global__ void sum_in_lds(int* out) {
  static __shared__ int totals[2];
  __align__(16) __shared__ int copy[64];
  of_namespace[threadIdx.x] = static_cast<int>(threadIdx.x);
  copy[threadIdx.x] = of_namespace[threadIdx.x];
  cooperative_groups::this_thread_block().sync();
  if (threadIdx.x < 2) {
    totals[threadIdx.x] = 0;
    for (int i = 0; i < 64; ++i) totals[threadIdx.x] += copy[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = totals[0] + totals[1];
}

/// Past the first array: the second one is not its neighbour.
__global__ void overrun(int* out) {
  __shared__ int first[64];
  __shared__ int second[64];
  second[threadIdx.x] = 0;
  first[threadIdx.x] = 1;
  __syncthreads();
  volatile int* const at = first;
  out[threadIdx.x] = at[threadIdx.x + 1];
}

/// A word that each block stores behind its load, and one that no block stores.
__global__ void first_words(int* out) {
  __shared__ int stored, never_stored;
  out[blockIdx.x * 2] = stored;
  out[blockIdx.x * 2 + 1] = never_stored;
  stored = 5;
}

/// Ones times ones, by a matrix unit that reads what other lanes hold on their stacks; then their sum by warp
/// functions.
__global__ void multiply_ones(int* out) {
  using f16x4 = _Float16 __attribute__((ext_vector_type(4)));
  using f32x16 = float __attribute__((ext_vector_type(16)));
  f16x4 ones;
  for (int i = 0; i < 4; ++i) ones[i] = static_cast<_Float16>(i < static_cast<int>(blockDim.x) ? 1 : 0);
  f32x16 c = {};
  for (int step = 0; step < 3; ++step) c = __builtin_amdgcn_mfma_f32_32x32x8f16(ones, ones, c, 0, 0, 0);
  out[threadIdx.x] = static_cast<int>(__reduce_add_sync(~0ULL, static_cast<int>(c[15])));
}

__global__ void copy_element(unsigned short* out, const unsigned short* in, long at, long before) {
  volatile unsigned short earlier = in[before];
  static_cast<void>(earlier);
  out[0] = in[at];
}

/// Of its template arguments, a launch may leave the last two to be deduced; the third has a default.
template <int Factor, class T, class U, int More = 1>
__global__ void __launch_bounds__(64) scale_into(T* out, const U* in, T shift) {
  out[threadIdx.x] = static_cast<T>(in[threadIdx.x]) * Factor * More + shift;
}

}  // namespace

void run_scale(long* out, const int* in) {
  scale_into<3><<<1, 64>>>(out, in, 5L);
  scale_into<2, long, int><<<1, 1>>>(out, in, 1L);
}
void run_copy_element(unsigned short* out, const unsigned short* in, long at, long before) {
  copy_element<<<1, 1>>>(out, in, at, before);
}
void run_reverse(int* out, const int* in, bool flaw) {
  const dim3 grid(2, 1);
  reverse<int, (2 > 1 ? 0 : 1)><<<grid, 64, 64 * sizeof(int), nullptr>>>(out, in, flaw);
}
void run_sum(int* out) {
  sum_in_lds<<<1, {64}, 64 * sizeof(int)>>>(out);
}
void run_ones(int* out) {
  multiply_ones<<<1, 64>>>(out);
}
void run_overrun(int* out) {
  auto* const kernel = overrun;
  (*kernel)<<<1, 64>>>(out);
}
void run_first_words(int* out) {
  first_words<<<4, 1>>>(out);
}

}  // namespace launched
