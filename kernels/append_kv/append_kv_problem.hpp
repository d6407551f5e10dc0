/// Which problems append_kv takes, and with which tensors.
#pragma once

#include <vector>

#include "kernels/append_kv/append_kv_arguments.hpp"
#include "kernels/host/bind.hpp"
#include "kernels/library.h"

namespace assay {

/// ASSAY_OK where `p` is a problem that append_kv computes; `planned` as in check_problem.
assay_status check_append_problem(const problem* p, bool planned);

/// The kernel for the types of a problem that has passed the check.
append_kv_launcher find_append_launcher(const problem& p);

/// Tensors that the problem does not have are empty.
struct append_tensors {
  tensor k_new, v_new, slots, positions, rope_cos, rope_sin;
  tensor k, v, k_descale, v_descale;
};

std::vector<expectation> expected_tensors(const problem& p, append_tensors& to);

/// What the extents of two tensors must say together.
assay_status check_append_tensors(const append_tensors& t);

}  // namespace assay
