/// A warpgroup's 64 query rows of batch_prefill, 16 of each wave: S = Q K^T and O = P V by products that read Q, K and
/// V from LDS themselves. Q and K of e4m3fn are multiplied as they are, V as f16: sums of FP8's products are too coarse
/// for P V. The logits of a tile and the outputs of the tile before it are multiplied at once; the
/// softmax of the one runs beside the products of the other.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/prefill_rows.hpp"
#include "kernels/batch_prefill/prefill_work.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/softmax.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/device/tile_ring.hpp"
#include "kernels/device/warpgroup.hpp"

namespace assay {

/// As what Q and K are multiplied.
template <class Traits>
using prefill_group_key = device::group_element<typename Traits::stored, typename Traits::element>;

/// Bytes of a warpgroup's rows of Q in LDS.
template <class Traits>
inline constexpr int prefill_group_query_bytes =
    4 * prefill_wave_rows *
    device::swizzled_row_bytes(Traits::max_head_dim * static_cast<int>(sizeof(prefill_group_key<Traits>)));

#if defined(ASSAY_HAS_WARPGROUPS)

/// The wave's rows of Q of a part, on their way while the part before it ends.
template <class Traits>
class prefill_group_queries {
 public:
  __device__ __forceinline__ void load(const prefill_arguments& a, const prefill_work& w) {
    chunks_.load(a, w, w.first_row + device::wave_of_block() * prefill_wave_rows, first());
  }
  template <class Rows>
  __device__ __forceinline__ void store(const prefill_arguments& a, const Rows& rows) const {
    chunks_.store(a, first(), rows);
  }

 private:
  /// 0, so that no register keeps the chunks' places from one part to the next.
  __device__ static int first() { return platform::unknown_zero(); }

  using element = prefill_group_key<Traits>;
  static constexpr int chunk_elements = query_chunk<typename Traits::stored, element>::count;
  query_chunks<Traits, element, prefill_wave_rows * Traits::max_head_dim / chunk_elements / 32> chunks_;
};

template <class Traits>
class prefill_group_rows {
  using element = typename Traits::element;  ///< of P and V
  using key_element = prefill_group_key<Traits>;
  using sums = device::group_sums;
  static constexpr int slots = 2;  ///< rows of a lane: element i of an atom is of row slot i / 2
  static constexpr int key_atoms = prefill_group_tile_keys / device::group_columns;
  static constexpr int value_atoms = Traits::max_head_dim / device::group_columns;
  static constexpr int key_step = device::group_reduction_bytes / static_cast<int>(sizeof(key_element));
  static constexpr int key_steps = Traits::max_head_dim / key_step;
  static constexpr int value_steps = prefill_group_tile_keys / device::atom_depth;
  static constexpr int group_rows = 4 * prefill_wave_rows;
  static constexpr int strip_bytes = group_rows * device::swizzled_run_bytes;  ///< of Q

 public:
  /// lds: of all groups' rows of Q; barrier: of the warpgroup.
  __device__ prefill_group_rows(const prefill_arguments& a, const prefill_work& w, unsigned char* lds,
                                device::warpgroup_barrier& barrier)
      : a_(a),
        work_(w),
        barrier_(barrier),
        first_row_(w.first_row + device::wave_of_block() * prefill_wave_rows),
        queries_{lds + device::wave_of_block() / 4 * prefill_group_query_bytes<Traits>, strip_bytes} {
    const std::int32_t group = w.first_row + device::wave_of_block() / 4 * group_rows;
    if (group >= w.rows) return;
    visible_to_group_ = w.visible_to(a, device::min_of(w.rows, group + group_rows) - 1);
    if (first_row_ >= w.rows) return;
    visible_to_all_ = w.visible_to(a, first_row_);
    visible_to_any_ = w.visible_to(a, device::min_of(w.rows, first_row_ + prefill_wave_rows) - 1);
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) visible_keys_[slot] = w.visible_to(a, row_of(slot));
  }

  /// The warpgroup's rows of Q to LDS, for its products, when those of rows before are done.
  __device__ __forceinline__ void store_queries(const prefill_group_queries<Traits>& loaded) {
    barrier_.sync();
    loaded.store(a_, queries_.from(device::wave_of_block() % 4 * prefill_wave_rows));
    platform::publish_lds();
    barrier_.sync();
  }

  /// Tiles that some row of the warpgroup sees.
  __device__ std::int32_t tiles() const {
    return (visible_to_group_ + prefill_group_tile_keys - 1) / prefill_group_tile_keys;
  }

  // A tile's logits become probabilities, which the next call multiplies. The whole warpgroup comes here together.
  template <class Taker>
  __device__ __forceinline__ void take_first(Taker& ring, const prefill_descales& descales) {
    ring.advance();
    sums s[key_atoms];
    begin_logits(s, ring.keys());
    ring.pass_turn();
    device::wait_for_warpgroup(s);
    ring.release();
    float factors[slots];
    weigh(0, descales, s, factors);
    round_probabilities(s);
  }
  template <class Taker>
  __device__ __forceinline__ void take(Taker& ring, std::int32_t tile, const prefill_descales& descales) {
    ring.advance();
    sums s[key_atoms];
    begin_logits(s, ring.keys());
    begin_outputs(ring.values());
    ring.pass_turn();
    device::wait_for_warpgroup<1>(s);
    float factors[slots];
    weigh(tile * prefill_group_tile_keys, descales, s, factors);
    device::wait_for_warpgroup(o_);
    device::hold_registers(p_);
    ring.release();
    if (platform::any_lane(factors[0] != 1.0F || factors[1] != 1.0F)) ASSAY_UNROLL
    for (int atom = 0; atom < value_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < o_[atom].count(); ++i) o_[atom].value[i] *= factors[i / 2];
    round_probabilities(s);
  }
  template <class Taker>
  __device__ __forceinline__ void take_last(Taker& ring) {
    ring.advance();
    begin_outputs(ring.values());
    ring.pass_turn();
    device::wait_for_warpgroup(o_);
    device::hold_registers(p_);
    ring.release();
  }

  /// Normalises and stores O, with the last v descale, and the LSE.
  __device__ __forceinline__ void store() const {
    if (first_row_ >= work_.rows) return;
    using output = typename Traits::output;
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      device::softmax_state state = softmax_[slot];
      state.l = join(state.l, [](float x, float y) { return x + y; });
      const std::int32_t row = row_of(slot);
      if (row >= work_.rows) continue;
      const std::int64_t query = work_.first_query + row;
      if (device::group_column(0) == 0)
        static_cast<float*>(a_.lse.data)[query * a_.lse.stride[0] + work_.head * a_.lse.stride[1]] = state.lse();
      const float scale = a_.v_scale * held_v_descale_ / state.l;
      output* const to = static_cast<output*>(a_.o.data) + query * a_.o.stride[0] + work_.head * a_.o.stride[1];
      const auto store = [&](int atom, auto store_pair) {
        const std::int32_t column = atom * device::group_columns + device::group_column(0);
        if (column >= a_.head_dim_v) return;
        // + 0 makes a negative zero positive: its sign would tell of keys that the row does not see.
        float pair[2];
        ASSAY_UNROLL
        for (int i = 0; i < 2; ++i) pair[i] = state.l == 0.0F ? 0.0F : o_[atom].value[2 * slot + i] * scale + 0.0F;
        store_pair(column, pair);
      };
      if (a_.has_paired_outputs != 0) {
        ASSAY_UNROLL
        for (int atom = 0; atom < value_atoms; ++atom)
          store(atom, [&](std::int32_t column, const float(&pair)[2]) {
            *reinterpret_cast<std::uint32_t*>(to + column) = device::round_pair<output>(pair[0], pair[1]);
          });
      } else {
        ASSAY_UNROLL
        for (int atom = 0; atom < value_atoms; ++atom)
          store(atom, [&](std::int32_t column, const float(&pair)[2]) {
            ASSAY_UNROLL
            for (int i = 0; i < 2; ++i) to[(column + i) * a_.o.stride[2]] = device::from_float<output>(pair[i]);
          });
      }
    }
  }

 private:
  /// Counted in the sequence.
  __device__ std::int32_t row_of(int slot) const { return first_row_ + device::group_row(2 * slot); }
  /// Atoms along the head dimension.
  __device__ int steps() const { return multiplied_dim<key_element>(a_.head_dim_qk) / key_step; }

  /// Joins a value of a row over the four lanes that share it.
  template <class Join>
  __device__ static float join(float value, Join join_two) {
    value = join_two(value, __shfl_xor(value, 1, 32));
    return join_two(value, __shfl_xor(value, 2, 32));
  }

  __device__ __forceinline__ void begin_logits(sums (&s)[key_atoms], const device::swizzled_strips& keys) const {
    const device::lds_operand a = device::operand_by_rows(queries_.base), b = device::operand_by_rows(keys.base);
    const auto add = [&](int step) {
      const int within = step % 4 * device::group_reduction_bytes;
      device::add_product(s, key_element{}, a + (step / 4 * strip_bytes + within),
                          b + (step / 4 * keys.strip_bytes + within));
    };
    const auto multiply = [&](int count) {
      device::begin_product(s, key_element{}, a, b);
      ASSAY_UNROLL
      for (int step = 1; step < key_steps; ++step)
        if (step < count) add(step);
      device::commit_warpgroup();  // here: behind a branch it were an instruction of its own for the unit
    };
    device::start_warpgroup();
    if (Traits::max_head_dim == prefill_least_head_dim || steps() == key_steps)
      multiply(key_steps);  // one straight piece
    else
      multiply(steps());
  }

  /// O += P V.
  __device__ __forceinline__ void begin_outputs(const device::swizzled_strips& values) {
    const device::lds_operand b = device::operand_by_columns(values.base, values.strip_bytes);
    device::hold_registers(o_);
    device::hold_registers(p_);
    device::start_warpgroup();
    ASSAY_UNROLL
    for (int step = 0; step < value_steps; ++step)
      device::add_by_columns(o_, p_[step], b + step * device::atom_depth * device::swizzled_run_bytes, a_.head_dim_v);
    device::commit_warpgroup();
  }

  /// P goes from C to A as it lies in the lane: two atoms of keys side by side are one of A.
  __device__ __forceinline__ void round_probabilities(const sums (&s)[key_atoms]) {
    ASSAY_UNROLL
    for (int step = 0; step < value_steps; ++step) ASSAY_UNROLL
    for (int word = 0; word < 4; ++word) {
      const sums& atom = s[2 * step + word / 2];
      p_[step].word[word] = device::round_pair<element>(atom.value[word % 2 * 2], atom.value[word % 2 * 2 + 1]);
    }
  }

  /// As prefill_rows::weigh, of the lane's rows side by side: each waits for its own results. factors[slot] is what O
  /// of the tiles before is to be scaled by: O is kept in units of the last tile's v descale.
  __device__ __forceinline__ void weigh(std::int32_t first_key, const prefill_descales& descales, sums (&s)[key_atoms],
                                        float (&factors)[slots]) {
    float ratio = 1.0F;
    if (first_key < visible_to_any_) {
      if (held_v_descale_ != descales.v && first_key != 0) ratio = held_v_descale_ / descales.v;
      held_v_descale_ = descales.v;
    }
    if (first_key + prefill_group_tile_keys <= visible_to_all_)
      weigh<false>(first_key, descales.k, s, factors);
    else
      weigh<true>(first_key, descales.k, s, factors);
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) factors[slot] *= ratio;
  }
  template <bool HasHidden>
  __device__ __forceinline__ void weigh(int first_key, float k_descale, sums (&s)[key_atoms], float (&factors)[slots]) {
    const float scale = a_.logit_scale * k_descale, base2_scale = a_.base2_logit_scale * k_descale;
    float top[slots] = {device::no_logit, device::no_logit};
    ASSAY_UNROLL
    for (int atom = 0; atom < key_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < s[atom].count(); ++i) {
      float& value = s[atom].value[i];
      if constexpr (Traits::is_capped)
        value = a_.soft_cap * device::tanh(value * scale / a_.soft_cap) * device::log2_e;
      else
        value *= base2_scale;
      if constexpr (HasHidden) {  // whatever a hidden key made of it, NaN included
        const std::int32_t key = first_key + atom * device::group_columns + device::group_column(i);
        value = key < visible_keys_[i / 2] ? value : device::no_logit;
      }
      top[i / 2] = fmaxf(top[i / 2], value);
    }
    float base[slots];
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) top[slot] = join(top[slot], [](float x, float y) { return fmaxf(x, y); });
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      factors[slot] = softmax_[slot].move(top[slot]);
      base[slot] = softmax_[slot].base();
    }
    float part[slots][2 * key_atoms];
    ASSAY_UNROLL
    for (int atom = 0; atom < key_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < s[atom].count(); ++i) {
      float& value = s[atom].value[i];
      part[i / 2][2 * atom + i % 2] = value = device::exp2(value - base[i / 2]);
    }
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot)
      softmax_[slot].l = fmaf(softmax_[slot].l, factors[slot], device::tree_sum(part[slot]));
  }

  const prefill_arguments& a_;
  const prefill_work& work_;
  device::warpgroup_barrier& barrier_;
  std::int32_t first_row_;             ///< of the wave, counted in the sequence
  std::int32_t visible_to_group_ = 0;  ///< keys from there on are hidden from all rows of the warpgroup,
  std::int32_t visible_to_any_ = 0;    ///< from those of the wave;
  std::int32_t visible_to_all_ = 0;    ///< keys before it are visible to all of them, as far as they exist
  std::int32_t visible_keys_[slots] = {};
  float held_v_descale_ = 1.0F;  ///< O is in units of it
  device::softmax_state softmax_[slots];
  device::swizzled_strips queries_;  ///< of the warpgroup
  device::group_operand<element> p_[value_steps];
  sums o_[value_atoms];
};

#endif

}  // namespace assay
