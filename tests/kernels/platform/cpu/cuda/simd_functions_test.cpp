/// Words of two and four small numbers, as CUDA's manual says them.
#include "cuda/simd_functions.h"

#include <catch2/catch_test_macros.hpp>

TEST_CASE("Sums and differences of small numbers in a word wrap or saturate, each on its own", "[cuda]") {
  CHECK(__vadd4(0x01FF7F80U, 0x01017F80U) == 0x0200FE00U);
  CHECK(__vsub4(0x00010203U, 0x01010101U) == 0xFF000102U);
  CHECK(__vadd2(0xFFFF0001U, 0x0001FFFFU) == 0x00000000U);
  CHECK(__vsub2(0x00000001U, 0x00010001U) == 0xFFFF0000U);
  CHECK(__vaddss4(0x7F80FF01U, 0x0180FF01U) == 0x7F80FE02U);
  CHECK(__vsubss4(0x7F80FF01U, 0xFF01FF01U) == 0x7F800000U);
  CHECK(__vaddus4(0xFF80FF01U, 0x0180FF01U) == 0xFFFFFF02U);
  CHECK(__vsubus4(0x0080FF01U, 0x0180FE02U) == 0x00000100U);
  CHECK(__vaddss2(0x7FFF8000U, 0x00018000U) == 0x7FFF8000U);
  CHECK(__vsubus2(0x00017FFFU, 0x00028000U) == 0x00000000U);
}

TEST_CASE("Small numbers in a word are compared with or without their signs", "[cuda]") {
  CHECK(__vmaxs4(0x80FF0001U, 0x7F00FF02U) == 0x7F000002U);
  CHECK(__vmaxu4(0x80FF0001U, 0x7F00FF02U) == 0x80FFFF02U);
  CHECK(__vmins4(0x80FF0001U, 0x7F00FF02U) == 0x80FFFF01U);
  CHECK(__vminu4(0x80FF0001U, 0x7F00FF02U) == 0x7F000001U);
  CHECK(__vmaxs2(0x8000FFFFU, 0x7FFF0001U) == 0x7FFF0001U);
  CHECK(__vabsdiffu4(0x00FF0180U, 0xFF00027FU) == 0xFFFF0101U);
  CHECK(__vcmpeq4(0x01020304U, 0x01FF03FFU) == 0xFF00FF00U);
  CHECK(__vcmpne4(0x01020304U, 0x01FF03FFU) == 0x00FF00FFU);
  CHECK(__vcmpgts4(0x80FF0001U, 0x7F000000U) == 0x000000FFU);
  CHECK(__vcmpgtu4(0x80FF0001U, 0x7F000000U) == 0xFFFF00FFU);
  CHECK(__vcmpges4(0x80FF0001U, 0x80000001U) == 0xFF00FFFFU);
  CHECK(__vcmpleu2(0x8000FFFFU, 0x7FFFFFFFU) == 0x0000FFFFU);
  CHECK(__vcmplts2(0x8000FFFFU, 0x7FFFFFFFU) == 0xFFFF0000U);
}

TEST_CASE("A dot product of four small numbers takes their signs from its type", "[cuda]") {
  CHECK(__dp4a(static_cast<int>(0xFF02807FU), 0x01030201, 5) == -1 + 6 - 256 + 127 + 5);
  CHECK(__dp4a(0xFF02807FU, 0x01030201U, 5U) == 255U + 6U + 256U + 127U + 5U);
  CHECK(__dp4a(0x01010101, 0x01010101, 0x7FFFFFFF) == static_cast<int>(0x80000003U));
}
