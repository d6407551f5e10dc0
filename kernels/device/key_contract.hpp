/// What a kernel that multiplies by device/key_atoms.hpp says of its products in its contract. Host code.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/warpgroup.hpp"

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

/// Where warpgroups multiply: sets model and atom of Q K^T where Q and K are multiplied as they are stored.
inline void declare_group_logits([[maybe_unused]] contract& c, [[maybe_unused]] dtype stored) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__) || defined(__HIP_PLATFORM_ASSAY_CPU__)
  if (stored != dtype::e4m3fn) return;
  c.qk = group_fp8_accumulation_model();
  c.qk_atom = exact_group_fp8_atom(stored);
#endif
}

}  // namespace assay::device
