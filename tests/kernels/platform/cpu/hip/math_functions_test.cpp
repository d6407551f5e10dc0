/// Numbers and bits as HIP's documents say them.
#include <hip/hip_runtime.h>
#include <hip/hip_version.h>

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "tests/kernels/platform/cpu/launching.hpp"

namespace {
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity_f = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("max and min of a NaN and a number are the number, whichever comes first", "[hip]") {
  CHECK(max(nan_f, 1.0F) == 1.0F);
  CHECK(max(1.0F, nan_f) == 1.0F);
  CHECK(min(nan_f, -infinity_f) == -infinity_f);
  CHECK(min(2.0F, nan_f) == 2.0F);
  CHECK(std::isnan(max(nan_f, nan_f)));
  CHECK(max(-0.5F, -0.25F) == -0.25F);
  CHECK(min(-0.5, 0.25F) == -0.5);
  CHECK(max(3, 2U) == 3U);
  CHECK(max(-1, 2U) == 0xFFFFFFFFU);  // C's arithmetic: -1 becomes unsigned
  CHECK(max(std::int64_t{-1}, 2) == 2);
  CHECK(min(short{-3}, 2) == -3);
  CHECK(max(1, 2.5F) == 2.5F);
  static_assert(std::is_same_v<decltype(max(1, 2LL)), long long>);
}

TEST_CASE("Numbers become integers as their names say, saturated, and NaN 0", "[hip]") {
  CHECK(__float2int_rn(2.5F) == 2);
  CHECK(__float2int_rn(3.5F) == 4);
  CHECK(__float2int_rn(-2.5F) == -2);
  CHECK(__float2int_rz(-2.9F) == -2);
  CHECK(__float2int_ru(2.1F) == 3);
  CHECK(__float2int_rd(-2.1F) == -3);
  CHECK(__float2int_rn(nan_f) == 0);
  CHECK(__float2int_rn(infinity_f) == std::numeric_limits<int>::max());
  CHECK(__float2int_rn(0x1p31F) == std::numeric_limits<int>::max());
  CHECK(__float2int_rn(-0x1p31F) == std::numeric_limits<int>::min());
  CHECK(__float2uint_rn(-1.0F) == 0);
  CHECK(__float2uint_rn(0x1p32F) == 0xFFFFFFFFU);
  CHECK(__float2ll_rn(-0x1p62F) == -(1LL << 62));
  CHECK(__double2int_rz(-7.9) == -7);
  CHECK(__double2ull_rd(0x1p64) == std::numeric_limits<unsigned long long>::max());
  CHECK(__saturatef(nan_f) == 0.0F);
  CHECK(__saturatef(-1.0F) == 0.0F);
  CHECK(__saturatef(7.0F) == 1.0F);
}

TEST_CASE("Bits and products are those of the manuals", "[hip]") {
  CHECK(__brev(1U) == 0x80000000U);
  CHECK(__brevll(2ULL) == 0x4000000000000000ULL);
  CHECK(__byte_perm(0x33221100U, 0x77665544U, 0x7531U) == 0x77553311U);
  CHECK(__byte_perm(0x33221180U, 0x77665544U, 0x0008U) == 0x808080FFU);
  CHECK(__funnelshift_l(0x80000001U, 0x12345678U, 4) == 0x23456788U);
  CHECK(__funnelshift_r(0x80000001U, 0x12345678U, 4) == 0x88000000U);
  CHECK(__umulhi(0xFFFFFFFFU, 0xFFFFFFFFU) == 0xFFFFFFFEU);
  CHECK(__mulhi(-1, 1) == -1);
  CHECK(__umul64hi(~0ULL, ~0ULL) == ~0ULL - 1);
  CHECK(__mul24(0xFFFFFF, 2) == -2);
  CHECK(__mul24(3, -4) == -12);
  CHECK(__umul24(0x1000003U, 2U) == 6U);
  CHECK(__popc(0xF0U) + __clz(1) + __ffs(8U) == 4 + 31 + 4);
  CHECK(__hiloint2double(__double2hiint(-1.5), __double2loint(-1.5)) == -1.5);
  CHECK(__longlong_as_double(__double_as_longlong(0.1)) == 0.1);
  CHECK(__fmaf_rn(0x1.001p0F, 0x1.001p0F, -0x1.002p0F) == 0x1p-24F);  // rounded twice, it would be 0
}

TEST_CASE("Vector types have the GPUs' sizes and alignments", "[hip]") {
  static_assert(sizeof(float3) == 12 && alignof(float3) == 4);
  static_assert(sizeof(float4) == 16 && alignof(float4) == 16);
  static_assert(sizeof(short2) == 4 && alignof(short2) == 4);
  static_assert(sizeof(uchar4) == 4 && sizeof(ushort1) == 2 && sizeof(char3) == 3);
  static_assert(sizeof(double2) == 16 && sizeof(longlong2) == 16 && sizeof(ulonglong4) == 32);
  const int3 v = make_int3(1, 2, 3);
  CHECK(v.x + v.y + v.z == 6);
  const dim3 extents = make_uint3(2, 3, 4);
  CHECK(extents.z == 4);
  CHECK(make_float4(1, 2, 3, 4).w == 4.0F);
}

TEST_CASE("The device is that of the launch: its wave size, its LDS, and nothing else", "[hip]") {
  const assay::cpu::launch_scope scope(assay::cpu::parameters(32), 4096);
  hipDeviceProp_t properties;
  int value = 0;
  REQUIRE(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  CHECK(properties.warpSize == 32);
  CHECK(properties.sharedMemPerBlock == 4096);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0) == hipSuccess);
  CHECK(value == 32);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerBlock, 0) == hipSuccess);
  CHECK(value == 4096);
  CHECK(hipGetDeviceProperties(&properties, 1) == hipErrorInvalidValue);
  // A file that says which GPU it is compiled for sees that one.
  CHECK(std::string(properties.gcnArchName) == "cpu");
  REQUIRE(hipGetDeviceProperties<64, 0x90a>(&properties, 0) == hipSuccess);
  CHECK(std::string(properties.gcnArchName) == "gfx90a");
  CHECK(hipSetDevice(1) == hipErrorInvalidValue);
  CHECK(hipGetLastError() == hipErrorInvalidValue);
  const auto kernel = [](void (*f)(int), int bytes) {
    return hipFuncSetAttribute(f, hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  CHECK(kernel(nullptr, 4096) == hipSuccess);
  CHECK(kernel(nullptr, 4097) == hipErrorInvalidValue);
  static_cast<void>(hipGetLastError());
}

TEST_CASE("ROCm's device library has its names, in f32 and f16", "[hip]") {
  CHECK(__ocml_exp_f32(0.0F) == 1.0F);
  CHECK(__ocml_sqrt_f16(_Float16{2}) == static_cast<_Float16>(std::sqrt(2.0)));
  CHECK(__builtin_amdgcn_sqrt(9.0) == 3.0);
  CHECK(__builtin_amdgcn_rcp(8.0) == 0.125);
  CHECK(std::cosf(0.0F) == 1.0F);
  STATIC_CHECK(HIP_VERSION_MAJOR >= 6);
}

TEST_CASE("A code object of a GPU cannot be loaded", "[hip]") {
  hipModule_t code = nullptr;
  hipFunction_t kernel = nullptr;
  CHECK(hipModuleLoad(&code, "kernel.co") == hipErrorNotSupported);
  CHECK(hipModuleLoadData(&code, "") == hipErrorNotSupported);
  CHECK(hipModuleGetFunction(&kernel, code, "kernel") == hipErrorNotSupported);
  CHECK(hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == hipErrorNotSupported);
}

TEST_CASE("Streams and events are made, used and destroyed", "[hip]") {
  hipStream_t stream = nullptr;
  hipEvent_t start = nullptr, stop = nullptr;
  float milliseconds = -1;
  REQUIRE(hipStreamCreate(&stream) == hipSuccess);
  REQUIRE(hipEventCreate(&start) == hipSuccess);
  REQUIRE(hipEventCreateWithFlags(&stop, hipEventDefault) == hipSuccess);
  CHECK(hipEventElapsedTime(&milliseconds, start, stop) == hipErrorInvalidValue);
  CHECK(hipEventRecord(start, stream) == hipSuccess);
  CHECK(hipEventRecord(stop) == hipSuccess);
  CHECK(hipStreamWaitEvent(stream, stop) == hipSuccess);
  CHECK(hipEventSynchronize(stop) == hipSuccess);
  CHECK(hipEventElapsedTime(&milliseconds, start, stop) == hipSuccess);
  CHECK(milliseconds >= 0.0F);
  CHECK(hipEventDestroy(start) == hipSuccess);
  CHECK(hipEventDestroy(stop) == hipSuccess);
  CHECK(hipStreamDestroy(stream) == hipSuccess);
  CHECK(hipStreamDestroy(nullptr) == hipErrorInvalidValue);
  static_cast<void>(hipGetLastError());
}

namespace {

__global__ void wait_for_clock(long long* out) {
  const long long start = clock64();
  while (clock64() - start < 100) __nanosleep(20);
  out[threadIdx.x] = wall_clock64() - start;
}

}  // namespace

TEST_CASE("A loop that waits for the clock ends, under each schedule", "[hip]") {
  for (const assay_launch& l : assay::cpu::all_launches()) {
    std::array<long long, 64> out{};
    CHECK(
        assay::cpu::defects_of(l, [&] { hipLaunchKernelGGL(wait_for_clock, 1, 64, 0, nullptr, out.data()); }).empty());
    for (const long long ticks : out) CHECK(ticks > 100);
  }
}
