#include "kernels/mqa_logits/mqa_logits_contract.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "kernels/device/convert.hpp"
#include "kernels/device/head_atoms.hpp"
#include "kernels/device/mma/head_tree.hpp"
#include "kernels/host/declare.hpp"
#include "kernels/mqa_logits/mqa_logits_arguments.hpp"

namespace assay {
namespace {

template <class Heads>
contract declare_by(const problem& p, int lanes) {
  const int head_atoms = (p.heads_q + Heads::atom_heads - 1) / Heads::atom_heads;
  contract c;
  c.tile_keys = mqa_group_keys;
  c.qk = Heads::model();
  c.pv = c.qk;
  c.qk_atom = Heads::exact_atom(p.q_type);
  c.p_type = dtype::f32;
  c.p_flush = 0.0F;
  c.p_shift = 0;
  c.fuses_logits = 1;
  c.tile_rows = 1;
  c.merge_roundings = 0;
  c.head_rows = Heads::atom_heads;
  const device::row_tree joined = Heads::tree(lanes);
  std::copy(std::begin(joined.stride), std::end(joined.stride), c.head_tree);
  c.constant_roundings = 0;
  // What the order above comes to where it is left open: a fused multiply-add for each atom of heads; the tree over the
  // atom's rows; the product with the key's scale.
  c.sum_roundings = head_atoms + device::most_head_joins + 1;
  c.normalise_roundings = 0;
  declare_functions(c);
  return c;
}

template <class T>
contract declare_of_type(const problem& p, int lanes, bool by_groups) {
  using usual = device::usual_heads<T>;
  using group = device::group_heads<T>;
  if constexpr (!std::is_same_v<usual, group>)
    if (by_groups) return declare_by<group>(p, lanes);
  return declare_by<usual>(p, lanes);
}

}  // namespace

contract declare_mqa_logits(const problem& p, int lanes, bool by_groups) {
  return p.k_type == dtype::e4m3fn ? declare_of_type<device::e4m3fn>(p, lanes, by_groups)
                                   : declare_of_type<device::e4m3fnuz>(p, lanes, by_groups);
}

}  // namespace assay
