/// Arithmetic of 16 bits in inline assembly, against exact results rounded once.
#include "hip/assembly_arithmetic.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>

#include "hip/small_floats.h"

using namespace assay::cpu;

namespace {

/// Sums and products of f16 are exact in f64. Those of bf16 may not be, but their magnitudes here are alike.
unsigned int wanted(const std::string& name, const float_format& f, std::array<unsigned int, 3> codes) {
  const double a = decoded(f, codes[0]), b = decoded(f, codes[1]), c = decoded(f, codes[2]);
  if (name == "add") return encoded(f, a + b, false);
  if (name == "sub") return encoded(f, a - b, false);
  if (name == "mul") return encoded(f, a * b, false);
  if (name == "min") return encoded(f, std::fmin(a, b), false);
  if (name == "max") return encoded(f, std::fmax(a, b), false);
  return encoded(f, fma_to_odd(a, b, c), false);
}

}  // namespace

TEST_CASE("Arithmetic of 16 bits in inline assembly rounds once, alone and in pairs", "[hip][assembly]") {
  std::mt19937 random(5);
  for (const bool is_bf16 : {false, true}) {
    const float_format f = is_bf16 ? bf16_format : f16_format;
    const unsigned int one = is_bf16 ? 0x3F80 : 0x3C00, spread = is_bf16 ? 0x3FF : 0x3FFF;
    for (const std::string name : {"add", "sub", "mul", "min", "max", "fma"}) {
      const std::string type = is_bf16 ? "bf16" : "f16",
                        ptx = fmt::format("{}.{}", name == "fma" ? "fma.rn" : name, type);
      const auto alone = half_instruction_of(ptx), pairs = half_instruction_of(ptx + "x2");
      REQUIRE((alone && pairs));
      REQUIRE(alone->operands == (name == "fma" ? 3 : 2));
      for (int i = 0; i < 2000; ++i) {
        std::array<unsigned int, 3> low{}, high{};
        std::array<std::uint64_t, 3> words{};
        for (std::size_t n = 0; n < 3; ++n) {
          low[n] = static_cast<std::uint32_t>((one - spread / 2 + random() % spread) | (random() % 2) << 15);
          high[n] = static_cast<std::uint32_t>((one - spread / 2 + random() % spread) | (random() % 2) << 15);
          words[n] = low[n] | high[n] << 16;
        }
        INFO(ptx << " of " << words[0] << ", " << words[1] << ", " << words[2]);
        CHECK(compute(*alone, words) == wanted(name, f, low));
        CHECK(compute(*pairs, words) == (wanted(name, f, low) | wanted(name, f, high) << 16));
      }
    }
  }
}

TEST_CASE("AMD's names of the same, conversions, and what is not known", "[hip][assembly]") {
  const std::array<std::uint64_t, 3> words{0x3C00'4000, 0x4200'3800, 0};
  for (const char* name : {"v_add_f16", "v_pk_add_f16", "add.f16", "add.rn.f16x2"}) {
    INFO(name);
    REQUIRE(half_instruction_of(name));
    CHECK((compute(*half_instruction_of(name), words) & 0xFFFF) == 0x4100);  // 2 + 0.5
  }
  CHECK(compute(*half_instruction_of("v_pk_add_f16"), words) >> 16 == 0x4400);  // 1 + 3
  const std::array<std::uint64_t, 1> number{std::bit_cast<std::uint32_t>(1.5F)}, code{0x3E00};
  for (const char* name : {"cvt.rn.f16.f32", "v_cvt_f16_f32"})
    CHECK(compute(*half_instruction_of(name), number) == 0x3E00);
  for (const char* name : {"cvt.f32.f16", "v_cvt_f32_f16"})
    CHECK(compute(*half_instruction_of(name), code) == number[0]);
  for (const char* name : {"add.f32", "v_add_f32", "add.sat.f16", "v_pk_add_u16", "fmax", "add", ""}) {
    INFO(name);
    CHECK(!half_instruction_of(name));
  }
}
