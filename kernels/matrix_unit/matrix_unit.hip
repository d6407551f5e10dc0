/// The atoms that kernels use, through the same device code, one wave a tile; and the elementary functions.
#include <hip/hip_runtime.h>

#include <vector>

#include "kernels/device/math.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/matrix_unit/matrix_unit_arguments.hpp"
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/matrix_unit/native_atoms.hpp"
#endif

namespace assay {
namespace {

template <class Acc>
__device__ inline std::int64_t place_of(int i) {
  return static_cast<std::int64_t>(blockIdx.x) * 256 + device::c_row(i) * 16 + device::c_column(i);
}

template <class T, class Acc>
__global__ void multiply_tile(tile_arguments t) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * 16 * device::atom_depth;
  const T* const a = static_cast<const T*>(t.a) + first;
  const T* const b = static_cast<const T*>(t.b) + first;
  device::accumulator<Acc> sum;
  for (int i = 0; i < sum.count(); ++i) sum.value[i] = static_cast<const Acc*>(t.c)[place_of<Acc>(i)];
  device::mma_chain<T>(
      sum, 1, [&](int, auto& f) { device::load_a(f, a, device::atom_depth); },
      [&](int, auto& f) { device::load_b_by_columns(f, b, device::atom_depth); });
  for (int i = 0; i < sum.count(); ++i) static_cast<Acc*>(t.d)[place_of<Acc>(i)] = sum.value[i];
}

template <class T>
__global__ void multiply_byte_tile(tile_arguments t) {
  constexpr int depth = device::byte_atom_depth;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * 16 * depth;
  const T* const a = static_cast<const T*>(t.a) + first;
  const T* const b = static_cast<const T*>(t.b) + first;
  device::accumulator<float> sum[1];
  for (int i = 0; i < sum[0].count(); ++i) sum[0].value[i] = static_cast<const float*>(t.c)[place_of<float>(i)];
  device::mma_rows<T, 1>(
      sum, [](int) { return true; }, 1, [&](int, int, auto& f) { device::load_words(f, a, depth); },
      [&](int, auto& f) { device::load_words(f, b, depth); });
  for (int i = 0; i < sum[0].count(); ++i) static_cast<float*>(t.d)[place_of<float>(i)] = sum[0].value[i];
}

template <class T, class Acc>
void launch_tiles(const tile_arguments& t) {
  auto* const kernel = multiply_tile<T, Acc>;
  hipLaunchKernelGGL(kernel, dim3(static_cast<unsigned int>(t.count)),
                     dim3(static_cast<unsigned int>(device::largest_wave)), 0, nullptr, t);
}
template <class T>
void launch_byte_tiles(const tile_arguments& t) {
  auto* const kernel = multiply_byte_tile<T>;
  hipLaunchKernelGGL(kernel, dim3(static_cast<unsigned int>(t.count)),
                     dim3(static_cast<unsigned int>(device::largest_wave)), 0, nullptr, t);
}

constexpr int function_threads = 64;
constexpr int values_of_thread = 256;

__global__ void evaluate(function_arguments f) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * function_threads + threadIdx.x) * values_of_thread;
  for (std::int64_t i = first; i < first + values_of_thread && i < f.count; ++i) {
    const float x = f.x[i];
    f.y[i] = f.function == ASSAY_EXP2 ? device::exp2(x) : f.function == ASSAY_LOG ? device::log(x) : device::tanh(x);
  }
}

assay_unit_atom described(const char* name, dtype type, int depth, const matrix_atom& declared) {
  return {name, static_cast<std::int32_t>(type), depth, declared};
}

std::vector<unit_atom> atoms_of_device() {
  const auto f8 = device::byte_atom_depth;
  std::vector<unit_atom> all = {
      {described("f16", dtype::f16, 16, device::exact_atom(dtype::f16)), launch_tiles<device::f16, float>},
      {described("bf16", dtype::bf16, 16, device::exact_atom(dtype::bf16)), launch_tiles<device::bf16, float>},
      {described("i8", dtype::i8, 16, {}), launch_tiles<std::int8_t, std::int32_t>},
      {described("e4m3fn, as kernels multiply it", dtype::e4m3fn, f8, device::exact_fp8_atom(dtype::e4m3fn)),
       launch_byte_tiles<device::e4m3fn>},
      {described("e4m3fnuz, as kernels multiply it", dtype::e4m3fnuz, f8, device::exact_fp8_atom(dtype::e4m3fnuz)),
       launch_byte_tiles<device::e4m3fnuz>},
  };
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  using native::instruction;
  const int capability = platform::compute_capability();
  if (capability == 89) {
    all.push_back({described("mma.sync e4m3", dtype::e4m3fn, 32, ada_fp8_atom(dtype::e4m3fn)),
                   native::launch<instruction::mma_e4m3>});
    all.push_back({described("mma.sync e5m2", dtype::e5m2, 32, ada_fp8_atom(dtype::e5m2)),
                   native::launch<instruction::mma_e5m2>});
  }
  if (capability == 90) {
    all.push_back({described("mma.sync e4m3", dtype::e4m3fn, 32, hopper_fp8_mma_atom(dtype::e4m3fn)),
                   native::launch<instruction::mma_e4m3>});
    all.push_back({described("mma.sync e5m2", dtype::e5m2, 32, hopper_fp8_mma_atom(dtype::e5m2)),
                   native::launch<instruction::mma_e5m2>});
    all.push_back(
        {described("wgmma f16", dtype::f16, 16, hopper_atom(dtype::f16)), native::launch<instruction::wgmma_f16>});
    all.push_back(
        {described("wgmma bf16", dtype::bf16, 16, hopper_atom(dtype::bf16)), native::launch<instruction::wgmma_bf16>});
    all.push_back({described("wgmma e4m3", dtype::e4m3fn, 32, hopper_fp8_atom(dtype::e4m3fn)),
                   native::launch<instruction::wgmma_e4m3>});
    all.push_back({described("wgmma e5m2", dtype::e5m2, 32, hopper_fp8_atom(dtype::e5m2)),
                   native::launch<instruction::wgmma_e5m2>});
  }
#endif
  return all;
}

}  // namespace

std::span<const unit_atom> unit_atoms() {
  static const std::vector<unit_atom> all = atoms_of_device();
  return all;
}

void launch_function(const function_arguments& f) {
  const std::int64_t of_block = std::int64_t{function_threads} * values_of_thread;
  hipLaunchKernelGGL(evaluate, dim3(static_cast<unsigned int>((f.count + of_block - 1) / of_block)),
                     dim3(function_threads), 0, nullptr, f);
}

}  // namespace assay
