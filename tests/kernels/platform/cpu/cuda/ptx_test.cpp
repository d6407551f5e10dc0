/// PTX as functions, and CUDA's names, against plain arithmetic; and what the checker says of wrong uses.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "hip/small_floats.h"
#include "kernels/library_call.hpp"
#include "tests/kernels/platform/cpu/checking.hpp"
#include "tests/kernels/platform/cpu/cuda/warps.hpp"
#include "tests/source_place.hpp"

using namespace assay::cpu;
using warps::product;

namespace {

constexpr int tiles = 5;

std::string warps_line(std::string_view text) {
  return assay::testing::place_of(ASSAY_SOURCE_DIR "/tests/kernels/platform/cpu/cuda/warps.cu", text);
}

struct pipeline_run {
  std::array<float, 64 * tiles> in{}, out{};
  std::vector<seen_defect> seen;
  pipeline_run(const assay_launch& l, int flaw, void (*run)(float*, const float*, int, int) = warps::run_pipeline) {
    std::iota(in.begin(), in.end(), 0.0F);
    toy_tensor given("in", in.data(), {64 * tiles}, {1}, ASSAY_INPUT);
    toy_tensor result("out", out.data(), {64 * tiles}, {1}, ASSAY_OUTPUT);
    const std::array tensors{given.get(), result.get()};
    seen = checked_defects(l, tensors, [&] { run(out.data(), in.data(), tiles, flaw); });
  }
  bool is_right() const {
    for (int i = 0; i < 64 * tiles; ++i) {
      const int first = i / 64 * 64;  // of its tile
      if (!(out[static_cast<std::size_t>(i)] == static_cast<float>(first + 63 - i % 64 + 1))) return false;
    }
    return true;
  }
  bool says(int kind, const std::string& text) const {
    return std::any_of(seen.begin(), seen.end(),
                       [&](const seen_defect& d) { return d.kind == kind && mentions(d, text); });
  }
};

/// A warp's fragments by the tables of the PTX ISA, from matrices of small integers.
struct product_of_warp {
  bool is_long, is_bf16, has_pairs;
  int k_end;
  double a[16][16] = {}, b[16][8] = {}, c[16][8] = {};
  std::vector<std::uint32_t> registers;

  std::uint32_t code(double x) const {
    return is_bf16 ? narrowed_bf16(static_cast<float>(x)) : narrowed_f16(static_cast<float>(x));
  }
  explicit product_of_warp(product which)
      : is_long(which == product::k16_f16 || which == product::k16_bf16 || which == product::k16_f16_sums),
        is_bf16(which == product::k16_bf16 || which == product::k8_bf16),
        has_pairs(which == product::k16_f16_sums || which == product::k8_f16_sums),
        k_end(is_long ? 16 : 8) {
    std::mt19937 random(3);
    const auto draw = [&] { return static_cast<double>(random() % 9) - 4; };
    for (auto& row : a)
      for (double& x : row) x = draw();
    for (auto& row : b)
      for (double& x : row) x = draw();
    for (auto& row : c)
      for (double& x : row) x = draw();
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4, pair = 2 * (lane % 4);
      const auto push = [&](double low, double high) { registers.push_back(code(low) | code(high) << 16); };
      push(a[group][pair], a[group][pair + 1]);
      push(a[group + 8][pair], a[group + 8][pair + 1]);
      if (is_long) push(a[group][pair + 8], a[group][pair + 9]), push(a[group + 8][pair + 8], a[group + 8][pair + 9]);
      push(b[pair][group], b[pair + 1][group]);
      if (is_long) push(b[pair + 8][group], b[pair + 9][group]);
      for (const int row : {group, group + 8}) {
        if (has_pairs) {
          push(c[row][pair], c[row][pair + 1]);
        } else {
          registers.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(c[row][pair])));
          registers.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(c[row][pair + 1])));
        }
      }
    }
  }
  double wanted(int row, int column) const {
    double sum = c[row][column];
    for (int k = 0; k < k_end; ++k) sum += a[row][k] * b[k][column];
    return sum;
  }
  double got(const std::vector<std::uint32_t>& out, int row, int column) const {
    const int of_row = row % 8 * 4 + column / 2;
    const auto lane = static_cast<std::size_t>(of_row), half = static_cast<std::size_t>(row / 8);
    if (has_pairs) return widened_f16(out[lane * 2 + half] >> (16 * (column % 2)) & 0xFFFF);
    return std::bit_cast<float>(out[lane * 4 + half * 2 + static_cast<std::size_t>(column % 2)]);
  }
};

}  // namespace

TEST_CASE("Asynchronous copies arrive at the wait for their group", "[cuda][ptx]") {
  for (const assay_launch& l : all_checked_launches()) {
    INFO(name(l));
    const pipeline_run run(l, 0);
    CHECK(run.seen.empty());
    CHECK(run.is_right());
  }
}

TEST_CASE("A missing wait shows, and missing barriers are races, at the lines of the copy and the load",
          "[cuda][ptx]") {
  for (const assay_launch& l : all_checked_launches()) {
    INFO(name(l));
    const pipeline_run hasty(l, 1), early(l, 2), late(l, 3);
    CHECK_FALSE(hasty.is_right());
    CHECK(hasty.says(ASSAY_DATA_RACE, "while an asynchronous copy of thread"));
    CHECK(early.says(ASSAY_DATA_RACE, "tile"));
    CHECK(early.says(ASSAY_DATA_RACE, warps_line("= 1 + tile[")));
    CHECK(late.says(ASSAY_DATA_RACE, warps_line("cp_async<4>(")));
  }
}

TEST_CASE("A copy of fewer bytes fills with zeros, and reads no more", "[cuda][ptx]") {
  std::array<float, 4> in{1, 2, 3, 4}, out{};
  for (const int count : {0, 1, 3, 4}) {
    toy_tensor given("in", in.data(), {count}, {1}, ASSAY_INPUT), result("out", out.data(), {4}, {1}, ASSAY_OUTPUT);
    const std::array tensors{given.get(), result.get()};
    CHECK(checked_defects(parameters(32), tensors, [&] {
            warps::run_partial(out.data(), in.data(), 4 * count);
          }).empty());
    for (int i = 0; i < 4; ++i) CHECK(out[static_cast<std::size_t>(i)] == (i < count ? static_cast<float>(i + 1) : 0));
    if (count == 4 || count == 0) continue;
    const auto over =
        checked_defects(parameters(32), tensors, [&] { warps::run_partial(out.data(), in.data(), 4 * count + 4); });
    REQUIRE(!over.empty());
    CHECK(over[0].kind == ASSAY_OUT_OF_BOUNDS);
    CHECK(mentions(over[0], warps_line("cp_async<16>(")));
  }
}

TEST_CASE("ldmatrix gives each lane its pairs, of rows or of columns", "[cuda][ptx]") {
  std::array<std::uint16_t, 256> in{};
  std::iota(in.begin(), in.end(), std::uint16_t{0});
  std::array<std::uint32_t, 128> out{};
  toy_tensor given("in", in.data(), {256}, {1}, ASSAY_INPUT), result("out", out.data(), {128}, {1}, ASSAY_OUTPUT);
  const std::array tensors{given.get(), result.get()};
  for (const bool transposed : {false, true}) {
    CHECK(checked_defects(parameters(64), tensors, [&] {
            warps::run_ldmatrix(out.data(), in.data(), transposed, 0);
          }).empty());
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int e = 0; e < 2; ++e) {
          const int outer = lane / 4, inner = 2 * (lane % 4) + e;
          const int row = matrix % 2 * 8 + (transposed ? inner : outer);
          const int column = matrix / 2 * 8 + (transposed ? outer : inner);
          CHECK((out[static_cast<std::size_t>(4 * lane + matrix)] >> (16 * e) & 0xFFFF) ==
                in[static_cast<std::size_t>(16 * row + column)]);
        }
  }
#if !ASSAY_ASAN  // UBSan's own runtime would end the program there
  const auto off =
      checked_defects(parameters(32), tensors, [&] { warps::run_ldmatrix(out.data(), in.data(), false, 4); });
  REQUIRE(!off.empty());
  CHECK(off[0].kind == ASSAY_MISALIGNED);
#endif
}

TEST_CASE("mma.sync gives the product of the fragments that the PTX ISA describes", "[cuda][ptx]") {
  for (const product which : {product::k16_f16, product::k16_bf16, product::k8_f16, product::k8_bf16,
                              product::k16_f16_sums, product::k8_f16_sums}) {
    INFO("product " << static_cast<int>(which));
    product_of_warp p(which);
    std::vector<std::uint32_t> out(128);
    REQUIRE(defects_of(parameters(64), [&] { warps::run_product(which, out.data(), p.registers.data()); }).empty());
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) CHECK(p.got(out, row, column) == p.wanted(row, column));
  }
}

TEST_CASE("CUDA's names of the host, a constant warpSize, and more than 64 KiB of shared memory in a call", "[cuda]") {
  std::array<int, 32> out{};
  assay_launch l = parameters(64);
  std::int64_t accesses = 0;
  std::vector<seen_defect> seen;
  l.context = &seen, l.on_defect = &collect, l.checked = 1, l.accesses_checked = &accesses;
  toy_tensor result("out", out.data(), {32}, {1}, ASSAY_OUTPUT);
  const std::array tensors{result.get()};
  const assay_call call{sizeof(assay_call), &l, tensors.data(), 1, nullptr};
  void* const begun = assay_begin_call_v1(&call);
  REQUIRE(begun != nullptr);
  CHECK(warps::run_names(out.data()));
  assay_end_call_v1(begun);
  CHECK(seen.empty());
  CHECK(accesses > 0);
  for (const int x : out) CHECK(x == 32 + 3 + 32);
}

TEST_CASE("PTX in inline assembly does the same", "[cuda][ptx]") {
  for (const assay_launch& l : all_checked_launches()) {
    INFO(name(l));
    for (const int flaw : {0, 1}) {
      const pipeline_run run(l, flaw, warps::run_written_pipeline);
      CHECK(run.seen.empty() == (flaw == 0));
      CHECK(run.is_right() == (flaw == 0));
    }
  }
  for (const product which : {product::k16_f16, product::k16_f16_sums}) {
    product_of_warp p(which);
    std::vector<std::uint32_t> out(128);
    REQUIRE(
        defects_of(parameters(64), [&] { warps::run_written_product(which, out.data(), p.registers.data()); }).empty());
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) CHECK(p.got(out, row, column) == p.wanted(row, column));
  }
  std::array<std::uint16_t, 256> codes{};
  std::iota(codes.begin(), codes.end(), std::uint16_t{0});
  toy_tensor given("in", codes.data(), {256}, {1}, ASSAY_INPUT);
  for (const bool transposed : {false, true}) {
    alignas(16) std::array<std::uint32_t, 128> written{}, called{};
    warps::run_ldmatrix(called.data(), codes.data(), transposed, 0);
    toy_tensor result("out", written.data(), {128}, {1}, ASSAY_OUTPUT);
    const std::array tensors{given.get(), result.get()};
    CHECK(checked_defects(parameters(32), tensors, [&] {
            warps::run_written_ldmatrix(written.data(), codes.data(), transposed);
          }).empty());
    CHECK(written == called);
#if !ASSAY_ASAN  // threads that a defect ends leave what they had allocated
    toy_tensor shorter("out", written.data(), {100}, {1}, ASSAY_OUTPUT);
    const std::array fewer{given.get(), shorter.get()};
    const auto over = checked_defects(parameters(32), fewer,
                                      [&] { warps::run_written_ldmatrix(written.data(), codes.data(), transposed); });
    REQUIRE(!over.empty());
    CHECK(over[0].kind == ASSAY_OUT_OF_BOUNDS);
    CHECK(mentions(over[0], "out of shape [100]"));
    CHECK(mentions(over[0], "warps.cu:"));
#endif
  }
}

TEST_CASE("Smaller instructions in inline assembly, and one that is not known", "[cuda][ptx]") {
  std::array<float, 33> in{};
  std::array<float, 32> out{};
  for (int i = 0; i < 33; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 - 3);
  toy_tensor given("in", in.data(), {33}, {1}, ASSAY_INPUT), result("out", out.data(), {32}, {1}, ASSAY_OUTPUT);
  const std::array tensors{given.get(), result.get()};
  CHECK(checked_defects(parameters(32), tensors, [&] { warps::run_written_functions(out.data(), in.data()); }).empty());
  for (int i = 0; i < 32; ++i)
    CHECK(out[static_cast<std::size_t>(i)] == 100 + std::exp2(-in[static_cast<std::size_t>((i ^ 4) + 1)]));
  const launch_scope scope(parameters(32));
  CHECK_THROWS_WITH(warps::run_unknown(),
                    "inline assembly 'wgmma.fence.sync.aligned' is not known on the cpu platform");
}

TEST_CASE("Arithmetic of f16 in inline assembly", "[cuda][ptx]") {
  std::array<std::uint32_t, 32> in{}, out{};
  for (unsigned int i = 0; i < 32; ++i)
    in[i] = narrowed_f16(static_cast<float>(2 * i)) | narrowed_f16(static_cast<float>(i % 5)) << 16;
  toy_tensor given("in", reinterpret_cast<float*>(in.data()), {32}, {1}, ASSAY_INPUT);
  toy_tensor result("out", reinterpret_cast<float*>(out.data()), {32}, {1}, ASSAY_OUTPUT);
  const std::array tensors{given.get(), result.get()};
  CHECK(checked_defects(parameters(32), tensors, [&] { warps::run_written_halves(out.data(), in.data()); }).empty());
  for (unsigned int i = 0; i < 32; ++i) {
    const auto high = static_cast<float>(2 * (i % 5) + 1);
    const unsigned int wanted = narrowed_f16(static_cast<float>(i * i) + high * high);
    CHECK(out[i] == (wanted | wanted << 16));
  }
}

TEST_CASE("A kernel of a programmatic launch of sm_90 waits for the one before it", "[cuda][launches]") {
  const auto seen_of = [](bool waits, bool is_of_sm_90) {
    std::array<float, 32> out{};
    toy_tensor result("out", out.data(), {32}, {1}, ASSAY_OUTPUT);
    const std::array tensors{result.get()};
    std::vector<seen_defect> seen =
        checked_defects(all_launches().front(), tensors, [&] { warps::run_early(out.data(), waits, is_of_sm_90); });
    CHECK(out[31] == 2);
    return seen;
  };
  CHECK(seen_of(true, true).empty());
  CHECK(seen_of(false, false).empty());  // sources that are compiled for no device have no wait
  const std::vector<seen_defect> lacks = seen_of(false, true);
  REQUIRE_FALSE(lacks.empty());
  CHECK(lacks.front().kind == ASSAY_DATA_RACE);
  CHECK(mentions(lacks.front(), "race on out[0]: load of 4 bytes (warps.cu:"));
}
