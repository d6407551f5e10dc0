/// Midpoint-radius matrix atoms hold every result that the accumulation model admits.
#include "oracle/atoms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

using testing::normal;

constexpr std::int64_t lanes = 16;

float f16_of(double x) {
  return static_cast<float>(static_cast<_Float16>(x));
}

/// A matrix unit that aligns all terms to the largest exponent, truncates, and truncates the sum to f32.
float truncating_unit(float c, const std::vector<double>& products, int bits) {
  double largest = std::fabs(static_cast<double>(c));
  for (const double x : products) largest = std::max(largest, std::fabs(x));
  if (largest == 0) return 0;
  const double quantum = std::ldexp(1.0, std::ilogb(largest) - bits);
  double sum = std::trunc(static_cast<double>(c) / quantum);
  for (const double x : products) sum += std::trunc(x / quantum);
  const double exact = sum * quantum;
  const float nearest = static_cast<float>(exact);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(exact) ? std::nextafterf(nearest, 0.0F) : nearest;
}

/// One rounding to nearest per atom; the sum is exact in long double for f16 products of this size.
float rounding_unit(float c, const std::vector<double>& products) {
  long double sum = c;
  for (const double x : products) sum += x;
  return static_cast<float>(sum);
}

struct mma_case {
  std::vector<double> query, keys, bounds;
};

mma_case random_case(std::int64_t dim, std::mt19937_64& random) {
  mma_case c{std::vector<double>(static_cast<std::size_t>(dim)),
             std::vector<double>(static_cast<std::size_t>(dim * lanes)), std::vector<double>(lanes)};
  for (double& q : c.query) q = static_cast<double>(f16_of(normal(random)));
  for (std::size_t i = 0; i < c.keys.size(); ++i) {
    // A cancelling neighbour now and then: the sum is small beside its terms.
    c.keys[i] = static_cast<double>(f16_of(normal(random)));
    c.bounds[i % lanes] = std::max(c.bounds[i % lanes], std::fabs(c.keys[i]));
  }
  return c;
}

template <class Unit>
std::int64_t outside(const accumulation& model, std::int64_t dim, Unit unit, double* widest) {
  std::mt19937_64 random(11);
  std::int64_t wrong = 0;
  for (int n = 0; n < 300; ++n) {
    const mma_case c = random_case(dim, random);
    double mid[lanes], radius[lanes];
    dot_atoms(c.query.data(), c.keys.data(), c.bounds.data(), dim, lanes, model, true, mid, radius);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      float acc = 0;
      for (std::size_t d = 0; d < static_cast<std::size_t>(dim); d += static_cast<std::size_t>(model.products)) {
        std::vector<double> products;
        for (std::size_t i = d; i < d + static_cast<std::size_t>(model.products); ++i)
          products.push_back(c.query[i] * c.keys[i * lanes + lane]);
        acc = unit(acc, products);
      }
      if (!(std::fabs(static_cast<double>(acc) - mid[lane]) <= radius[lane])) ++wrong;
      *widest = std::max(*widest, radius[lane]);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("a unit that rounds once per atom stays within the radius", "[oracle]") {
  double widest = 0;
  CHECK(outside(accumulation{}, 128, rounding_unit, &widest) == 0);
  CHECK(widest < 8 * 0x1p-24 * 60);  // eight atoms, running sums of at most 60: not the sum of absolute values
}

TEST_CASE("a unit that truncates at 25 bits stays within its own model, and leaves the rounding one's", "[oracle]") {
  accumulation hopper;
  hopper.alignment_bits = 25;
  hopper.alignment_terms = 17;
  hopper.result_roundoff = 0x1p-23F;
  const auto unit = [](float c, const std::vector<double>& products) { return truncating_unit(c, products, 25); };
  double widest = 0;
  CHECK(outside(hopper, 128, unit, &widest) == 0);
  CHECK(outside(accumulation{}, 128, unit, &widest) > 0);
}

TEST_CASE("atoms are not contracted, and hold what binary64 itself loses", "[oracle]") {
  // (1 + 2^-30)^2 - (1 + 2^-29) is 2^-60; 0 when the product is rounded first. Every clone is compiled the same way.
  std::vector<double> query(16), keys(16 * lanes), bounds(lanes, 2.0);
  query[0] = 1 + 0x1p-30;
  query[1] = 1;
  for (std::size_t l = 0; l < lanes; ++l) {
    keys[l] = 1 + 0x1p-30;
    keys[lanes + l] = -(1 + 0x1p-29);
  }
  double mid[lanes], radius[lanes];
  dot_atoms(query.data(), keys.data(), bounds.data(), 16, lanes, accumulation{}, true, mid, radius);
  for (std::size_t l = 0; l < lanes; ++l) {
    CHECK(mid[l] == 0);
    CHECK(radius[l] >= 0x1p-60);
  }
}

TEST_CASE("an atom adds to the radius what is open about P, and nothing for hidden keys", "[oracle]") {
  const std::vector<double> p{0.5, 0.25}, p_radius{0x1p-12, 0}, values(2 * lanes, 3.0), bounds{3, 3};
  double mid[lanes] = {}, radius[lanes] = {};
  accumulate_atom(p.data(), p_radius.data(), values.data(), bounds.data(), 2, lanes, accumulation{}, true, mid, radius);
  CHECK(mid[3] == 2.25);
  CHECK(radius[3] >= 3 * 0x1p-12);
  CHECK(radius[3] < 3 * 0x1p-12 + 4 * 0x1p-22);
  accumulate_atom(p.data(), p_radius.data(), values.data(), bounds.data(), 0, lanes, accumulation{}, true, mid, radius);
  CHECK(mid[3] == 2.25);
}

TEST_CASE("overflow of f32 is never bounded again", "[oracle]") {
  const std::vector<double> p{1.0}, p_radius{0.0}, values(lanes, 3e38), bounds{3e38};
  double mid[lanes] = {}, radius[lanes] = {};
  accumulate_atom(p.data(), p_radius.data(), values.data(), bounds.data(), 1, lanes, accumulation{}, true, mid, radius);
  CHECK(std::isfinite(radius[0]));
  accumulate_atom(p.data(), p_radius.data(), values.data(), bounds.data(), 1, lanes, accumulation{}, true, mid, radius);
  rescale(0x1p-20, 0, lanes, mid, radius);
  CHECK(!(std::fabs(mid[0]) + radius[0] < std::numeric_limits<double>::max()));
}

TEST_CASE("rescaling holds the f32 product at every member of its operands", "[oracle]") {
  std::mt19937_64 random(5);
  std::int64_t wrong = 0;
  for (int n = 0; n < 2000; ++n) {
    double mid[lanes], radius[lanes], member[lanes];
    const double alpha = testing::uniform(random), alpha_radius = alpha * 0x1p-22;
    const double taken = alpha + alpha_radius * (2 * testing::uniform(random) - 1);
    for (std::size_t l = 0; l < lanes; ++l) {
      mid[l] = normal(random);
      radius[l] = std::fabs(normal(random)) * 0x1p-20;
      member[l] = mid[l] + radius[l] * (random() % 2 == 0 ? 1 : -1);
    }
    rescale(alpha, alpha_radius, lanes, mid, radius);
    for (std::size_t l = 0; l < lanes; ++l)
      if (!(std::fabs(static_cast<double>(static_cast<float>(member[l] * taken)) - mid[l]) <= radius[l])) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rescaling holds f32 products that underflow, to the last bit of the subnormals", "[oracle]") {
  std::mt19937_64 random(6);
  std::int64_t wrong = 0, wide = 0;
  for (int n = 0; n < 2000; ++n) {
    double mid[lanes], radius[lanes] = {}, member[lanes];
    const auto alpha = static_cast<double>(static_cast<float>(testing::uniform(random)));
    for (std::size_t l = 0; l < lanes; ++l)
      member[l] = mid[l] = static_cast<double>(static_cast<float>(std::ldexp(normal(random), -130)));
    rescale(alpha, 0, lanes, mid, radius);
    for (std::size_t l = 0; l < lanes; ++l) {
      const auto product = static_cast<double>(static_cast<float>(member[l]) * static_cast<float>(alpha));
      if (!(std::fabs(product - mid[l]) <= radius[l])) ++wrong;
      if (!(radius[l] <= 0x1p-148)) ++wide;
    }
  }
  CHECK(wrong == 0);
  CHECK(wide == 0);
}

TEST_CASE("a unit that rounds towards either side may miss the nearest f32", "[oracle]") {
  std::vector<double> query(16), keys(16 * lanes), bounds(lanes, 1.0);
  query[0] = query[1] = 1;
  for (std::size_t l = 0; l < lanes; ++l) {
    keys[l] = 1;
    keys[lanes + l] = 1.5 * 0x1p-24;  // the nearest f32 of the sum is 1 + 2^-23
  }
  const accumulation directed{16, 48, 1.0F, 0x1p-23F, 0.0F};
  double mid[lanes], radius[lanes];
  dot_atoms(query.data(), keys.data(), bounds.data(), 16, lanes, directed, true, mid, radius);
  for (std::size_t l = 0; l < lanes; ++l) {
    CHECK(std::fabs(1 - mid[l]) <= radius[l]);
    CHECK(std::fabs(1 + 0x1p-23 - mid[l]) <= radius[l]);
  }
}

}  // namespace assay::oracle
