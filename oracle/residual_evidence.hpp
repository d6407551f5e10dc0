/// What rows say of one group of keys, and how many sigmas that is. residual.hpp has the model.
#pragma once

#include <cstdint>

namespace assay::oracle {

struct residual_evidence {
  double score = 0;      ///< sum of s_g
  double size = 0;       ///< sum of |c'_g|^2
  double variance = 0;   ///< of the score
  double spread = 0;     ///< sum of a row's variance squared by its degrees of freedom (Welch and Satterthwaite)
  double shared = 0;     ///< variance from errors that all rows share, beside `variance`
  double aligned = 0;    ///< a bound of the deviation from such errors; its square is a variance beside the others
  double tolerated = 0;  ///< by which |score| may be off without any noise
  std::int64_t rows = 0;

  residual_evidence& operator+=(const residual_evidence& other);
  double excess() const { return size > 0 ? score / size : 0; }
  /// Of the normal deviate with the tail of this t, with the sign of the score; 0 without variance.
  double sigmas() const;
};

/// The evidence of a row. `quadratic` is the variance of s_g for noise 1: of the worst shape. Nothing where the tested
/// direction has more than half of the noise: what is left says too little about it.
residual_evidence evidence_of_row(double score, double size, double quadratic, double noise, double inverse_dof,
                                  double tolerance);

}  // namespace assay::oracle
