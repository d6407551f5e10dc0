/// The probe on matrix units whose arithmetic is known: those of the cpu platform's integers.
#include "properties/probe/probe.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <sstream>

#include "kernels/matrix_atoms.hpp"
#include "kernels/platform/cpu/matrix_unit/matrix_unit.hpp"
#include "oracle/decode.hpp"
#include "properties/cli/program.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay::probe {
namespace {

/// What the unit of this test computes with; the interface is of plain functions.
struct {
  dtype type = dtype::f16;
  matrix_atom computes;
} unit_under_test;

assay_status multiply(std::int32_t, std::int32_t count, const void* a, const void* b, const void* c, void* d) {
  const auto depth = static_cast<std::size_t>(unit_under_test.computes.products);
  const auto bytes = static_cast<std::size_t>(size_bytes(unit_under_test.type));
  const auto operands = [&](const void* from, std::size_t row) {
    std::vector<cpu::operand> all;
    for (std::size_t k = 0; k < depth; ++k) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, static_cast<const std::byte*>(from) + (row * depth + k) * bytes, bytes);
      all.push_back(cpu::operand_of(oracle::decode(unit_under_test.type, bits), unit_under_test.computes));
    }
    return all;
  };
  for (std::size_t at = 0; at < static_cast<std::size_t>(count) * 256; ++at) {
    const std::size_t tile = at / 256, row = at / 16 % 16, column = at % 16;
    static_cast<float*>(d)[at] =
        cpu::multiply_add(unit_under_test.computes, operands(a, tile * 16 + row).data(),
                          operands(b, tile * 16 + column).data(), static_cast<const float*>(c)[at]);
  }
  return {};
}

/// An exp2 that is off by 2^-20 at one power of two in eight.
assay_status evaluate(std::int32_t function, std::int64_t count, const float* x, float* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto wide = static_cast<double>(x[i]);
    y[i] = static_cast<float>(function == ASSAY_EXP2  ? std::exp2(wide)
                              : function == ASSAY_LOG ? std::log(wide)
                                                      : std::tanh(wide));
    if (function == ASSAY_EXP2 && x[i] > 100) y[i] *= 1 + 0x1p-20F;
  }
  return {};
}

atom_report probed(dtype type, const matrix_atom& computes, const matrix_atom& declared, std::int64_t tiles = 48) {
  unit_under_test.type = type;
  unit_under_test.computes = computes;
  const assay_unit_atom atom{"atom", static_cast<std::int32_t>(type), computes.products, declared};
  const assay_matrix_unit unit{sizeof(assay_matrix_unit),
                               sizeof(assay_unit_atom),
                               1,
                               &atom,
                               multiply,
                               evaluate,
                               0x1p-23F,
                               0,
                               0,
                               0x1p-23F,
                               0x1p-23F};
  return probe_atom(unit, 0, tiles, 5);
}

TEST_CASE("the probe confirms a declared atom, and finds the one that is off by a bit", "[probe]") {
  const atom_report right = probed(dtype::f16, hopper_atom(dtype::f16), hopper_atom(dtype::f16));
  CHECK(right.holds());
  CHECK(right.declared.compared == 48 * 256);
  CHECK(!right.found);

  matrix_atom wrong = hopper_atom(dtype::f16);
  wrong.fraction_bits = 24;
  const atom_report other = probed(dtype::f16, hopper_atom(dtype::f16), wrong);
  CHECK(!other.holds());
  CHECK(other.declared.misses > 0);
  REQUIRE(other.found);
  CHECK(other.found->fitting == 2);  // the known one, and its place in the family
  CHECK(other.found->best == hopper_atom(dtype::f16));
}

TEST_CASE("the probe: too few results confirm no atom", "[probe]") {
  const matrix_atom atom = hopper_atom(dtype::f16);
  for (const matrix_atom& declared : {atom, matrix_atom{}}) {
    const atom_report few = probed(dtype::f16, atom, declared, 1);
    CHECK(few.declared.misses == 0);
    CHECK(!few.is_enough());
    CHECK(!few.holds());
    CHECK(probed(dtype::f16, atom, declared, 12).holds());
  }
}

TEST_CASE("the probe: a result beyond f32 is not compared", "[probe][long]") {
  const matrix_atom atom = hopper_atom(dtype::bf16);
  constexpr std::int64_t count = 8;
  tiles t = craft(dtype::bf16, 16, count, 1);
  const auto results = static_cast<std::int64_t>(t.d.size());
  const comparison wrong = compare(t, atom, results);  // the unit wrote nothing
  CHECK(wrong.compared == results);
  CHECK(wrong.misses > results / 2);
  // 2^127 * 2^127 everywhere: any D fits.
  constexpr std::uint16_t huge = 254 << 7;
  for (auto* operand : {&t.a, &t.b})
    for (std::size_t at = 0; at < operand->size(); at += sizeof huge)
      std::memcpy(operand->data() + at, &huge, sizeof huge);
  const comparison unbounded = compare(t, atom, results);
  CHECK(unbounded.misses == 0);
  CHECK(unbounded.compared == 0);
  CHECK(unbounded.unbounded == results);
  CHECK(!unbounded.is_enough());
  CHECK(!comparison{0, 5000, 5001}.is_enough());
  const search_result any = search(t);
  CHECK(any.fitting == any.tried);
  CHECK(!any.of_best.is_enough());
}

TEST_CASE("the probe names units that have no declaration", "[probe][long]") {
  for (const named_atoms& known : known_atoms)
    for (const dtype type : {dtype::f16, dtype::bf16}) {
      CAPTURE(known.name, name_of(type));
      const atom_report r = probed(type, known.of(type), {});
      CHECK(r.holds());
      REQUIRE(r.found);
      CHECK(r.found->fitting > 0);
      CHECK(r.found->of_best.misses == 0);
      CHECK(r.found->best == known.of(type));
    }
  for (const dtype type : {dtype::e4m3fn, dtype::e5m2}) {
    const atom_report r = probed(type, hopper_fp8_atom(type), {});
    REQUIRE(r.found);
    CHECK(r.found->best == hopper_fp8_atom(type));
    const atom_report widened = probed(type, hopper_fp8_mma_atom(type), {});
    REQUIRE(widened.found);
    CHECK(widened.found->best == hopper_fp8_mma_atom(type));
  }
}

TEST_CASE("the probe finds a function whose error exceeds what is declared", "[probe]") {
  const assay_matrix_unit unit{sizeof(assay_matrix_unit),
                               sizeof(assay_unit_atom),
                               0,
                               nullptr,
                               multiply,
                               evaluate,
                               0x1p-23F,
                               0,
                               0,
                               0x1p-23F,
                               0x1p-23F};
  const function_report exp2 = probe_function(unit, ASSAY_EXP2, 100003);
  CHECK(!exp2.holds());
  CHECK(exp2.at > 100);
  CHECK(probe_function(unit, ASSAY_LOG, 100003).holds());
  const function_report tanh = probe_function(unit, ASSAY_TANH, 100003);
  CHECK(tanh.holds());
  CHECK(tanh.compared > 10 * least_compared);

  // Of every 10000019th float, no error is seen among too few of log.
  const function_report few = probe_function(unit, ASSAY_LOG, 10000019);
  CHECK(few.compared > 0);
  CHECK(few.worst <= few.declared);
  CHECK(!few.holds());
  const function_report none = probe_function(unit, ASSAY_LOG, 1U << 31);
  CHECK(none.compared == 0);
  CHECK(!none.holds());
}

TEST_CASE("probe: the built-in unit, and what is not a unit", "[probe][cli]") {
  std::ostringstream out, err;
  CHECK(run_program({"probe", "--tiles", "12", "--seed", "3", "--stride", "100003"}, {out, err, nullptr}) == 0);
  CHECK(out.str().find("i8: the declared atom holds: 0 misses of 3072") != std::string::npos);
  CHECK(out.str().find("f16: no atom is declared") != std::string::npos);
  CHECK(run_program({"probe", "--atoms", "volta"}, {out, err, nullptr}) == exit_usage);
  CHECK(err.str().find("no atoms 'volta' (hopper, ") != std::string::npos);
}

}  // namespace
}  // namespace assay::probe
