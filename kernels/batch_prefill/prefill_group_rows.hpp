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
#include "kernels/device/quad.hpp"
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
    weigh(s, find_tops(0, descales, s));
  }
  template <class Taker>
  __device__ __forceinline__ void take(Taker& ring, std::int32_t tile, const prefill_descales& descales) {
    ring.advance();
    sums s[key_atoms];
    begin_logits(s, ring.keys());
    begin_outputs(ring.values());
    ring.pass_turn();
    device::wait_for_warpgroup<1>(s);
    const tile_scales scales = find_tops(tile * prefill_group_tile_keys, descales, s);
    device::wait_for_warpgroup(o_);  // here, so that probabilities are rounded one by one as they come
    device::hold_registers(p_);
    ring.release();
    if (platform::any_lane(scales.of_outputs[0] != 1.0F || scales.of_outputs[1] != 1.0F)) ASSAY_UNROLL
    for (int atom = 0; atom < value_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < o_[atom].count(); ++i) o_[atom].value[i] *= scales.of_outputs[i / 2];
    weigh(s, scales);
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

  /// Normalises and stores O, with the last v descale, and the LSE. O is lost.
  __device__ __forceinline__ void store() {
    if (first_row_ >= work_.rows) return;
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      device::softmax_state state = softmax_[slot];
      state.l = device::join_quad(state.l, [](float x, float y) { return x + y; });
      const std::int64_t query = work_.first_query + row_of(slot);
      if (device::group_column(0) == 0 && row_of(slot) < work_.rows)
        static_cast<float*>(a_.lse.data)[query * a_.lse.stride[0] + work_.head * a_.lse.stride[1]] = state.lse();
      normalise(slot, state.l);
    }
    if (a_.has_whole_outputs != 0)
      store_chunks();
    else
      store_elements();
  }

 private:
  /// Counted in the sequence.
  __device__ std::int32_t row_of(int slot) const { return first_row_ + device::group_row(2 * slot); }
  /// Atoms along the head dimension.
  __device__ int steps() const { return multiplied_dim<key_element>(a_.head_dim_qk) / key_step; }

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

  /// What a tile's numbers are to be multiplied by.
  struct tile_scales {
    float of_logits[slots];   ///< before the maximum is taken from them, in base 2
    float of_sums[slots];     ///< of the tiles before
    float of_outputs[slots];  ///< of the tiles before: O is kept in units of the last tile's v descale
  };

  /// Moves the maxima. Without soft cap logits are scaled in one operation with the maximum, which is to be taken from
  /// them: but for rows whose maximum is so large that its rounding, by which exp2's argument may exceed 0, counts.
  __device__ __forceinline__ tile_scales find_tops(std::int32_t first_key, const prefill_descales& descales,
                                                   sums (&s)[key_atoms]) {
    const float base2_scale = a_.base2_logit_scale * descales.k;
    const bool is_fused = !Traits::is_capped && base2_scale > 0.0F;
    const bool is_whole = first_key + prefill_group_tile_keys <= visible_to_all_;
    if (!is_fused || !is_whole)
      scale_logits(first_key, is_fused ? 1.0F : Traits::is_capped ? a_.logit_scale * descales.k : base2_scale, s);
    float top[slots][2];  // chains of operations side by side
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) ASSAY_UNROLL
    for (float& of_chain : top[slot]) of_chain = device::no_logit;
    ASSAY_UNROLL
    for (int atom = 0; atom < key_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < s[atom].count(); ++i) top[i / 2][i % 2] = fmaxf(top[i / 2][i % 2], s[atom].value[i]);
    tile_scales scales;
    bool is_large[slots];
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      const float of_row =
          device::join_quad(fmaxf(top[slot][0], top[slot][1]), [](float x, float y) { return fmaxf(x, y); });
      scales.of_logits[slot] = is_fused ? base2_scale : 1.0F;
      scales.of_sums[slot] = scales.of_outputs[slot] = softmax_[slot].move(of_row * scales.of_logits[slot]);
      const float m = softmax_[slot].m;
      is_large[slot] = m != device::no_logit && !(fabsf(m) < prefill_least_rounded_maximum);
    }
    if (is_fused && platform::any_lane(is_large[0] || is_large[1])) {
      ASSAY_UNROLL
      for (sums& atom : s) ASSAY_UNROLL
      for (int i = 0; i < atom.count(); ++i) atom.value[i] *= is_large[i / 2] ? base2_scale : 1.0F;
      ASSAY_UNROLL
      for (int slot = 0; slot < slots; ++slot) scales.of_logits[slot] = is_large[slot] ? 1.0F : base2_scale;
    }
    if (first_key < visible_to_any_) {
      if (held_v_descale_ != descales.v && first_key != 0) ASSAY_UNROLL
      for (float& of_row : scales.of_outputs) of_row *= held_v_descale_ / descales.v;
      held_v_descale_ = descales.v;
    }
    return scales;
  }
  /// Logits times `factor`, then capped where there is a cap; of hidden keys no_logit.
  __device__ __forceinline__ void scale_logits(std::int32_t first_key, float factor, sums (&s)[key_atoms]) const {
    ASSAY_UNROLL
    for (int atom = 0; atom < key_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < s[atom].count(); ++i) {
      float& value = s[atom].value[i];
      value *= factor;
      if constexpr (Traits::is_capped) value = a_.soft_cap * device::tanh(value / a_.soft_cap) * device::log2_e;
      // Whatever a hidden key made of it, NaN included.
      const std::int32_t key = first_key + atom * device::group_columns + device::group_column(i);
      value = key < visible_keys_[i / 2] ? value : device::no_logit;
    }
  }

  /// Logits become probabilities, 0 for hidden keys. P goes from C to A as it lies in the lane: two atoms of keys side
  /// by side are one of A.
  __device__ __forceinline__ void weigh(sums (&s)[key_atoms], const tile_scales& scales) {
    float part[slots][2 * key_atoms];
    ASSAY_UNROLL
    for (int atom = 0; atom < key_atoms; ++atom) ASSAY_UNROLL
    for (int i = 0; i < s[atom].count(); ++i) {
      float& value = s[atom].value[i];
      value = device::exp2(fmaf(value, scales.of_logits[i / 2], -softmax_[i / 2].base()));
      part[i / 2][2 * atom + i % 2] = value;
    }
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot)
      softmax_[slot].l = fmaf(softmax_[slot].l, scales.of_sums[slot], device::tree_sum(part[slot]));
    ASSAY_UNROLL
    for (int step = 0; step < value_steps; ++step) ASSAY_UNROLL
    for (int word = 0; word < 4; ++word) {
      const sums& atom = s[2 * step + word / 2];
      p_[step].word[word] = device::round_pair<element>(atom.value[word % 2 * 2], atom.value[word % 2 * 2 + 1]);
    }
  }

  /// O of a row slot whose sum is l. + 0 makes a zero sum's negative zero positive: its sign would tell of keys that
  /// the row does not see.
  __device__ __forceinline__ void normalise(int slot, float l) {
    const bool is_empty = l == 0.0F;
    const float scale = is_empty ? 0.0F : a_.v_scale * held_v_descale_ / l;
    const auto for_each = [&](auto change) {
      ASSAY_UNROLL
      for (sums& atom : o_) ASSAY_UNROLL
      for (int i = 2 * slot; i < 2 * slot + 2; ++i) change(atom.value[i]);
    };
    // Apart: zero times what is no number is none.
    if (platform::any_lane(is_empty)) for_each([&](float& value) { value = is_empty ? 0.0F : value; });
    for_each([&](float& value) { value = fmaf(value, scale, 0.0F); });
  }
  __device__ typename Traits::output* row_of_outputs(int slot) const {
    return static_cast<typename Traits::output*>(a_.o.data) + (work_.first_query + row_of(slot)) * a_.o.stride[0] +
           work_.head * a_.o.stride[1];
  }
  /// Of four atoms each lane of a row gets one, which is a chunk.
  __device__ __forceinline__ void store_chunks() const {
    using output = typename Traits::output;
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      output* const to = row_of_outputs(slot);
      ASSAY_UNROLL
      for (int atom = 0; atom < value_atoms; atom += 4) {
        std::uint32_t word[4];
        ASSAY_UNROLL
        for (int i = 0; i < 4; ++i) {
          const float* const pair = o_[atom + i].value + 2 * slot;
          word[i] = device::round_pair<output>(pair[0], pair[1]);
        }
        device::transpose_quad(word);
        const std::int32_t column = atom * device::group_columns + device::group_column(0) / 2 * device::group_columns;
        if (row_of(slot) < work_.rows && column < a_.head_dim_v)
          *reinterpret_cast<uint4*>(to + column) = make_uint4(word[0], word[1], word[2], word[3]);
      }
    }
  }
  __device__ __forceinline__ void store_elements() const {
    using output = typename Traits::output;
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      if (row_of(slot) >= work_.rows) continue;
      output* const to = row_of_outputs(slot);
      ASSAY_UNROLL
      for (int atom = 0; atom < value_atoms; ++atom) ASSAY_UNROLL
      for (int i = 0; i < 2; ++i) {
        const std::int32_t column = atom * device::group_columns + device::group_column(i);
        if (column < a_.head_dim_v)
          to[column * a_.o.stride[2]] = device::from_float<output>(o_[atom].value[2 * slot + i]);
      }
    }
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
