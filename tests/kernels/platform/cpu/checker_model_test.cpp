/// The checker against a model that compares each pair of accesses: random programs of loads, stores, barriers and
/// wave collectives race in the checker exactly where they race in the model.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128, steps = 9, lds_bytes = 64;
using vector16 = int __attribute__((ext_vector_type(4)));

enum order : int { no_order, of_block, of_waves };  // before a step
struct access_of_thread {
  int kind = 0;  ///< 0: none, 1: load, 2: store
  int size = 1;
  int offset = 0;
};
struct program {
  order before[steps] = {};
  access_of_thread of[steps][threads] = {};
};

template <class T>
__device__ void make(const access_of_thread& a, unsigned char* lds, int& sum) {
  auto* const at = reinterpret_cast<volatile T*>(lds + a.offset);  // volatile: of the whole width
  if (a.kind == 2) {
    *at = T{};
  } else {
    const T value = *at;
    sum += *reinterpret_cast<const unsigned char*>(&value);
  }
}

__global__ void run_program(const program* code, int* out) {
  HIP_DYNAMIC_SHARED(unsigned char, lds);
  const unsigned int i = threadIdx.x;
  if (i == 0)
    for (int at = 0; at < lds_bytes; at += 16) *reinterpret_cast<vector16*>(lds + at) = vector16{};
  __syncthreads();
  int sum = 0;
  for (int step = 0; step < steps; ++step) {
    const access_of_thread a = code->of[step][i];
    if (code->before[step] == of_block) __syncthreads();
    if (code->before[step] == of_waves) __syncwarp();
    if (a.kind == 0) continue;
    switch (a.size) {
      case 1: make<std::uint8_t>(a, lds, sum); break;
      case 2: make<std::uint16_t>(a, lds, sum); break;
      case 4: make<std::uint32_t>(a, lds, sum); break;
      case 8: make<std::uint64_t>(a, lds, sum); break;
      default: make<vector16>(a, lds, sum); break;
    }
  }
  out[i] = sum;
}

/// Few threads and places, so that half of the programs race. Steps often repeat the one before, as loops do.
program random_program(std::mt19937_64& random) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<std::uint64_t>(count)); };
  program p;
  const int some[] = {0, below(threads), below(threads), 31, 32, 63, 64, 127};
  for (int step = 0; step < steps; ++step) {
    p.before[step] = below(8) == 0 ? no_order : below(4) == 0 ? of_waves : of_block;
    const bool all_load = below(2) == 0, is_own = below(4) != 0;
    for (int n = below(4); n >= 0; --n) {
      const int size = 1 << below(5), thread = some[below(8)];
      const int offset = is_own ? thread / 8 * 4 : below(lds_bytes);
      p.of[step][thread] = {all_load ? 1 : 1 + below(2), size,
                            (is_own && size <= 4 ? offset : offset % 32) / size * size};
    }
  }
  return p;
}

bool overlap(const access_of_thread& a, const access_of_thread& b) {
  return a.kind != 0 && b.kind != 0 && a.kind + b.kind > 2 && a.offset < b.offset + b.size &&
         b.offset < a.offset + a.size;
}

/// Whether two threads' accesses to one byte, one of them a store, have nothing between them that orders them.
bool races(const program& p, int wave_size) {
  for (int first = 0; first < steps; ++first) {
    bool orders_block = false, orders_waves = false;
    for (int second = first; second < steps; ++second) {
      if (second > first) {
        orders_block |= p.before[second] == of_block;
        orders_waves |= p.before[second] == of_waves;
      }
      for (int a = 0; a < threads; ++a)
        for (int b = 0; p.of[first][a].kind != 0 && b < threads; ++b) {
          if (a == b || !overlap(p.of[first][a], p.of[second][b])) continue;
          if (!orders_block && !(orders_waves && a / wave_size == b / wave_size)) return true;
        }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("Programs of loads, stores, barriers and collectives race exactly where each pair of accesses says so",
          "[checker]") {
  std::mt19937_64 random(1);
  std::vector<int> results(threads);
  program p;
  toy_tensor out("out", results.data(), {threads}, {1}, ASSAY_OUTPUT);
  toy_tensor code("code", reinterpret_cast<int*>(&p), {sizeof(p) / sizeof(int)}, {1}, ASSAY_INPUT);
  const std::array tensors{out.get(), code.get()};
  int racing = 0;
  constexpr int programs = 1500;
  for (int n = 0; n < programs; ++n) {
    p = random_program(random);
    for (assay_launch l :
         {parameters(32), parameters(64), parameters(32, ASSAY_RANDOM, random()), parameters(64, ASSAY_REVERSE)}) {
      const std::vector<seen_defect> seen = checked_defects(
          l, tensors, [&] { hipLaunchKernelGGL(run_program, 1, threads, lds_bytes, nullptr, &p, results.data()); });
      INFO("program " << n << ", " << name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
      const bool expected = races(p, l.wave_size);
      racing += expected ? 1 : 0;
      REQUIRE(seen.empty() == !expected);
      for (const seen_defect& d : seen) REQUIRE(d.kind == ASSAY_DATA_RACE);
    }
  }
  CHECK(racing > programs);  // of four launches each
  CHECK(racing < 3 * programs);
}
