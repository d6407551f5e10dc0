/// Launches of warps.cu.
#pragma once

#include <cstdint>

namespace warps {

/// 64 threads copy `in` tile by tile, 64 floats each, through two halves of shared memory with cp.async, and add 1.
/// `flaw` 1: waits for no group; 2: without the barrier after the wait; 3: without the barrier before the next copy.
void run_pipeline(float* out, const float* in, int tiles, int flaw);
/// Tile of which lane 0 copies 16 bytes, of which only `bytes` are read.
void run_partial(float* out, const float* in, int bytes);
/// A 16 x 16 tile of f16 codes in shared memory by ldmatrix x4; each lane's 4 registers to `out`. `shift`: bytes that
/// the rows' addresses are off.
void run_ldmatrix(std::uint32_t* out, const std::uint16_t* in, bool transposed, int shift);
/// One product of a warp: fragments of A, B and C as registers, in `registers`: lane by lane A, B, C.
enum class product { k16_f16, k16_bf16, k8_f16, k8_bf16, k16_f16_sums, k8_f16_sums };
void run_product(product which, std::uint32_t* out, const std::uint32_t* registers);
/// run_pipeline and the products k16_f16 and k16_f16_sums, written in PTX as FlashInfer and vLLM wrap it. `bytes`: what
/// the last thread's copies read.
void run_written_pipeline(float* out, const float* in, int tiles, int flaw);
void run_written_product(product which, std::uint32_t* out, const std::uint32_t* registers);
/// 128 x 128 codes by ldmatrix, as run_ldmatrix; and smaller instructions: out[lane].
void run_written_ldmatrix(std::uint32_t* out, const std::uint16_t* in, bool transposed);
void run_written_functions(float* out, const float* in);
/// (x / 2)^2 + (2 y + 1)^2 of a word's two f16, as two f16.
void run_written_halves(std::uint32_t* out, const std::uint32_t* in);
/// Assembly that is not known. Throws.
void run_unknown();
/// warpSize as a constant, CUDA's names of the host, and 100 KiB of shared memory.
bool run_names(int* out);

/// Of 32 numbers: a kernel stores 1, the next one, launched so that it may start early, adds 1. `is_of_sm_90`: as in a
/// source that is compiled for it.
void run_early(float* out, bool waits, bool is_of_sm_90);

}  // namespace warps
