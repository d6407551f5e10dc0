#include "kernels/platform/cpu/hip/amdgcn.h"

#include <stdexcept>
#include <string>

#include "hip/amdgcn_mfma.h"

namespace assay::cpu {

void push_values(wave_records& records) {
  const auto of = [&](int lane) { return static_cast<pushed_value*>(records.lane[lane]); };
  for (int lane = 0; lane < records.size; ++lane) {
    const pushed_value* const from = of(lane);
    if (from == nullptr) continue;
    if (pushed_value* const to = of(from->to_lane); to != nullptr) to->result = from->value;
  }
}

void fail_builtin(const char* name, const char* what) {
  throw std::invalid_argument(std::string(name) + what);
}

int dpp_lane(int control, int lane, int lanes) {
  constexpr int row_lanes = 16;
  const int row = lane & ~(row_lanes - 1), inside = lane % row_lanes, amount = control & 15;
  if (control < 0x100) return (lane & ~3) | (control >> (2 * (lane & 3)) & 3);                      // quad_perm
  if (control > 0x100 && control < 0x110) return inside + amount < row_lanes ? lane + amount : -1;  // row_shl
  if (control > 0x110 && control < 0x120) return inside >= amount ? lane - amount : -1;             // row_shr
  if (control > 0x120 && control < 0x130) return row + (inside - amount + row_lanes) % row_lanes;   // row_ror
  switch (control) {
    case 0x130: return lane + 1 < lanes ? lane + 1 : -1;  // wave_shl
    case 0x134: return (lane + 1) % lanes;                // wave_rol
    case 0x138: return lane - 1;                          // wave_shr: -1 for lane 0
    case 0x13C: return (lane - 1 + lanes) % lanes;        // wave_ror
    case 0x140: return row + row_lanes - 1 - inside;      // row_mirror
    case 0x141: return (lane & ~7) + 7 - lane % 8;        // row_half_mirror
    case 0x142: return row - 1;                           // row_bcast15: -1 in the first row
    case 0x143: return lane >= 32 ? 31 : -1;              // row_bcast31
    default: break;
  }
  if (control >= 0x150 && control < 0x160) return row + amount;             // row_share, row_newbcast
  if (control >= 0x160 && control < 0x170) return row + (inside ^ amount);  // row_xmask
  return -1;
}

}  // namespace assay::cpu
