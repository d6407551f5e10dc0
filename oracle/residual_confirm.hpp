/// The exact variances of one group's evidence. The search estimates them from sums over keys, as if all contributions
/// were orthogonal; what it finds is a finding only if this agrees.
#pragma once

#include "oracle/residual_evidence.hpp"
#include "oracle/residual_row.hpp"

namespace assay::oracle {

/// RMS error of an element of 8-bit V times its descale, rounded to bf16: uniform within 2^-9 / m, m in [1, 2) the
/// mantissa, is 2^-9 * 0.41. 0 of other types, which kernels take as they are.
double value_error(dtype v_type);

/// Of the size of a sum: how far so many atoms may take it to one side by cutting their products. Nothing for an atom
/// that cuts none (`alignment_terms` 0).
double truncation_of(const accumulation& model, double atoms);

/// How wrong a group may be without noise, in a row; see residual.hpp.
double tolerance_of(const accumulation& pv, const residual_row& row);

/// Of all rows in the group's scope.
residual_evidence confirm(const residual_finding& group, const problem& planned, const accumulation& pv,
                          residual_rows& rows);

}  // namespace assay::oracle
