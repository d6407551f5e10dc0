#include "oracle/residual_evidence.hpp"

#include <algorithm>
#include <cmath>

namespace assay::oracle {

namespace {

/// A residual all along one direction may have lost its noise to the estimate of `size`.
constexpr double least_left = 0x1p-6;

}  // namespace

residual_evidence& residual_evidence::operator+=(const residual_evidence& other) {
  score += other.score;
  size += other.size;
  variance += other.variance;
  spread += other.spread;
  shared += other.shared;
  aligned += other.aligned;
  tolerated += other.tolerated;
  rows += other.rows;
  return *this;
}

/// Wallace's transformation (Bounds on normal approximations to Student's and the chi-square distributions, 1959, the
/// simpler one): (8 dof + 1) / (8 dof + 3) sqrt(dof log(1 + t^2 / dof)).
double residual_evidence::sigmas() const {
  const double beyond = std::fabs(score) - tolerated, total = variance + shared + aligned * aligned;
  if (!(beyond > 0) || !(variance > 0)) return 0;
  const double t_squared = beyond * beyond / total;
  // Of the estimated variance alone: where it is too small by chance, errors with a known bound do not make up for it.
  const double dof = variance * variance / spread;
  if (!(dof > 0)) return 0;
  const double deviate = (8 * dof + 1) / (8 * dof + 3) * std::sqrt(dof * std::log1p(t_squared / dof));
  return std::isfinite(deviate) ? std::copysign(deviate, score) : 0;
}

residual_evidence evidence_of_row(double score, double size, double quadratic, double noise, double inverse_dof,
                                  double tolerance) {
  if (!(size > 0) || !(quadratic > 0)) return {};
  const double share = quadratic / size;
  if (!(share <= 0.5)) return {};
  const double left = std::max(noise - score * score / size, least_left * noise) / (1 - share);
  residual_evidence e{.score = score, .size = size, .variance = left * quadratic, .rows = 1};
  e.spread = e.variance * e.variance * inverse_dof;
  e.tolerated = tolerance * size;
  return e;
}

}  // namespace assay::oracle
