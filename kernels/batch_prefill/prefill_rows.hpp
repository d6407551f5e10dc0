/// A wave's 16 query rows of batch_prefill: Q, O and the softmax of each row, in registers.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/prefill_work.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/softmax.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/device/warpgroup.hpp"

namespace assay {

/// Types and extents of an instantiation. T: at the matrix unit; Stored: of Q, K and V; Out: of O. IsCapped: there is a
/// soft cap, whose hyperbolic tangents would take registers, and most of the code, of those without.
template <class T, class Stored, class Out, int MaxHeadDim, bool IsCapped>
struct prefill_traits {
  using element = T;
  using stored = Stored;
  using output = Out;
  using in_lds = device::widened_on_the_way<Stored, T>;  ///< what K and V are there
  static constexpr int atoms = MaxHeadDim / 16;
  static constexpr int halves = prefill_wave_rows / device::narrow_columns;
  static constexpr bool is_capped = IsCapped;
  static constexpr bool holds_queries = !platform::has_few_registers;
  static constexpr int row_bytes = device::swizzled_row_bytes(MaxHeadDim * static_cast<int>(sizeof(Stored)));
  static constexpr int max_head_dim = MaxHeadDim;
};

/// Descales of a tile's page.
struct prefill_descales {
  float k = 1.0F, v = 1.0F;
};

/// Elements of a row that are multiplied as Element: whole atoms.
template <class Element>
__device__ constexpr std::int32_t multiplied_dim(std::int32_t head_dim) {
  constexpr std::int32_t atom = device::group_reduction_bytes / static_cast<std::int32_t>(sizeof(Element));
  return (head_dim + atom - 1) / atom * atom;
}

/// Elements of a row of Q that are a chunk in LDS. They become what is multiplied on the way there: a load is not
/// waited for before.
template <class Stored, class Element>
struct query_chunk {
  static constexpr int count = device::chunk_bytes / static_cast<int>(sizeof(Element));
  static constexpr int vector_elements = 8;  ///< has_whole_queries
  using vector = std::conditional_t<sizeof(Stored) == 1, uint2, uint4>;
  alignas(sizeof(vector)) Stored values[count];

  /// From element `first` of the row on; `step`: between elements.
  __device__ __forceinline__ void load(const Stored* row, std::int32_t first) {
    ASSAY_UNROLL
    for (int i = 0; i < count; i += vector_elements)
      *reinterpret_cast<vector*>(values + i) = *reinterpret_cast<const vector*>(row + first + i);
  }
  __device__ __forceinline__ void load(const Stored* row, std::int32_t first, std::int64_t step) {
    ASSAY_UNROLL
    for (int i = 0; i < count; ++i) values[i] = row[(first + i) * step];
  }
  __device__ __forceinline__ void store(unsigned char* to) const {
    alignas(device::chunk_bytes) Element multiplied[count];
    ASSAY_UNROLL
    for (int i = 0; i < count; ++i)
      if constexpr (std::is_same_v<Stored, Element>)
        multiplied[i] = values[i];
      else
        multiplied[i] = device::to_compute<Element>(values[i]);
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(multiplied);
  }
};

/// Chunks of a wave's 16 rows of Q on their way to LDS, where they are Element, `Count` of a lane. Rows and columns
/// beyond the tensor are zeros, as far as they are multiplied.
template <class Traits, class Element, int Count>
class query_chunks {
  using stored = typename Traits::stored;
  using chunk = query_chunk<stored, Element>;
  static constexpr int of_row = Traits::max_head_dim / chunk::count;  ///< of the longest: then no division is one
  static_assert(32 % of_row == 0);  // so that all chunks of a lane have the same columns

 public:
  static constexpr int of_all_rows = prefill_wave_rows * of_row;

  /// first_row: of the wave, in the sequence; first: of its chunks.
  __device__ __forceinline__ void load(const prefill_arguments& a, const prefill_work& w, std::int32_t first_row,
                                       int first) {
    const std::int32_t row = first_row + row_of(first), column = column_of(first);
    const std::int64_t from = (w.first_query + row) * a.q.stride[0] + w.head * a.q.stride[1];
    const std::int64_t step = rows_at_once() * a.q.stride[0];
    const auto load_each = [&](auto load) {
      ASSAY_UNROLL
      for (int i = 0; i < Count; ++i) {
        held_[i] = {};
        if (has(first, i) && row + i * rows_at_once() < w.rows && column < a.head_dim_qk)
          load(held_[i], static_cast<const stored*>(a.q.data) + (from + i * step));
      }
    };
    if (a.has_whole_queries != 0)
      load_each([&](chunk& to, const stored* of_row) { to.load(of_row, column); });
    else
      load_each([&](chunk& to, const stored* of_row) { to.load(of_row, column, a.q.stride[2]); });
  }
  template <class Rows>
  __device__ __forceinline__ void store(const prefill_arguments& a, int first, const Rows& rows) const {
    const int column = column_of(first);
    if (column >= multiplied_dim<Element>(a.head_dim_qk)) return;
    ASSAY_UNROLL
    for (int i = 0; i < Count; ++i)
      if (has(first, i)) held_[i].store(rows.chunk(row_of(first) + i * rows_at_once(), column / chunk::count));
  }

 private:
  __device__ static int rows_at_once() { return device::wave_lanes() / of_row; }
  __device__ static int own(int first) { return first + static_cast<int>(threadIdx.x) % device::wave_lanes(); }
  __device__ static int row_of(int first) { return own(first) / of_row; }
  __device__ static int column_of(int first) { return own(first) % of_row * chunk::count; }
  __device__ static bool has(int first, int i) {
    return of_all_rows % (Count * device::wave_lanes()) == 0 || row_of(first) + i * rows_at_once() < prefill_wave_rows;
  }

  chunk held_[Count];
};

template <class Traits>
class prefill_rows {
  using element = typename Traits::element;
  using stored = typename Traits::stored;
  using in_lds = typename Traits::in_lds;
  using sums = device::narrow_sums<float>;
  static constexpr int halves = Traits::halves;
  static constexpr int slots = device::narrow_slots;
  static constexpr int groups = prefill_tile_keys / device::group_keys;

 public:
  __device__ prefill_rows(const prefill_arguments& a, const prefill_work& w)
      : a_(a), work_(w), first_row_(w.first_row + device::wave_of_block() * prefill_wave_rows) {
    if (!exist()) return;
    visible_to_all_ = w.visible_to(a, first_row_);
    visible_to_any_ = w.visible_to(a, device::min_of(w.rows, first_row_ + prefill_wave_rows) - 1);
    ASSAY_UNROLL
    for (int half = 0; half < halves; ++half) ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot)
      visible_keys_[half][slot] = w.visible_to(a, first_row_ + row_of(half, slot));
  }

  /// The wave's rows of Q to LDS, and from there to registers, where these are not few: then LDS may be used again.
  __device__ __forceinline__ void load_queries(unsigned char* lds) {
    const int row_bytes = device::swizzled_row_bytes(a_.head_dim_qk * static_cast<int>(sizeof(element)));
    rows_of_q_ = {lds + device::wave_of_block() * prefill_wave_rows * row_bytes, row_bytes};
    constexpr int at_once = 4;
    using some_chunks = query_chunks<Traits, element, at_once>;
    for (int first = 0; first < some_chunks::of_all_rows; first += at_once * device::wave_lanes()) {
      some_chunks some;
      some.load(a_, work_, first_row_, first);
      some.store(a_, first, rows_of_q_);
    }
    platform::wave_fence();
    if constexpr (Traits::holds_queries) ASSAY_UNROLL
    for (int half = 0; half < halves; ++half) ASSAY_UNROLL
    for (int step = 0; step < Traits::atoms; ++step)
      if (step < steps()) device::load_queries<stored>(queries_[half][step], queries_of(half), step);
  }

  /// Takes in a tile of keys. S = Q K^T, softmax, O = O * alpha * ratio + P V.
  template <class Rows>
  __device__ __forceinline__ void take(const Rows& keys, const Rows& values, std::int32_t tile,
                                       const prefill_descales& descales) {
    const std::int32_t first_key = tile * prefill_tile_keys;
    if (first_key >= visible_to_any_) return;
    sums s[groups][halves];
    ASSAY_UNROLL
    for (int group = 0; group < groups; ++group)
      device::multiply_keys<element, Traits::holds_queries ? Traits::atoms : 0, 1>(
          &s[group], steps(),
          [&](int, int step, auto& f) { device::load_keys<in_lds>(f, rows_of_group(keys, group), step); },
          [&](int half, int step, auto& f) {
            if constexpr (Traits::holds_queries)
              f = queries_[half][step];
            else
              device::load_queries<stored>(f, queries_of(half), step);
          });

    // O is kept in units of the last tile's v descale, so that P V needs no pass of its own.
    const float ratio = held_v_descale_ == descales.v || first_key == 0 ? 1.0F : held_v_descale_ / descales.v;
    held_v_descale_ = descales.v;
    const bool is_whole = first_key + prefill_tile_keys <= visible_to_all_;
    bool moves = false;
    float factors[halves][slots];
    ASSAY_UNROLL
    for (int half = 0; half < halves; ++half) {
      if (is_whole)
        weigh<false>(half, first_key, descales.k, s, factors[half]);
      else
        weigh<true>(half, first_key, descales.k, s, factors[half]);
      ASSAY_UNROLL
      for (int slot = 0; slot < slots; ++slot) {
        factors[half][slot] *= ratio;
        moves |= factors[half][slot] != 1.0F;
      }
    }
    if (platform::any_lane(moves)) scale_outputs(factors);

    ASSAY_UNROLL
    for (int group = 0; group < groups; ++group) {
      device::query_fragment<element> p[1][halves];
      ASSAY_UNROLL
      for (int half = 0; half < halves; ++half) device::to_operand(p[0][half], s[group][half].value);
      const Rows rows = rows_of_group(values, group);
      device::multiply_values(o_, blocks(), p,
                              [&](int, int block, auto& f) { device::load_values<in_lds>(f, rows, block); });
    }
  }

  /// Normalises and stores O, with the last v descale, and the LSE.
  __device__ __forceinline__ void store() const {
    if (!exist()) return;
    ASSAY_UNROLL
    for (int half = 0; half < halves; ++half) {
      float l[slots];
      ASSAY_UNROLL
      for (int slot = 0; slot < slots; ++slot) {
        device::softmax_state state = softmax_[half][slot];
        l[slot] = state.l = device::join_column(state.l, [](float x, float y) { return x + y; });
        const std::int32_t row = first_row_ + row_of(half, slot);
        if (lane() < device::narrow_stride && row < work_.rows)
          static_cast<float*>(
              a_.lse.data)[(work_.first_query + row) * a_.lse.stride[0] + work_.head * a_.lse.stride[1]] = state.lse();
      }
      store_outputs(half, l);
    }
  }

 private:
  __device__ bool exist() const { return first_row_ < work_.rows; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % device::wave_lanes(); }
  /// Of the wave's rows the one to which element (or slot) i of a half belongs.
  __device__ static int row_of(int half, int i) { return half * device::narrow_columns + device::narrow_column(i); }
  /// Atoms along the head dimension.
  __device__ int steps() const { return a_.head_dim_qk / device::atom_depth; }
  /// Of 64 columns of V.
  __device__ int blocks() const { return (a_.head_dim_v + 63) / 64; }
  template <class Rows>
  __device__ static Rows rows_of_group(const Rows& rows, int group) {
    return rows.from(group * device::group_keys);
  }
  __device__ device::swizzled_rows queries_of(int half) const { return rows_of_q_.from(half * device::narrow_columns); }

  /// The dot products of a half become probabilities, 0 for hidden keys; factors[slot] is what sums of the state before
  /// are to be scaled by. Logits are rounded before the maximum is taken from them: in one operation with that their
  /// rounding would be left, by which exp2's argument may exceed 0 so far that sums are infinite.
  template <bool HasHidden>
  __device__ __forceinline__ void weigh(int half, std::int32_t first_key, float k_descale, sums (&s)[groups][halves],
                                        float (&factors)[slots]) {
    const float scale = a_.logit_scale * k_descale, base2_scale = a_.base2_logit_scale * k_descale;
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      float top = device::no_logit;
      ASSAY_UNROLL
      for (int group = 0; group < groups; ++group) ASSAY_UNROLL
      for (int i = slot; i < s[group][half].count(); i += slots) {
        float& value = s[group][half].value[i];
        if constexpr (Traits::is_capped)
          value = a_.soft_cap * device::tanh(value * scale / a_.soft_cap) * device::log2_e;
        else
          value *= base2_scale;
        if constexpr (HasHidden) {  // whatever a hidden key made of it, NaN included
          const std::int32_t key = first_key + group * device::group_keys + device::narrow_row(i);
          value = key < visible_keys_[half][slot] ? value : device::no_logit;
        }
        top = fmaxf(top, value);
      }
      top = device::join_column(top, [](float x, float y) { return fmaxf(x, y); });
      device::softmax_state& state = softmax_[half][slot];
      factors[slot] = state.move(top);

      const float base = state.base();
      float sum[groups];
      ASSAY_UNROLL
      for (int group = 0; group < groups; ++group) {
        sums& of_group = s[group][half];
        float part[sizeof(sums) / sizeof(float)];
        ASSAY_UNROLL
        for (int i = slot; i < of_group.count(); i += slots) {
          float& value = of_group.value[i];
          part[i] = value = device::exp2(value - base);
        }
        ASSAY_UNROLL
        for (int width = of_group.count() / 2; width >= slots; width /= 2) ASSAY_UNROLL
        for (int i = slot; i < width; i += slots) part[i] += part[i + width];
        sum[group] = part[slot];
      }
      static_assert(groups == 4);
      state.l = fmaf(state.l, factors[slot], (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
  }

  __device__ __forceinline__ void scale_outputs(const float (&factors)[halves][slots]) {
    ASSAY_UNROLL
    for (int half = 0; half < halves; ++half) ASSAY_UNROLL
    for (int atom = 0; atom < Traits::atoms; ++atom) {
      if (atom >= 4 * blocks()) continue;
      ASSAY_UNROLL
      for (int i = 0; i < o_[half][atom].count(); ++i) o_[half][atom].value[i] *= factors[half][i % slots];
    }
  }

  __device__ __forceinline__ void store_outputs(int half, const float (&l)[slots]) const {
    using output = typename Traits::output;
    float scale[slots];
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) scale[slot] = a_.v_scale * held_v_descale_ / l[slot];
    ASSAY_UNROLL
    for (int atom = 0; atom < Traits::atoms; ++atom) {
      if (atom >= 4 * blocks()) continue;
      ASSAY_UNROLL
      for (int i = 0; i < o_[half][atom].count(); ++i) {
        const std::int32_t row = first_row_ + row_of(half, i);
        const std::int32_t column = device::value_column<in_lds>(atom, device::narrow_row(i));
        if (row >= work_.rows || column >= a_.head_dim_v) continue;
        // + 0 makes a negative zero positive: its sign would tell of keys that the row does not see.
        const float o = l[i % slots] == 0.0F ? 0.0F : o_[half][atom].value[i] * scale[i % slots] + 0.0F;
        static_cast<output*>(a_.o.data)[(work_.first_query + row) * a_.o.stride[0] + work_.head * a_.o.stride[1] +
                                        column * a_.o.stride[2]] = device::from_float<output>(o);
      }
    }
  }

  const prefill_arguments& a_;
  const prefill_work& work_;
  std::int32_t first_row_;           ///< of the wave, counted in the sequence
  std::int32_t visible_to_all_ = 0;  ///< keys before it are visible to all the rows, as far as they exist
  std::int32_t visible_to_any_ = 0;  ///< keys from there on are hidden from all
  std::int32_t visible_keys_[halves][slots] = {};
  float held_v_descale_ = 1.0F;  ///< O is in units of it
  device::softmax_state softmax_[halves][slots];
  device::swizzled_rows rows_of_q_ = {};
  device::query_fragment<element> queries_[Traits::holds_queries ? halves : 1]
                                          [Traits::holds_queries ? Traits::atoms : 1];
  sums o_[halves][Traits::atoms];
};

}  // namespace assay
