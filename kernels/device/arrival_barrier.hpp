/// A barrier in LDS between waves that do different work: some arrive, others wait. NVIDIA's are mbarriers, of sm_90
/// on; elsewhere an arrival is an atomic that releases, and a wait one that acquires, which the checker of the cpu
/// platform follows as it follows all atomics.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace assay::device {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Of a known number of arrivals. Phases follow each other; a wait names the parity of the one that it waits for: 0 of
/// the first. It must not be late by a whole phase.
class arrival_barrier {
 public:
  /// By one thread, before a barrier of the block.
  __device__ void start(int arrivals);
  /// What the thread did before it, those see that wait for the phase.
  __device__ void arrive();
  __device__ void wait(int parity);

 private:
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  __device__ std::uint32_t address() const { return static_cast<std::uint32_t>(__cvta_generic_to_shared(&word_)); }
  std::uint64_t word_;
#else
  std::uint32_t of_phase_;  ///< arrivals
  std::uint32_t arrived_;   ///< in all phases
#endif
};

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)

// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
__device__ inline void arrival_barrier::start(int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
}
__device__ inline void arrival_barrier::arrive() {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
}
__device__ inline void arrival_barrier::wait(int parity) {
  asm volatile(
      "{.reg .pred done; again_%=: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1; @!done bra "
      "again_%=;}" ::"r"(address()),
      "r"(parity)
      : "memory");
}

#else

__device__ inline void arrival_barrier::start(int arrivals) {
  of_phase_ = static_cast<std::uint32_t>(arrivals), arrived_ = 0;
}
__device__ inline void arrival_barrier::arrive() {
  __threadfence_block();
  atomicAdd(&arrived_, 1U);
}
__device__ inline void arrival_barrier::wait(int parity) {
  while (static_cast<int>(atomicAdd(&arrived_, 0U) / of_phase_ % 2) == parity) {
  }
  __threadfence_block();
}

#endif

#endif

}  // namespace assay::device
