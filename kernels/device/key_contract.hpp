/// What a kernel that multiplies by device/key_atoms.hpp says of its products in its contract. Host code.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/mma.hpp"

namespace assay::device {

/// Sets models and atoms of Q K^T, multiplied as `qk`, and of P V, multiplied as `pv`, and P's type. `stored_k`: of K.
inline void declare_key_products(contract& c, dtype qk, dtype stored_k, dtype pv) {
  c.qk = accumulation_model(qk);
  c.pv = accumulation_model(pv);
  c.qk_atom = exact_atom(qk);
  c.pv_atom = exact_atom(pv);
  if (reorders_products(stored_k) && c.qk_atom.group != c.qk_atom.products) c.qk_atom = {};
  c.p_type = pv;
  c.p_flush = flushed_below(pv);
  c.p_shift = 0;
}

}  // namespace assay::device
