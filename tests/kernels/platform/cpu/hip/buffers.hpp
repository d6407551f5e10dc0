/// Launches of buffers.hip: one block of 64 threads each, in waves of 64.
#pragma once

namespace buffers {

/// Lane i loads elements 4 i to 4 i + 3 of `in`, through a resource of `num_bytes`, in loads of 1, 2, 4, 8, 12 or 16
/// bytes, and stores them in `out`.
void run_copy(int width, float* out, const float* in, int num_bytes);
/// Stores 1 to element i of `out` through a resource of `num_bytes`.
void run_store(float* out, int num_bytes);
/// The same as run_copy with 16 bytes, by functions with the labels of LLVM's intrinsics, and dwords of f16.
void run_labelled(float* out, const float* in, int num_bytes);
/// Into the LDS and, reversed, to `out`. `flaw`: the barrier is left out.
void run_through_lds(float* out, const float* in, bool by_buffer, bool flaw);

/// A matrix operation, which a wave of 32 does not have.
void run_mfma(float* out);

}  // namespace buffers
