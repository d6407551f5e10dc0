// Products of warpgroups on the executor, checked: values against plain loops, and what a kernel may not do while they
// are under way.
#include "kernels/device/warpgroup.hpp"

#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cmath>
#include <cstdint>
#include <source_location>
#include <vector>

#include "hip/assembly.h"
#include "kernels/device/convert.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"

namespace device = assay::device;

namespace {

constexpr int rows = 64, depth = 64, few = 16, many = 128, read_columns = 72, steps = depth / device::atom_depth;
constexpr int strip_bytes = rows * device::swizzled_run_bytes;
constexpr int b_at = strip_bytes, v_at = b_at + few * device::swizzled_run_bytes, lds_bytes = v_at + 2 * strip_bytes;

// Whole numbers, so that sums are exact.
constexpr float a_of(int row, int k) {
  return static_cast<float>((5 * row + 3 * k) % 17 - 8);
}
constexpr float b_of(int k, int column) {
  return static_cast<float>((7 * k + 11 * column) % 13 - 6);
}
constexpr float v_of(int k, int column) {
  return static_cast<float>((3 * k + 5 * column) % 11 - 5);
}

enum class flaw : std::uint8_t {
  none,
  early_use,      ///< sums are read before the wait
  newest_used,    ///< of two groups the newer one's sums are read when the older one is there
  touched_sums,   ///< sums are written before the wait
  touched_a,      ///< A in registers is written before the wait
  touched_b,      ///< B is written before the wait
  same_b,         ///< as well, what it was before
  other_lanes,    ///< some lanes have a product more
  no_fence,       ///< a product without start_warpgroup()
  misplaced_b,    ///< B's rows begin within a group of eight
  unwritten_b,    ///< B was never written
  unpublished,    ///< no thread's stores are published to the unit
  late_publish,   ///< by the thread that stored, after the barrier
  stores_behind,  ///< the last of them are behind the fence
  by_readers,     ///< no flaw: after the barrier, by the threads that multiply
  by_assembly,    ///< no flaw: by PTX
  elected,        ///< no flaw: by a lane that met the others of its wave
  between,        ///< no flaw: by the thread that stored none of it, between two barriers
  lacking_lanes,  ///< some lanes do not wait
};

template <class T>
__device__ void fill(const device::swizzled_strips& to, int count, int columns, float (*value)(int, int)) {
  for (int at = static_cast<int>(threadIdx.x); at < count * columns; at += 128)
    *reinterpret_cast<T*>(to.at(at / columns, at % columns * 2)) =
        device::from_float<T>(value(at / columns, at % columns));
}

/// A's share of the calling lane.
template <class T>
__device__ device::group_operand<T> operand_of(int step) {
  const int wave = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  device::group_operand<T> a;
  for (int word = 0; word < 4; ++word) {
    const int row = 16 * wave + lane / 4 + 8 * (word % 2), k = 16 * step + lane % 4 * 2 + 8 * (word / 2);
    a.word[word] = device::round_pair<T>(a_of(row, k), a_of(row, k + 1));
  }
  return a;
}
__device__ void store_sums(const device::group_sums* sums, float* to, int columns) {
  for (int atom = 0; atom < columns / 8; ++atom)
    for (int i = 0; i < 4; ++i)
      to[(static_cast<int>(threadIdx.x) / 32 * 16 + device::group_row(i)) * columns + 8 * atom +
         device::group_column(i)] = sums[atom].value[i];
}

__device__ void publish_of_wave() {
  assay::platform::wave_fence();
  if (threadIdx.x % 32 == 0) assay::platform::publish_lds();
}

/// The barrier between the stores to LDS and the products, with the fence for the unit.
__device__ void publish(flaw planted, const device::swizzled_strips& b) {
  using assay::platform::publish_lds;
  if (planted == flaw::between || planted == flaw::by_readers || planted == flaw::late_publish) __syncthreads();
  const int publishing = planted == flaw::between ? 1 : 128;
  if (planted == flaw::by_assembly)
    assay::cpu::run_assembly("fence.proxy.async.shared::cta;", std::source_location::current(), {});
  else if (planted == flaw::elected)
    publish_of_wave();
  else if (planted != flaw::unpublished && planted != flaw::late_publish && static_cast<int>(threadIdx.x) < publishing)
    publish_lds();
  if (planted == flaw::stores_behind && threadIdx.x == 0) {
    auto* const last = reinterpret_cast<volatile std::uint16_t*>(b.at(0, 0));
    *last = *last;
  }
  if (planted != flaw::by_readers && planted != flaw::late_publish) __syncthreads();
  if (planted == flaw::late_publish && threadIdx.x >= 32) publish_lds();  // B's first rows are the first wave's
}

/// S = A B with A in LDS, and O = A V with A in registers.
template <class T>
__global__ void multiply(float* s_out, float* o_out, flaw planted) {
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);
  const device::swizzled_strips a{lds, strip_bytes}, b{lds + b_at, strip_bytes}, v{lds + v_at, strip_bytes};
  fill<T>(a, rows, depth, a_of);
  if (planted != flaw::unwritten_b) fill<T>(b, few, depth, [](int column, int k) { return b_of(k, column); });
  fill<T>(v, depth, read_columns, v_of);
  publish(planted, b);
  const int wave = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  device::group_operand<T> p[steps];
  for (int step = 0; step < steps; ++step) p[step] = operand_of<T>(step);
  device::group_sums s[few / device::group_columns], o[many / device::group_columns];
  if (planted != flaw::no_fence) device::start_warpgroup();
  const device::lds_operand of_a = device::operand_by_rows(a.base);
  const device::lds_operand of_b = device::operand_by_rows(b.base + (planted == flaw::misplaced_b ? 128 : 0));
  device::begin_product(s, T{}, of_a, of_b);
  for (int step = 1; step < steps; ++step) device::add_product(s, T{}, of_a + 32 * step, of_b + 32 * step);
  if (planted == flaw::other_lanes && lane > 20) device::add_product(s, T{}, of_a, of_b);
  device::commit_warpgroup();
  const device::lds_operand of_v = device::operand_by_columns(v.base, v.strip_bytes);
  for (int step = 0; step < steps; ++step)
    device::add_by_columns(o, p[step], of_v + step * device::atom_depth * device::swizzled_run_bytes, read_columns);
  device::commit_warpgroup();

  if (planted == flaw::early_use) return store_sums(s, s_out, few), store_sums(o, o_out, many);
  if (planted == flaw::touched_sums) s[1].value[2] = 1;
  if (planted == flaw::touched_a) p[2].word[0] ^= 0x8000U;
  assay::platform::wave_fence();  // all lanes have begun
  if (planted == flaw::touched_b) *reinterpret_cast<T*>(b.at(wave, 0)) = device::from_float<T>(9);
  if (planted == flaw::same_b && lane == 0)
    *reinterpret_cast<T*>(b.at(4 + wave, 0)) = device::from_float<T>(b_of(0, 4 + wave));
  if (planted == flaw::lacking_lanes && lane > 20) return;
  device::wait_for_warpgroup<1>(s);
  store_sums(s, s_out, few);
  if (planted == flaw::newest_used) return store_sums(o, o_out, many);
  device::wait_for_warpgroup(o);
  store_sums(o, o_out, many);
}

/// S = A B with A in registers, of half of B's columns: the others were never written.
__global__ void multiply_half(float* s_out) {
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);
  constexpr int read = few / 2;
  fill<device::f16>({lds, strip_bytes}, read, depth, [](int column, int k) { return b_of(k, column); });
  publish(flaw::none, {lds, strip_bytes});
  const device::lds_operand b = device::operand_by_rows(lds);
  device::group_operand<device::f16> a[steps];
  for (int step = 0; step < steps; ++step) a[step] = operand_of<device::f16>(step);
  device::group_sums s[few / device::group_columns];
  device::start_warpgroup();
  device::begin_product(s, a[0], b, read);
  for (int step = 1; step < steps; ++step) device::add_product(s, a[step], b + 32 * step, read);
  device::commit_warpgroup();
  device::wait_for_warpgroup(s);
  store_sums(s, s_out, few);
}

/// S = A B of FP8, with A in LDS and in registers: rows of 64 codes, two steps.
__global__ void multiply_codes(float* in_lds, float* in_registers) {
  using device::e4m3fn;
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);
  const device::swizzled_strips a{lds, strip_bytes}, b{lds + b_at, strip_bytes};
  const int thread = static_cast<int>(threadIdx.x), wave = thread / 32, lane = thread % 32;
  for (int at = thread; at < (rows + few) * depth; at += 128) {
    const int row = at / depth, k = at % depth;
    const bool is_a = row < rows;
    *reinterpret_cast<e4m3fn*>(is_a ? a.at(row, k) : b.at(row - rows, k)) =
        device::from_float<e4m3fn>(is_a ? a_of(row, k) : b_of(k, row - rows));
  }
  publish(flaw::none, b);

  constexpr int step_depth = device::group_reduction_bytes, code_steps = depth / step_depth;
  device::group_operand<e4m3fn> held[code_steps];
  for (int step = 0; step < code_steps; ++step)
    for (int word = 0; word < 4; ++word) {
      held[step].word[word] = 0;
      const int row = 16 * wave + lane / 4 + 8 * (word % 2), k = step_depth * step + lane % 4 * 4 + 16 * (word / 2);
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t code = device::from_float<e4m3fn>(a_of(row, k + i)).bits;
        held[step].word[word] |= code << (8 * i);
      }
    }
  device::group_sums of_lds[few / device::group_columns], of_registers[few / device::group_columns];
  const device::lds_operand of_a = device::operand_by_rows(a.base), of_b = device::operand_by_rows(b.base);
  device::start_warpgroup();
  device::begin_product(of_lds, e4m3fn{}, of_a, of_b);
  device::begin_product(of_registers, held[0], of_b, few);
  for (int step = 1; step < code_steps; ++step) {
    const int at = step * device::group_reduction_bytes;
    device::add_product(of_lds, e4m3fn{}, of_a + at, of_b + at);
    device::add_product(of_registers, held[step], of_b + at, few);
  }
  device::commit_warpgroup();
  device::wait_for_warpgroup(of_lds);
  device::wait_for_warpgroup(of_registers);
  store_sums(of_lds, in_lds, few);
  store_sums(of_registers, in_registers, few);
}

struct outcome {
  std::vector<float> s = std::vector<float>(rows * few, 77), o = std::vector<float>(rows * many, 77);
  std::vector<assay::cpu::seen_defect> seen;

  /// Results that are not what plain loops say; those that are NaN.
  int wrong_s = 0, wrong_o = 0, nan_s = 0, nan_o = 0;
};

/// Of the first `read` columns of `columns`.
void count_wrong(const std::vector<float>& got, int columns, int read, float (*b)(int, int), int& wrong, int& nan) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < read; ++column) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += a_of(row, k) * b(k, column);
      const float x =
          got[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
      wrong += x == sum ? 0 : 1;
      nan += std::isnan(x) ? 1 : 0;
    }
}
assay::cpu::toy_tensor values(const char* name, std::vector<float>& of_name) {
  return assay::cpu::toy_tensor(name, of_name.data(), {std::ssize(of_name)}, {1}, ASSAY_OUTPUT);
}

template <class T>
outcome run(const assay_launch& l, flaw planted) {
  outcome of;
  auto s = values("s", of.s), o = values("o", of.o);
  const std::array tensors{s.get(), o.get()};
  auto* const kernel = multiply<T>;
  of.seen = assay::cpu::checked_defects(l, tensors, [&] {
    hipLaunchKernelGGL(kernel, dim3(1), dim3(128), lds_bytes, nullptr, of.s.data(), of.o.data(), planted);
  });
  count_wrong(of.s, few, few, b_of, of.wrong_s, of.nan_s);
  count_wrong(of.o, many, read_columns, v_of, of.wrong_o, of.nan_o);
  return of;
}

std::vector<assay_launch> launches(int wave_size) {
  std::vector<assay_launch> all = assay::cpu::all_launches();
  std::erase_if(all, [&](const assay_launch& l) { return l.wave_size != wave_size; });
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("a warpgroup's products are the plain ones, and columns that are not read become NaN", "[warpgroup]",
                   device::f16, device::bf16) {
  for (const assay_launch& l : launches(32)) {
    INFO(assay::cpu::name(l));
    const outcome of = run<TestType>(l, flaw::none);
    CHECK(of.seen.empty());
    CHECK((of.wrong_s == 0 && of.wrong_o == 0));
    CHECK(std::isnan(of.o[read_columns]));
    CHECK(std::isnan(of.o[many - 1]));
  }
}

TEST_CASE("a warpgroup multiplies FP8 as it is, 32 of a row at once", "[warpgroup]") {
  for (const assay_launch& l : launches(32)) {
    INFO(assay::cpu::name(l));
    outcome of;
    std::vector<float> of_registers(of.s.size(), 77);
    auto s = values("s", of.s), other = values("other", of_registers);
    const std::array tensors{s.get(), other.get()};
    of.seen = assay::cpu::checked_defects(l, tensors, [&] {
      hipLaunchKernelGGL(multiply_codes, dim3(1), dim3(128), v_at, nullptr, of.s.data(), of_registers.data());
    });
    CHECK(of.seen.empty());
    count_wrong(of.s, few, few, b_of, of.wrong_s, of.nan_s);
    count_wrong(of_registers, few, few, b_of, of.wrong_o, of.nan_o);
    CHECK((of.wrong_s == 0 && of.wrong_o == 0));
  }
}

TEST_CASE("of columns that a warpgroup does not multiply nothing is read, and their sums are NaN", "[warpgroup]") {
  for (const assay_launch& l : launches(32)) {
    INFO(assay::cpu::name(l));
    outcome of;
    auto s = values("s", of.s);
    const std::array tensors{s.get()};
    of.seen = assay::cpu::checked_defects(l, tensors, [&] {
      hipLaunchKernelGGL(multiply_half, dim3(1), dim3(128), few * device::swizzled_run_bytes, nullptr, of.s.data());
    });
    CHECK(of.seen.empty());
    count_wrong(of.s, few, few, b_of, of.wrong_s, of.nan_s);
    CHECK((of.wrong_s == rows * few / 2 && of.nan_s == rows * few / 2));
  }
}

TEST_CASE("sums of a warpgroup's products are NaN until the wait for their group", "[warpgroup]") {
  for (const assay_launch& l : launches(32)) {
    INFO(assay::cpu::name(l));
    const outcome early = run<device::f16>(l, flaw::early_use);
    CHECK((early.nan_s == rows * few && early.nan_o == rows * read_columns));
    const outcome newest = run<device::f16>(l, flaw::newest_used);
    CHECK((newest.wrong_s == 0 && newest.nan_o == rows * read_columns));
    const outcome lacking = run<device::f16>(l, flaw::lacking_lanes);
    CHECK(lacking.wrong_s == rows * few);
  }
}

TEST_CASE("what a warpgroup's products work on may not be touched until the wait", "[warpgroup]") {
  for (const assay_launch& l : launches(32)) {
    INFO(assay::cpu::name(l));
    CHECK_THROWS_WITH(run<device::f16>(l, flaw::touched_sums),
                      "wgmma: sums were written while a product was under way");
    for (const flaw planted : {flaw::touched_a, flaw::touched_b})
      CHECK_THROWS_WITH(run<device::f16>(l, planted), "wgmma: operands were written while a product was under way");
    const outcome b = run<device::f16>(l, flaw::same_b);
    REQUIRE(!b.seen.empty());
    CHECK(mentions(b.seen.front(), "race on LDS"));
    const outcome unwritten = run<device::f16>(l, flaw::unwritten_b);
    REQUIRE(!unwritten.seen.empty());
    CHECK(mentions(unwritten.seen.front(), "which no thread has written"));
  }
}

TEST_CASE("stores are published to a warpgroup's unit by a fence between them and its reads", "[warpgroup]") {
  for (const assay_launch& l : launches(32)) {
    INFO(assay::cpu::name(l));
    for (const flaw planted : {flaw::by_readers, flaw::by_assembly, flaw::elected, flaw::between}) {
      const outcome of = run<device::f16>(l, planted);
      INFO((of.seen.empty() ? "" : of.seen.front().message));
      CHECK(of.seen.empty());
      CHECK((of.wrong_s == 0 && of.wrong_o == 0));
    }
    for (const flaw planted : {flaw::unpublished, flaw::late_publish, flaw::stores_behind}) {
      INFO("flaw " << static_cast<int>(planted));
      const outcome of = run<device::f16>(l, planted);
      REQUIRE(!of.seen.empty());
      for (const assay::cpu::seen_defect& d : of.seen) {
        INFO(d.message);
        CHECK(d.kind == ASSAY_DATA_RACE);
        CHECK(mentions(d, "load of 16 bytes (cpu_warpgroup.hpp:"));
        CHECK(mentions(d, "from warpgroup_test.cpp:"));
        CHECK(mentions(d, "by a matrix unit and store by thread"));
        CHECK(mentions(d, "with no fence between them that publishes it to such units"));
      }
    }
  }
}

TEST_CASE("a warpgroup's products are refused where a unit cannot compute them", "[warpgroup]") {
  CHECK_THROWS_WITH(run<device::f16>(launches(64).front(), flaw::none),
                    "wgmma needs warpgroups: four waves of 32 lanes");
  const assay_launch l = launches(32).front();
  CHECK_THROWS_WITH(run<device::f16>(l, flaw::other_lanes), "wgmma: the lanes of a wave wait for different products");
  CHECK_THROWS_WITH(run<device::f16>(l, flaw::no_fence), "wgmma: a product without a fence since the last wait");
  CHECK_THROWS_WITH(run<device::f16>(l, flaw::misplaced_b),
                    "wgmma: an operand does not begin at a group of eight rows in LDS");
}
