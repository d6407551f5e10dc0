/// What properties/system/device_driver.cpp says of ROCm's runtime, which it loads by name, held against ROCm's header
/// and library: kernels/platform/amd/library.cmake compiles and links this file. The suite calls these functions with
/// addresses and handles of 8 bytes.
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

static_assert(std::is_same_v<hipDeviceptr_t, void*>);
static_assert(sizeof(hipMemGenericAllocationHandle_t) == 8 && sizeof(hipStream_t) == 8 && sizeof(hipError_t) == 4);

static_assert(sizeof(hipMemAllocationProp) == 32 && offsetof(hipMemAllocationProp, type) == 0 &&
              offsetof(hipMemAllocationProp, requestedHandleType) == 4 &&
              offsetof(hipMemAllocationProp, location.type) == 8 && offsetof(hipMemAllocationProp, location.id) == 12 &&
              offsetof(hipMemAllocationProp, win32HandleMetaData) == 16 &&
              offsetof(hipMemAllocationProp, allocFlags) == 24);
static_assert(sizeof(hipMemAccessDesc) == 12 && offsetof(hipMemAccessDesc, location.type) == 0 &&
              offsetof(hipMemAccessDesc, location.id) == 4 && offsetof(hipMemAccessDesc, flags) == 8);
static_assert(hipMemAllocationTypePinned == 1 && hipMemHandleTypeNone == 0 && hipMemLocationTypeDevice == 1 &&
              hipMemAccessFlagsProtReadWrite == 3 && hipSuccess == 0);

namespace {

template <class... Arguments>
constexpr bool takes(hipError_t (*)(Arguments...), std::initializer_list<std::size_t> sizes) {
  std::size_t i = 0;
  return sizeof...(Arguments) == sizes.size() && ((sizeof(Arguments) == sizes.begin()[i++]) && ...);
}

// Bytes of the arguments, in the order of device_driver::calls.
static_assert(takes(hipInit, {4}));
static_assert(takes(hipGetDeviceCount, {8}));
static_assert(takes(hipDeviceGetName, {8, 4, 4}));
static_assert(takes(hipSetDevice, {4}));
static_assert(takes(static_cast<hipError_t (*)(void**, std::size_t)>(hipMalloc), {8, 8}));
static_assert(takes(hipFree, {8}));
static_assert(takes(hipMemcpyHtoDAsync, {8, 8, 8, 8}));
static_assert(takes(hipMemcpyDtoHAsync, {8, 8, 8, 8}));
static_assert(takes(hipMemsetD8Async, {8, 1, 8, 8}));
static_assert(takes(hipStreamCreateWithFlags, {8, 4}));
static_assert(takes(hipStreamSynchronize, {8}));
static_assert(takes(hipDrvGetErrorString, {4, 8}));
static_assert(takes(hipMemGetAllocationGranularity, {8, 8, 4}));
static_assert(takes(hipMemAddressReserve, {8, 8, 8, 8, 8}));
static_assert(takes(hipMemAddressFree, {8, 8}));
static_assert(takes(hipMemCreate, {8, 8, 8, 8}));
static_assert(takes(hipMemRelease, {8}));
static_assert(takes(hipMemMap, {8, 8, 8, 8, 8}));
static_assert(takes(hipMemUnmap, {8, 8}));
static_assert(takes(hipMemSetAccess, {8, 8, 8, 8}));

}  // namespace

/// The library has them all, else this does not link.
extern "C" const void* const assay_rocm_functions[] = {
    reinterpret_cast<const void*>(hipInit),
    reinterpret_cast<const void*>(hipGetDeviceCount),
    reinterpret_cast<const void*>(hipDeviceGetName),
    reinterpret_cast<const void*>(hipSetDevice),
    reinterpret_cast<const void*>(static_cast<hipError_t (*)(void**, std::size_t)>(hipMalloc)),
    reinterpret_cast<const void*>(hipFree),
    reinterpret_cast<const void*>(hipMemcpyHtoDAsync),
    reinterpret_cast<const void*>(hipMemcpyDtoHAsync),
    reinterpret_cast<const void*>(hipMemsetD8Async),
    reinterpret_cast<const void*>(hipStreamCreateWithFlags),
    reinterpret_cast<const void*>(hipStreamSynchronize),
    reinterpret_cast<const void*>(hipDrvGetErrorString),
    reinterpret_cast<const void*>(hipMemGetAllocationGranularity),
    reinterpret_cast<const void*>(hipMemAddressReserve),
    reinterpret_cast<const void*>(hipMemAddressFree),
    reinterpret_cast<const void*>(hipMemCreate),
    reinterpret_cast<const void*>(hipMemRelease),
    reinterpret_cast<const void*>(hipMemMap),
    reinterpret_cast<const void*>(hipMemUnmap),
    reinterpret_cast<const void*>(hipMemSetAccess),
};
