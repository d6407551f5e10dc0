/// Elementary functions against long double, at every 1,009th f32 or so: what the contract promises must hold.
#include "kernels/device/math.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>

#include "kernels/host/declare.hpp"
#include "kernels/platform/common/tanh_by_exp.hpp"

namespace device = assay::device;
namespace platform = assay::platform;

namespace {

/// Largest relative error of `f` against `exact` over the f32 in [from, to], both of one sign, stepping through bits.
template <class F, class Exact>
long double worst_relative_error(float from, float to, std::uint32_t step, F f, Exact exact) {
  std::uint32_t low = std::bit_cast<std::uint32_t>(from), high = std::bit_cast<std::uint32_t>(to);
  if (low > high) std::swap(low, high);
  long double worst = 0;
  for (std::uint64_t u = low; u <= high; u += step) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    const long double want = exact(static_cast<long double>(x)), got = f(x);
    const long double error = want == 0 ? std::fabs(got) : std::fabs((got - want) / want);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

}  // namespace

TEST_CASE("exp2 stays within its declared error on normal results", "[device]") {
  const auto exact = [](long double x) { return std::exp2(x); };
  const auto tested = [](float x) { return device::exp2(x); };
  const long double worst = std::max(worst_relative_error(-0x1p-30F, -126.0F, 1009, tested, exact),
                                     worst_relative_error(0x1p-30F, 127.9F, 1009, tested, exact));
  CAPTURE(static_cast<double>(worst * 0x1p24L));
  CHECK(worst <= static_cast<long double>(platform::errors.exp2_relative));
  CHECK(worst >= 0.9L * 0x1p-24L);  // the bound is not idle
  CHECK(device::exp2(0.0F) == 1.0F);
  CHECK(device::exp2(-HUGE_VALF) == 0.0F);
}

TEST_CASE("exp stays within the same error", "[device]") {
  const auto exact = [](long double x) { return std::exp(x); };
  const auto tested = [](float x) { return device::exp(x); };
  CHECK(worst_relative_error(-0x1p-30F, -87.3F, 1009, tested, exact) <=
        static_cast<long double>(platform::errors.exp2_relative));
}

TEST_CASE("log stays within its declared error from 1 to 2^31", "[device]") {
  const auto exact = [](long double x) { return std::log(x); };
  const auto tested = [](float x) { return device::log(x); };
  REQUIRE(platform::errors.log_absolute == 0.0F);  // else the check below must add it
  CHECK(worst_relative_error(std::nextafter(1.0F, 2.0F), 0x1p31F, 499, tested, exact) <=
        static_cast<long double>(platform::errors.log_relative));
  CHECK(device::log(1.0F) == 0.0F);
}

TEST_CASE("tanh stays within its declared relative error, near zero too", "[device]") {
  const auto exact = [](long double x) { return std::tanh(x); };
  const auto tested = [](float x) { return device::tanh(x); };
  CHECK(worst_relative_error(0x1p-126F, 40.0F, 1009, tested, exact) <=
        static_cast<long double>(platform::errors.tanh_relative));
  CHECK(device::tanh(-0.3F) == -device::tanh(0.3F));
  CHECK(device::tanh(HUGE_VALF) == 1.0F);
  CHECK(device::tanh(0.0F) == 0.0F);
  CHECK(std::isnan(device::tanh(std::nanf(""))));
}

TEST_CASE("tanh from an inexact exp keeps the bound that follows from exp's", "[device]") {
  const auto exact = [](long double x) { return std::tanh(x); };
  for (const float bias : {-0x1p-23F, 0.0F, 0x1p-23F}) {
    // exp wrong by its whole allowance, to either side.
    const auto skewed = [bias](float u) { return std::exp(u) * (1.0F + bias); };
    const auto tested = [&](float x) { return platform::tanh_by_exp(x, skewed); };
    const long double worst = worst_relative_error(0x1p-60F, 40.0F, 1009, tested, exact);
    CAPTURE(static_cast<double>(bias), static_cast<double>(worst * 0x1p24L));
    CHECK(worst <= static_cast<long double>(platform::tanh_error(0x1p-22F)));
  }
}

TEST_CASE("the C library's functions stay within the bounds that declare_libm gives, which are not idle", "[device]") {
  assay::contract c;
  assay::declare_libm(c);
  const auto check = [](float from, float to, auto tested, auto exact, float bound, long double least) {
    const long double worst = worst_relative_error(from, to, 499, tested, exact);
    CAPTURE(static_cast<double>(worst * 0x1p24L));
    CHECK(worst <= static_cast<long double>(bound));
    CHECK(worst >= least);
  };
  const auto exp2 = [](long double x) { return std::exp2(x); };
  const auto exp = [](long double x) { return std::exp(x); };
  const auto log = [](long double x) { return std::log(x); };
  const auto tanh = [](long double x) { return std::tanh(x); };
  check(-0x1p-30F, -126.0F, [](float x) { return ::exp2f(x); }, exp2, c.exp2_relative_error, 0.9L * 0x1p-24L);
  check(-0x1p-30F, -87.3F, [](float x) { return ::expf(x); }, exp, c.exp2_relative_error, 0.9L * 0x1p-24L);
  REQUIRE(c.log_absolute_error == 0.0F);
  check(
      std::nextafter(1.0F, 2.0F), 0x1p31F, [](float x) { return ::logf(x); }, log, c.log_relative_error,
      0.9L * 0x1p-24L);
  check(0x1p-126F, 40.0F, [](float x) { return ::tanhf(x); }, tanh, c.tanh_relative_error, 0.4L * 0x1p-24L);
}

TEST_CASE("the two halves of ln 2 give the natural LSE to one rounding", "[device]") {
  for (const float m : {-1000.3F, -3.1F, 0.0F, 0.7F, 12.5F, 4096.25F})
    for (const float l : {1.0F, 1.5F, 77.0F, 65536.0F}) {
      const long double want = static_cast<long double>(m) * std::log(2.0L) + std::log(static_cast<long double>(l));
      CHECK(std::fabs(static_cast<long double>(device::natural_lse(m, l)) - want) <=
            0x1p-24L * std::fabs(want) + 1.1L * 0x1p-24L * std::log(static_cast<long double>(l)) + 0x1p-40L);
    }
}

TEST_CASE("the larger of two numbers is a NaN where one of them is", "[device]") {
  const float nan = std::nanf("");
  CHECK(device::max_or_nan(1.0F, 2.0F) == 2.0F);
  CHECK(device::max_or_nan(2.0F, 1.0F) == 2.0F);
  CHECK(device::max_or_nan(-HUGE_VALF, -HUGE_VALF) == -HUGE_VALF);
  CHECK(std::isnan(device::max_or_nan(nan, HUGE_VALF)));
  CHECK(std::isnan(device::max_or_nan(HUGE_VALF, nan)));
  CHECK(std::isnan(device::relu(nan)));
  CHECK(device::relu(-1.0F) == 0.0F);
  CHECK(device::relu(3.0F) == 3.0F);
}
