/// AMD's builtins, lane by lane.
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay::cpu;

namespace {

template <class F>
__global__ void of_lanes(int* out, F f) {
  out[threadIdx.x] = f(static_cast<int>(threadIdx.x));
}

/// What each of 64 lanes gets, in waves of 64.
template <class F>
std::array<int, 64> results(F f) {
  std::array<int, 64> out{};
  for (const assay_launch& l : all_launches()) {
    if (l.wave_size != 64) continue;
    std::array<int, 64> now{};
    REQUIRE(defects_of(l, [&] { hipLaunchKernelGGL(of_lanes<F>, 1, 64, 0, nullptr, now.data(), f); }).empty());
    if (l.schedule != ASSAY_ROUND_ROBIN) REQUIRE(now == out);
    out = now;
  }
  return out;
}

template <class F, class G>
void require_each(F builtin, G wanted) {
  const std::array<int, 64> got = results(builtin);
  for (int lane = 0; lane < 64; ++lane) {
    INFO("lane " << lane);
    CHECK(got[static_cast<std::size_t>(lane)] == wanted(lane));
  }
}

template <int Control>
int moved(int lane) {
  return __builtin_amdgcn_update_dpp(-lane - 1, lane, Control, 0xF, 0xF, false);
}

}  // namespace

TEST_CASE("DPP moves take their values from the lanes of the manual", "[hip][amdgcn]") {
  require_each(moved<0x1B>, [](int lane) { return lane ^ 3; });  // quad_perm [3, 2, 1, 0]
  require_each(moved<0x101>, [](int lane) { return lane % 16 < 15 ? lane + 1 : -lane - 1; });
  require_each(moved<0x113>, [](int lane) { return lane % 16 >= 3 ? lane - 3 : -lane - 1; });
  require_each(moved<0x124>, [](int lane) { return lane / 16 * 16 + (lane + 12) % 16; });
  require_each(moved<0x130>, [](int lane) { return lane < 63 ? lane + 1 : -64; });
  require_each(moved<0x134>, [](int lane) { return (lane + 1) % 64; });
  require_each(moved<0x138>, [](int lane) { return lane > 0 ? lane - 1 : -1; });
  require_each(moved<0x13C>, [](int lane) { return (lane + 63) % 64; });
  require_each(moved<0x140>, [](int lane) { return lane ^ 15; });
  require_each(moved<0x141>, [](int lane) { return lane ^ 7; });
  require_each(moved<0x142>, [](int lane) { return lane < 16 ? -lane - 1 : lane / 16 * 16 - 1; });
  require_each(moved<0x143>, [](int lane) { return lane < 32 ? -lane - 1 : 31; });
  require_each(moved<0x155>, [](int lane) { return lane / 16 * 16 + 5; });
  require_each(moved<0x166>, [](int lane) { return lane ^ 6; });
  require_each([](int lane) { return __builtin_amdgcn_mov_dpp(lane + 1, 0x111, 0xF, 0xF, true); },
               [](int lane) { return lane % 16 > 0 ? lane : 0; });
  require_each([](int lane) { return __builtin_amdgcn_update_dpp(-1, lane, 0x140, 0x5, 0xA, false); },
               [](int lane) { return lane / 16 % 2 == 0 && lane % 16 / 4 % 2 == 1 ? lane ^ 15 : -1; });
}

TEST_CASE("Values go from lane to lane", "[hip][amdgcn]") {
  require_each([](int lane) { return __builtin_amdgcn_readfirstlane(lane + 7); }, [](int) { return 7; });
  require_each([](int lane) { return __builtin_amdgcn_readlane(lane, 40); }, [](int) { return 40; });
  require_each([](int lane) { return __builtin_amdgcn_ds_bpermute(4 * (63 - lane), lane); },
               [](int lane) { return 63 - lane; });
  require_each([](int lane) { return __builtin_amdgcn_ds_permute(4 * (lane / 2), lane + 1); },
               [](int lane) { return lane < 32 ? 2 * lane + 2 : 0; });
  require_each([](int lane) { return __builtin_amdgcn_ds_swizzle(lane, 0x041F); }, [](int lane) { return lane ^ 1; });
  require_each([](int lane) { return __builtin_amdgcn_ds_swizzle(lane, 0x801B); }, [](int lane) { return lane ^ 3; });
  require_each([](int lane) { return static_cast<int>(__builtin_amdgcn_ballot_w64(lane % 32 == 1) >> 32); },
               [](int) { return 2; });
  require_each([](int) { return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0))); },
               [](int lane) { return lane; });
}

TEST_CASE("The first lane is the first one that is still there", "[hip][amdgcn]") {
  const auto kernel = [](int lane) { return lane < 5 ? -1 : __builtin_amdgcn_readfirstlane(lane); };
  require_each(kernel, [](int lane) { return lane < 5 ? -1 : 5; });
  require_each([](int lane) { return lane < 5 ? -1 : static_cast<int>(__builtin_amdgcn_read_exec() & 0xFF); },
               [](int lane) { return lane < 5 ? -1 : 0xE0; });
}

TEST_CASE("Bytes and fields are chosen as the manual says", "[hip][amdgcn]") {
  CHECK(__builtin_amdgcn_perm(0x77665544U, 0x33221100U, 0x07050301U) == 0x77553311U);
  CHECK(__builtin_amdgcn_perm(0x00665544U, 0x80221100U, 0x090A0D0CU) == 0xFF00FF00U);
  CHECK(__builtin_amdgcn_alignbit(0x12345678U, 0x9ABCDEF0U, 4) == 0x89ABCDEFU);
  CHECK(__builtin_amdgcn_alignbyte(0x12345678U, 0x9ABCDEF0U, 1) == 0x789ABCDEU);
  CHECK(__builtin_amdgcn_ubfe(0xABCDU, 4, 8) == 0xBCU);
  CHECK(__builtin_amdgcn_sbfe(0xABCD, 4, 8) == -68);
  CHECK(__builtin_amdgcn_sad_u16(0x00050001U, 0x00020009U, 100) == 111);
  CHECK(__builtin_amdgcn_fmed3f(3.0F, 1.0F, 2.0F) == 2.0F);
  CHECK(__builtin_amdgcn_fmed3f(3.0F, std::numeric_limits<float>::quiet_NaN(), 2.0F) == 2.0F);
}

namespace {

/// D = A B + C of one wave, with A and B from bits of any width.
template <int M, int K, class Operand, class Result, class Builtin>
__global__ void multiply(const char* a, const char* b, Result* c, Builtin builtin) {
  Operand own_a, own_b;
  __builtin_memcpy(&own_a, a + threadIdx.x * sizeof(Operand), sizeof own_a);
  __builtin_memcpy(&own_b, b + threadIdx.x * sizeof(Operand), sizeof own_b);
  c[threadIdx.x] = builtin(own_a, own_b, c[threadIdx.x]);
}

/// Small whole numbers have exact products and sums in any order: `code` makes one an element.
template <int M, int K, class Operand, class Result, class Element, class Code, class Builtin>
void check_mfma(Code code, Builtin builtin) {
  std::mt19937 random(7);
  const auto draw = [&] { return static_cast<int>(random() % 9) - 4; };
  std::vector<std::vector<int>> a(M, std::vector<int>(K)), b(K, std::vector<int>(M)), c(M, std::vector<int>(M));
  for (auto* const matrix : {&a, &b, &c})
    for (auto& row : *matrix)
      for (int& value : row) value = draw();
  constexpr int share = K * M / 64, held = M * M / 64;
  std::vector<Element> of_a(64 * share), of_b(64 * share);
  std::vector<Result> of_c(64);
  const auto row = [](int lane, int i) {
    return M == 16 ? 4 * (lane / 16) + i : 8 * (i / 4) + 4 * (lane / 32) + i % 4;
  };
  for (int lane = 0; lane < 64; ++lane) {
    for (int i = 0; i < share; ++i) {
      const auto at = static_cast<std::size_t>(lane) * share + static_cast<std::size_t>(i);
      const int k = lane / M * share + i;
      of_a[at] = code(a[static_cast<std::size_t>(lane % M)][static_cast<std::size_t>(k)]);
      of_b[at] = code(b[static_cast<std::size_t>(k)][static_cast<std::size_t>(lane % M)]);
    }
    for (int i = 0; i < held; ++i)
      of_c[static_cast<std::size_t>(lane)][i] = static_cast<std::remove_cvref_t<decltype(of_c[0][0])>>(
          c[static_cast<std::size_t>(row(lane, i))][static_cast<std::size_t>(lane % M)]);
  }
  const auto seen = defects_of(parameters(64), [&] {
    hipLaunchKernelGGL((multiply<M, K, Operand, Result, Builtin>), 1, 64, 0, nullptr,
                       reinterpret_cast<const char*>(of_a.data()), reinterpret_cast<const char*>(of_b.data()),
                       of_c.data(), builtin);
  });
  REQUIRE(seen.empty());
  for (int lane = 0; lane < 64; ++lane)
    for (int i = 0; i < held; ++i) {
      const int r = row(lane, i);
      int sum = c[static_cast<std::size_t>(r)][static_cast<std::size_t>(lane % M)];
      for (int k = 0; k < K; ++k)
        sum += a[static_cast<std::size_t>(r)][static_cast<std::size_t>(k)] *
               b[static_cast<std::size_t>(k)][static_cast<std::size_t>(lane % M)];
      INFO("row " << r << ", column " << lane % M);
      CHECK(static_cast<int>(of_c[static_cast<std::size_t>(lane)][i]) == sum);
    }
}

template <float_format Format>
unsigned int code_of(int value) {
  return encoded(Format, value, false);
}

#define ASSAY_CALL(name) \
  [](const auto& a, const auto& b, const auto& c) { return __builtin_amdgcn_mfma_##name(a, b, c, 0, 0, 0); }

}  // namespace

TEST_CASE("MFMA multiplies the matrices that the lanes hold", "[hip][amdgcn]") {
  const auto f16 = [](int x) { return static_cast<std::uint16_t>(code_of<f16_format>(x)); };
  const auto bf16 = [](int x) { return static_cast<std::uint16_t>(code_of<bf16_format>(x)); };
  const auto fp8 = [](int x) { return static_cast<std::uint8_t>(code_of<mfma_fp8>(x)); };
  const auto i8 = [](int x) { return static_cast<std::int8_t>(x); };
  const auto f32 = [](int x) { return static_cast<float>(x); };
  check_mfma<16, 4, float, mfma_f32x4, float>(f32, ASSAY_CALL(f32_16x16x4f32));
  check_mfma<32, 2, float, mfma_f32x16, float>(f32, ASSAY_CALL(f32_32x32x2f32));
  check_mfma<16, 16, mfma_f16x4, mfma_f32x4, std::uint16_t>(f16, ASSAY_CALL(f32_16x16x16f16));
  check_mfma<32, 8, mfma_f16x4, mfma_f32x16, std::uint16_t>(f16, ASSAY_CALL(f32_32x32x8f16));
  check_mfma<16, 32, mfma_f16x8, mfma_f32x4, std::uint16_t>(f16, ASSAY_CALL(f32_16x16x32_f16));
  check_mfma<32, 16, mfma_f16x8, mfma_f32x16, std::uint16_t>(f16, ASSAY_CALL(f32_32x32x16_f16));
  check_mfma<16, 16, mfma_b16x4, mfma_f32x4, std::uint16_t>(bf16, ASSAY_CALL(f32_16x16x16bf16_1k));
  check_mfma<32, 8, mfma_b16x4, mfma_f32x16, std::uint16_t>(bf16, ASSAY_CALL(f32_32x32x8bf16_1k));
  using bits = unsigned short __attribute__((ext_vector_type(4)));
  check_mfma<16, 16, bits, mfma_f32x4, std::uint16_t>(bf16, ASSAY_CALL(f32_16x16x16bf16_1k));
  check_mfma<16, 32, mfma_b16x8, mfma_f32x4, std::uint16_t>(bf16, ASSAY_CALL(f32_16x16x32_bf16));
  check_mfma<32, 16, mfma_b16x8, mfma_f32x16, std::uint16_t>(bf16, ASSAY_CALL(f32_32x32x16_bf16));
  check_mfma<16, 32, long, mfma_i32x4, std::int8_t>(i8, ASSAY_CALL(i32_16x16x32_i8));
  check_mfma<32, 16, long, mfma_i32x16, std::int8_t>(i8, ASSAY_CALL(i32_32x32x16_i8));
  check_mfma<16, 32, long, mfma_f32x4, std::uint8_t>(fp8, ASSAY_CALL(f32_16x16x32_fp8_fp8));
  check_mfma<32, 16, long, mfma_f32x16, std::uint8_t>(fp8, ASSAY_CALL(f32_32x32x16_fp8_fp8));
}

namespace {

__global__ void multiply_ones(float* out, int broadcast) {
  const mfma_f16x4 one{1, 1, 1, 1};
  const mfma_f32x4 sum = __builtin_amdgcn_mfma_f32_16x16x16f16(one, one, mfma_f32x4{}, broadcast, 0, 0);
  out[threadIdx.x] = sum[0];
}

}  // namespace

TEST_CASE("MFMA ends a launch with waves of 32 lanes, or with a broadcast", "[hip][amdgcn]") {
  std::array<float, 64> out{};
  const auto run = [&](int wave_size, int broadcast) {
    const launch_scope scope(parameters(wave_size));
    hipLaunchKernelGGL(multiply_ones, 1, 64, 0, nullptr, out.data(), broadcast);
    static_cast<void>(hipGetLastError());
  };
  CHECK_THROWS_AS(run(32, 0), std::invalid_argument);
  CHECK_THROWS_AS(run(64, 1), std::invalid_argument);
  run(64, 0);
  CHECK(out[63] == 16.0F);
}

TEST_CASE("MFMA of 16 blocks multiplies each by its own, or by what a broadcast says", "[hip][amdgcn]") {
  using f16x4 = _Float16 __attribute__((ext_vector_type(4)));
  struct setting {
    int cbsz, abid, blgp;
  };
  static setting now;
  static int a[64][4], b[64][4];  // lane, k
  static float got[64][4];
  std::mt19937 random(5);
  for (int lane = 0; lane < 64; ++lane)
    for (int k = 0; k < 4; ++k)
      a[lane][k] = static_cast<int>(random() % 7) - 3, b[lane][k] = static_cast<int>(random() % 7) - 3;
  void (*kernel)() = [] {
    const unsigned int lane = threadIdx.x;
    f16x4 own_a, own_b;
    for (int k = 0; k < 4; ++k)
      own_a[k] = static_cast<_Float16>(a[lane][k]), own_b[k] = static_cast<_Float16>(b[lane][k]);
    const mfma_f32x4 d =
        __builtin_amdgcn_mfma_f32_4x4x4f16(own_a, own_b, mfma_f32x4{1, 2, 3, 4}, now.cbsz, now.abid, now.blgp);
    for (int row = 0; row < 4; ++row) got[lane][row] = d[row];
  };
  // What blgp says of the lanes of B: CDNA3 ISA, table of BLGP.
  const auto source = [](int lane, int blgp) {
    const int of_halves[] = {lane, lane & 31, lane | 32, (lane + 16) & 63};
    return blgp < 4 ? of_halves[blgp] : (lane & 15) + 16 * (blgp & 3);
  };
  for (const setting s :
       {setting{0, 0, 0}, {4, 9, 0}, {2, 3, 0}, {1, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {0, 0, 6}, {4, 15, 7}}) {
    now = s;
    REQUIRE(defects_of(parameters(64), [&] { hipLaunchKernelGGL(kernel, 1, 64, 0, nullptr); }).empty());
    for (int lane = 0; lane < 64; ++lane)
      for (int row = 0; row < 4; ++row) {
        const int group = 1 << s.cbsz, block = lane / 4 - lane / 4 % group + s.abid;
        int wanted = row + 1;
        for (int k = 0; k < 4; ++k) wanted += a[4 * block + row][k] * b[source(lane, s.blgp)][k];
        CHECK(got[lane][row] == static_cast<float>(wanted));
      }
  }
  now = {1, 2, 0};
  const launch_scope scope(parameters(64));
  CHECK_THROWS_AS(([&] { hipLaunchKernelGGL(kernel, 1, 64, 0, nullptr); })(), std::invalid_argument);
}

TEST_CASE("AMD's conversions to and from FP8, and to f16 towards zero", "[hip][amdgcn]") {
  // e4m3fnuz: 0x40 is 1, 0x48 is 2, 0xC0 is -1, 0x7F is 240; 0x80 is the NaN.
  const int word = 0x40C0487F;
  CHECK(__builtin_amdgcn_cvt_pk_f32_fp8(word, false)[0] == 240);
  CHECK(__builtin_amdgcn_cvt_pk_f32_fp8(word, false)[1] == 2);
  CHECK(__builtin_amdgcn_cvt_pk_f32_fp8(word, true)[0] == -1);
  CHECK(__builtin_amdgcn_cvt_pk_f32_fp8(word, true)[1] == 1);
  CHECK(__builtin_amdgcn_cvt_f32_fp8(word, 3) == 1);
  CHECK(std::isnan(__builtin_amdgcn_cvt_f32_fp8(0x80, 0)));
  CHECK(__builtin_amdgcn_cvt_pk_fp8_f32(2, 1, 0x12345678, false) == 0x12344048);
  CHECK(__builtin_amdgcn_cvt_pk_fp8_f32(2, 1, 0x12345678, true) == 0x40485678);
  CHECK(__builtin_amdgcn_cvt_pk_fp8_f32(1e6F, 0, 0, false) == 0x80);
  CHECK(__builtin_amdgcn_cvt_f32_bf8(__builtin_amdgcn_cvt_pk_bf8_f32(-3, 0.5F, 0, false), 0) == -3);
  const auto halves = __builtin_amdgcn_cvt_pkrtz(1 + 0x1.8p-11F, -65535.0F);
  CHECK(static_cast<float>(halves[0]) == 1);
  CHECK(static_cast<float>(halves[1]) == -65504);
  CHECK(std::isinf(static_cast<float>(__builtin_amdgcn_cvt_pkrtz(std::numeric_limits<float>::infinity(), 0)[0])));
}
