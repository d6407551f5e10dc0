/// Raw buffer loads and stores: bounds by dword, checked where in bounds; loads into the LDS.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <numeric>

#include "tests/kernels/platform/cpu/checking.hpp"
#include "tests/kernels/platform/cpu/hip/buffers.hpp"
#include "tests/source_place.hpp"

using namespace assay::cpu;

namespace {

constexpr int elements = 256;

struct two_tensors {
  std::array<float, elements> in{}, out{};
  toy_tensor given{"in", in.data(), {elements}, {1}, ASSAY_INPUT};
  toy_tensor result{"out", out.data(), {elements}, {1}, ASSAY_OUTPUT};
  std::array<assay_tensor, 2> tensors{given.get(), result.get()};
  two_tensors() { std::iota(in.begin(), in.end(), 1.0F); }
};

std::string buffers_line(std::string_view text) {
  return assay::testing::place_of(ASSAY_SOURCE_DIR "/tests/kernels/platform/cpu/hip/buffers.hip", text);
}

bool any_is(const std::vector<seen_defect>& seen, int kind, const std::string& text) {
  return std::any_of(seen.begin(), seen.end(),
                     [&](const seen_defect& d) { return d.kind == kind && mentions(d, text); });
}

}  // namespace

TEST_CASE("Buffer loads of each width give zeros past the end, dword by dword", "[hip][amdgcn][buffers]") {
  for (const int width : {1, 2, 4, 8, 12, 16})
    for (const int num_bytes : {1024, 1000, 16, 8, 4, 0}) {
      INFO("loads of " << width << " bytes, " << num_bytes << " in bounds");
      two_tensors t;
      t.out.fill(-1);
      const auto seen = checked_defects(parameters(64), t.tensors,
                                        [&] { buffers::run_copy(width, t.out.data(), t.in.data(), num_bytes); });
      CHECK(seen.empty());
      for (int i = 0; i < elements; ++i) {
        if (width == 12 && i % 4 == 3) continue;  // is not copied
        const float wanted = 4 * i + 4 <= num_bytes ? t.in[static_cast<std::size_t>(i)] : 0.0F;
        CHECK(t.out[static_cast<std::size_t>(i)] == wanted);
      }
    }
}

TEST_CASE("Buffer stores past the end do nothing", "[hip][amdgcn][buffers]") {
  two_tensors t;
  CHECK(checked_defects(parameters(64), t.tensors, [&] { buffers::run_store(t.out.data(), 40 * 4); }).empty());
  for (int i = 0; i < elements; ++i) CHECK(t.out[static_cast<std::size_t>(i)] == (i < 40 ? 1.0F : 0.0F));
}

TEST_CASE("A resource that says more bytes than the tensor has is reported", "[hip][amdgcn][buffers]") {
  two_tensors t;
  toy_tensor fewer("in", t.in.data(), {100}, {1}, ASSAY_INPUT);
  t.tensors[0] = fewer.get();
#if !ASSAY_ASAN  // which takes the calls by which copies of 16 bytes are seen
  const auto direct =
      checked_defects(parameters(64), t.tensors, [&] { buffers::run_copy(16, t.out.data(), t.in.data(), 1024); });
  CHECK(any_is(direct, ASSAY_OUT_OF_BOUNDS, "in of shape [100]"));
  CHECK(any_is(direct, ASSAY_OUT_OF_BOUNDS, buffers_line("buffer_store_b128(")));
#endif
  const auto labelled =
      checked_defects(parameters(64), t.tensors, [&] { buffers::run_labelled(t.out.data(), t.in.data(), 1024); });
  CHECK(any_is(labelled, ASSAY_OUT_OF_BOUNDS, "in of shape [100]"));
  CHECK(any_is(labelled, ASSAY_OUT_OF_BOUNDS, buffers_line("moved = llvm")));
  const auto stored = checked_defects(parameters(64), t.tensors,
                                      [&] { buffers::run_copy(4, const_cast<float*>(t.in.data()), t.in.data(), 64); });
  CHECK(any_is(stored, ASSAY_INPUT_STORE, "in["));
}

TEST_CASE("Functions with the labels of LLVM's intrinsics do the same", "[hip][amdgcn][buffers]") {
  two_tensors t;
  CHECK(checked_defects(parameters(64), t.tensors, [&] {
          buffers::run_labelled(t.out.data(), t.in.data(), 24);
        }).empty());
  for (int i = 0; i < elements; ++i)
    CHECK(t.out[static_cast<std::size_t>(i)] == (i < 6 ? static_cast<float>(i + 1) : 0.0F));
}

TEST_CASE("Loads into the LDS go to the wave's lanes in order, and race without a barrier", "[hip][amdgcn][buffers]") {
  for (const bool by_buffer : {false, true})
    for (const assay_launch& l : all_checked_launches()) {
      INFO(name(l) << ", by buffer: " << by_buffer);
      two_tensors t;
      CHECK(checked_defects(l, t.tensors, [&] {
              buffers::run_through_lds(t.out.data(), t.in.data(), by_buffer, false);
            }).empty());
      for (int i = 0; i < 128; ++i) {
        const float wanted = by_buffer && 127 - i >= 100 ? 0.0F : static_cast<float>(128 - i);
        CHECK(t.out[static_cast<std::size_t>(i)] == wanted);
      }
      const auto raced =
          checked_defects(l, t.tensors, [&] { buffers::run_through_lds(t.out.data(), t.in.data(), by_buffer, true); });
      CHECK((any_is(raced, ASSAY_DATA_RACE, "part byte") || any_is(raced, ASSAY_UNWRITTEN_READ, "part byte")));
    }
}

TEST_CASE("What a checked kernel must not ask for is named, and is no access of its own", "[hip][amdgcn]") {
  two_tensors t;
  CHECK_THROWS_WITH(checked_defects(parameters(32), t.tensors, [&] { buffers::run_mfma(t.out.data()); }),
                    "__builtin_amdgcn_mfma_f32_4x4x1f32 needs waves of 64 lanes");
}
