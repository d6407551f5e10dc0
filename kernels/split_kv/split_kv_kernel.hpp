/// Split-KV attention over a paged cache. A block takes 8 or 16 rows (query rows times heads of one group) of one
/// sequence and kv head, and one split of its keys, in groups of one or two atoms of 16. Wave w takes the groups whose
/// number is w modulo the waves, with a state (m, l, O) and a ring in LDS of its own; waves meet when all is done, to
/// join their states.
/// Per group:
///   S^T = K Q^T | softmax: a lane holds keys of a row or two | O^T = O^T * alpha + V^T P^T
/// The rows are the columns of the matrix atoms, and P stays in registers.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/softmax.hpp"
#include "kernels/device/vector.hpp"
#include "kernels/split_kv/split_kv_stages.hpp"

namespace assay {

/// Types and extents of an instantiation. T: Q and K at the matrix unit. Halves: of `narrow_columns` rows, that a block
/// has.
template <class T, class StoredK, class StoredV, class Output, int MaxHeadDim, int Halves>
struct split_kv_traits {
  using element = T;
  using stored_k = StoredK;
  using stored_v = StoredV;
  /// V and P at the matrix unit. Of f16 P has more bits than of bf16, but below 2^-25 it becomes 0.
  using value = std::conditional_t<sizeof(StoredV) != 1, StoredV,
                                   std::conditional_t<device::prefers_half_values, device::f16, Output>>;
  using output = Output;
  using score = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;
  static constexpr int group_keys = split_kv_group_keys(sizeof(StoredK), sizeof(StoredV));
  static constexpr int key_atoms = group_keys / device::group_keys;  ///< of a group
  static constexpr int halves = Halves;
  static constexpr int atoms = MaxHeadDim / 16;
  /// A lane keeps its share of Q in registers, where that leaves enough of them.
  static constexpr bool holds_queries = device::may_hold_queries && MaxHeadDim <= 128;
  using ring =
      device::key_ring<StoredK, StoredV, device::swizzled_row_bytes(MaxHeadDim* static_cast<int>(sizeof(StoredK))),
                       device::swizzled_row_bytes(MaxHeadDim* static_cast<int>(sizeof(StoredV))),
                       device::wave_crew<group_keys, true, true>>;
};

/// Columns of a row of O that a thread joins at once: head_dim_v is a multiple of 8.
inline constexpr int join_columns = 2;
/// Threads that join a row in a block of the usual waves: with 128 columns each has two of a row.
inline constexpr int usual_join_lanes = 64;
static_assert(usual_split_kv_waves * device::smallest_wave >= usual_join_lanes);

static_assert(device::page_window_bytes <= split_kv_state_bytes);

/// A block's LDS.
struct block_lds {
  unsigned char* base;
  const split_kv_shape& shape;

  __device__ device::swizzled_rows q(int half) const {
    return {base + half * device::narrow_columns * shape.lds.q_row_bytes, shape.lds.q_row_bytes};
  }
  __device__ unsigned char* ring(int wave) const { return base + shape.lds.ring_at + wave * shape.lds.ring_bytes; }
  __device__ float* o(int wave, int row) const {
    return reinterpret_cast<float*>(ring(wave)) + row * shape.lds.o_stride;
  }
  /// Where page ids of a wave's next groups lie, and m and l of its rows when the last group is done.
  __device__ unsigned char* state(int wave) const { return base + shape.lds.states_at + wave * split_kv_state_bytes; }
  __device__ float& m(int wave, int row) const { return reinterpret_cast<float*>(state(wave))[row]; }
  __device__ float& l(int wave, int row) const { return m(wave, most_split_kv_rows + row); }
};

/// What a wave keeps from group to group: m, l and O of the block's rows, of which a lane has `narrow_slots` in a half.
template <class Traits>
class wave_state {
 public:
  using value = typename Traits::value;
  static constexpr int slots = device::narrow_slots;
  static constexpr int elements = static_cast<int>(sizeof(device::narrow_sums<float>) / sizeof(float));

  __device__ wave_state(const split_kv_arguments& a, const block_work& w) : a_(a), work_(w) {
    const bool is_first = device::wave_of_block() == 0, leads = lane() < device::narrow_stride;
    ASSAY_UNROLL
    for (int half = 0; half < Traits::halves; ++half) ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      const row_identity id = identify_row(a, w, row_of(half, slot));
      visible_[half][slot] = visible_to(a, w, id);
      if (a.sinks == nullptr || w.split != 0 || !is_first || !id.exists) continue;
      device::softmax_state& state = softmax_[half][slot];
      state.m = a.sinks[id.head] * device::log2_e;
      if (leads) state.l = state.m == device::no_logit ? 0.0F : 1.0F;  // one of the lanes that share the row
    }
  }

  /// Once Q is in LDS.
  __device__ void hold_queries(const block_lds& lds) {
    if constexpr (Traits::holds_queries) ASSAY_UNROLL
    for (int half = 0; half < Traits::halves; ++half) ASSAY_UNROLL
    for (int step = 0; step < Traits::atoms; ++step)
      if (step < steps()) device::load_queries<typename Traits::stored_k>(queries_[half][step], lds.q(half), step);
  }

  /// Takes in a group of keys.
  __device__ void take(const block_lds& lds, const device::swizzled_rows& keys, const device::swizzled_rows& values,
                       std::int32_t group) {
    using element = typename Traits::element;
    using stored_k = typename Traits::stored_k;
    device::narrow_sums<typename Traits::score> s[Traits::key_atoms][Traits::halves];
    device::multiply_keys<element, Traits::holds_queries ? Traits::atoms : 0, Traits::key_atoms>(
        s, steps(),
        [&](int atom, int step, auto& f) {
          device::load_keys<stored_k>(f, keys.from(atom * device::group_keys), step);
        },
        [&](int half, int step, auto& f) {
          if constexpr (Traits::holds_queries)
            f = queries_[half][step];
          else
            device::load_queries<stored_k>(f, lds.q(half), step);
        });

    const std::int32_t first_key = group * Traits::group_keys;
    const bool is_whole = work_.common.first <= first_key && first_key + Traits::group_keys <= work_.common.last;
    device::query_fragment<value> p[Traits::key_atoms][Traits::halves];
    ASSAY_UNROLL
    for (int half = 0; half < Traits::halves; ++half) {
      float y[Traits::key_atoms][elements];
      find_logits(half, first_key, is_whole, s, y);
      weigh(half, s[0][half].count(), y);
      ASSAY_UNROLL
      for (int atom = 0; atom < Traits::key_atoms; ++atom) device::to_operand(p[atom][half], y[atom]);
    }
    device::multiply_values(o_, blocks(), p, [&](int atom, int block, auto& f) {
      device::load_values<typename Traits::stored_v>(f, values.from(atom * device::group_keys), block);
    });
  }

  /// Leaves the state in LDS. The wave's ring is done.
  __device__ void leave(const block_lds& lds) {
    const int wave = device::wave_of_block();
    ASSAY_UNROLL
    for (int half = 0; half < Traits::halves; ++half) {
      float l[slots];
      ASSAY_UNROLL
      for (int slot = 0; slot < slots; ++slot) l[slot] = softmax_[half][slot].l;
      device::join_each(l, [](float x, float y) { return x + y; });
      ASSAY_UNROLL
      for (int slot = 0; slot < slots; ++slot) {
        if (lane() >= device::narrow_stride) continue;
        lds.m(wave, row_of(half, slot)) = softmax_[half][slot].m;
        lds.l(wave, row_of(half, slot)) = l[slot];
      }
      ASSAY_UNROLL
      for (int atom = 0; atom < Traits::atoms; ++atom) {
        if (atom >= 4 * blocks()) continue;
        ASSAY_UNROLL
        for (int i = 0; i < o_[half][atom].count(); ++i)
          lds.o(wave, row_of(half, i))[device::value_column<typename Traits::stored_v>(atom, device::narrow_row(i))] =
              o_[half][atom].value[i];
      }
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % device::wave_lanes(); }
  __device__ static int row_of(int half, int i) { return half * device::narrow_columns + device::narrow_column(i); }
  /// Atoms along the head dimension.
  __device__ int steps() const { return (a_.head_dim_qk + device::atom_depth - 1) / device::atom_depth; }
  /// Of 64 columns of V.
  __device__ int blocks() const { return (a_.head_dim_v + 63) / 64; }

  /// Base-2 logits of a half, by its dot products; int32 sums are below 2^23: exact as floats. is_whole: all rows see
  /// all of the keys.
  template <class Score>
  __device__ __forceinline__ void find_logits(int half, std::int32_t first_key, bool is_whole,
                                              const device::narrow_sums<Score> (&s)[Traits::key_atoms][Traits::halves],
                                              float (&y)[Traits::key_atoms][elements]) const {
    const bool is_plain = has_plain_logits(a_);
    if (is_plain && is_whole) {
      ASSAY_UNROLL
      for (int atom = 0; atom < Traits::key_atoms; ++atom) ASSAY_UNROLL
      for (int i = 0; i < s[atom][half].count(); ++i)
        y[atom][i] = static_cast<float>(s[atom][half].value[i]) * a_.base2_logit_scale;
      return;
    }
    const auto find = [&](auto logit_of) {
      ASSAY_UNROLL
      for (int atom = 0; atom < Traits::key_atoms; ++atom) ASSAY_UNROLL
      for (int i = 0; i < s[atom][half].count(); ++i) {
        const std::int32_t key = first_key + atom * device::group_keys + device::narrow_row(i);
        const bool is_visible = visible_[half][i % slots].holds(key);
        y[atom][i] = is_visible ? logit_of(i, key, static_cast<float>(s[atom][half].value[i])) : device::no_logit;
      }
    };
    if (is_plain)
      find([&](int, std::int32_t, float dot) { return dot * a_.base2_logit_scale; });
    else
      find([&](int i, std::int32_t key, float dot) { return base2_logit(a_, work_, row_of(half, i), key, dot); });
  }

  /// The logits of a half become probabilities, and O and l are scaled to the new maximum.
  __device__ __forceinline__ void weigh(int half, int count, float (&y)[Traits::key_atoms][elements]) {
    float top[slots], alpha[slots];
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      top[slot] = device::no_logit;
      ASSAY_UNROLL
      for (int atom = 0; atom < Traits::key_atoms; ++atom) ASSAY_UNROLL
      for (int i = slot; i < count; i += slots) top[slot] = fmaxf(top[slot], y[atom][i]);
    }
    device::join_each(top, [](float x, float z) { return fmaxf(x, z); });
    bool moves = false;
    ASSAY_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
      device::softmax_state& state = softmax_[half][slot];
      alpha[slot] = state.move(top[slot]);
      moves |= alpha[slot] != 1.0F;
      float sum[Traits::key_atoms];
      ASSAY_UNROLL
      for (int atom = 0; atom < Traits::key_atoms; ++atom) {
        float part[elements];
        ASSAY_UNROLL
        for (int i = slot; i < count; i += slots) part[i] = y[atom][i] = device::exp2(y[atom][i] - state.base());
        ASSAY_UNROLL
        for (int width = count / 2; width >= slots; width /= 2) ASSAY_UNROLL
        for (int i = slot; i < width; i += slots) part[i] += part[i + width];
        sum[atom] = part[slot];
      }
      state.l = fmaf(state.l, alpha[slot], Traits::key_atoms == 1 ? sum[0] : sum[0] + sum[Traits::key_atoms - 1]);
    }
    if (!platform::any_lane(moves)) return;  // all alphas are 1
    ASSAY_UNROLL
    for (int atom = 0; atom < Traits::atoms; ++atom) {
      if (atom >= 4 * blocks()) continue;
      ASSAY_UNROLL
      for (int i = 0; i < o_[half][atom].count(); ++i) o_[half][atom].value[i] *= alpha[i % slots];
    }
  }

  const split_kv_arguments& a_;
  const block_work& work_;
  device::key_range visible_[Traits::halves][slots];
  device::softmax_state softmax_[Traits::halves][slots];
  device::narrow_sums<float> o_[Traits::halves][Traits::atoms];
  device::query_fragment<typename Traits::element> queries_[Traits::holds_queries ? Traits::halves : 1]
                                                           [Traits::holds_queries ? Traits::atoms : 1];
};

/// The joined state of a row, and the weights of its waves in that.
__device__ inline device::softmax_state weigh_waves(const block_lds& lds, int waves, int row,
                                                    float (&weights)[most_split_kv_waves]) {
  device::softmax_state joined;
  ASSAY_UNROLL
  for (int wave = 0; wave < most_split_kv_waves; ++wave)
    if (wave < waves) joined.m = fmaxf(joined.m, lds.m(wave, row));
  ASSAY_UNROLL
  for (int wave = 0; wave < most_split_kv_waves; ++wave) {
    if (wave >= waves) continue;
    const float m = lds.m(wave, row);
    weights[wave] = m == joined.m ? 1.0F : device::exp2(m - joined.m);
    joined.l = fmaf(weights[wave], lds.l(wave, row), joined.l);
  }
  return joined;
}

/// Joins the waves' states, normalises O and stores it and the LSE. `Lanes` threads side by side take a row, and each
/// of them weighs its waves anew: that is sooner done than waited for.
template <class Output, int Lanes>
__device__ __forceinline__ void join_waves(const split_kv_arguments& a, const block_work& work, const block_lds& lds,
                                           int waves) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  if (lane * join_columns >= a.head_dim_v) return;  // narrow rows have none for it
  const int rows_at_once = waves * a.shape.lanes / Lanes;
  for (int row = static_cast<int>(threadIdx.x) / Lanes; row < a.shape.rows; row += rows_at_once) {
    const row_identity id = identify_row(a, work, row);
    if (!id.exists) return;
    float weights[most_split_kv_waves];
    const device::softmax_state joined = weigh_waves(lds, waves, row, weights);
    for (int column = lane * join_columns; column < a.head_dim_v; column += Lanes * join_columns) {
      float sum[join_columns] = {};
      ASSAY_UNROLL
      for (int wave = 0; wave < most_split_kv_waves; ++wave) {
        if (wave >= waves) continue;
        float o[join_columns];
        device::load_adjacent<join_columns>(o, lds.o(wave, row) + column);
        ASSAY_UNROLL
        for (int i = 0; i < join_columns; ++i) sum[i] = fmaf(weights[wave], o[i], sum[i]);
      }
      // + 0 makes a negative zero positive: its sign would tell of keys that the row does not see.
      ASSAY_UNROLL
      for (int i = 0; i < join_columns; ++i) sum[i] = joined.l == 0.0F ? 0.0F : sum[i] / joined.l * a.v_scale + 0.0F;
      store_o<Output>(a, work, id, column, sum);
    }
    if (lane == 0) store_lse(a, work, id, joined.lse());
  }
}

template <class Traits>
__global__ void __launch_bounds__(platform::most_threads_of_block) split_kv_block(split_kv_arguments a) {
  using stored_k = typename Traits::stored_k;
  using stored_v = typename Traits::stored_v;
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  const block_lds lds{reinterpret_cast<unsigned char*>(dynamic_lds), a.shape};

  platform::start_next_kernel();  // combine
  const block_work work = find_work<Traits::group_keys>(a);
  if (work.first_row >= work.rows) return;

  const int wave = device::wave_of_block();
  // The waves are a power of two.
  const std::int32_t first = work.first_group + ((wave - work.first_group) & (a.shape.waves - 1));
  const device::sequence_pages pages{a.page_indptr != nullptr ? a.pages + a.page_indptr[work.sequence]
                                                              : a.pages + work.sequence * a.block_table_stride,
                                     a.page_size, a.by_page_size};
  constexpr int k_bytes = sizeof(stored_k), v_bytes = sizeof(stored_v);
  typename Traits::ring ring(
      {{static_cast<const stored_k*>(a.k.data) + work.kv_head * a.k.stride[2], a.k.stride[0], a.k.stride[1]},
       a.head_dim_qk * k_bytes,
       (a.head_dim_qk + device::atom_depth - 1) / device::atom_depth * device::atom_depth * k_bytes},
      {{static_cast<const stored_v*>(a.v.data) + work.kv_head * a.v.stride[2], a.v.stride[0], a.v.stride[1]},
       a.head_dim_v * v_bytes,
       (a.head_dim_v + 63) / 64 * 64 * v_bytes},
      {pages, work.visible, first, work.last_group, a.shape.waves, a.has_whole_vectors != 0},
      {lds.ring(wave), a.shape.lds.k_row_bytes, a.shape.lds.v_row_bytes, a.shape.lds.slots, lds.state(wave)});
  const device::swizzled_rows q{lds.base, a.shape.lds.q_row_bytes};
  // Q is on its way before the keys, behind which it would wait for all of them; not where loads wait for it.
  if constexpr (!platform::copies_pass_registers) stage_q<typename Traits::element>(a, work, q);
  ring.start();
  if constexpr (platform::copies_pass_registers) stage_q<typename Traits::element>(a, work, q);
  wave_state<Traits> state(a, work);
  ring.await_earlier();
  __syncthreads();
  state.hold_queries(lds);

  for (std::int32_t group = first; group < work.last_group; group += a.shape.waves) {
    ring.advance();
    state.take(lds, ring.keys(), ring.values(), group);
  }

  ring.finish();
  state.leave(lds);
  __syncthreads();
  // Apart for the usual number of waves, which has no conditions then: all loads are on their way at once.
  if (a.shape.waves == usual_split_kv_waves)
    join_waves<typename Traits::output, usual_join_lanes>(a, work, lds, usual_split_kv_waves);
  else
    join_waves<typename Traits::output, device::smallest_wave>(a, work, lds, a.shape.waves);
}

template <class Traits>
void launch_block_kernel(const split_kv_arguments& arguments, split_kv_grid grid) {
  void (*const split_kv)(split_kv_arguments) = split_kv_block<Traits>;  // the name that the platform reports
  platform::allow_lds(split_kv, arguments.shape.lds.size_bytes);
  hipLaunchKernelGGL(split_kv, dim3(grid.blocks, grid.splits),
                     dim3(static_cast<unsigned int>(arguments.shape.waves * arguments.shape.lanes)),
                     static_cast<unsigned int>(arguments.shape.lds.size_bytes), platform::stream(), arguments);
}

template <class T, class StoredK, class StoredV, class Output, int Halves>
void launch_split_kv_of_rows(const split_kv_arguments& arguments, split_kv_grid grid) {
  const int head_dim = arguments.head_dim_qk < arguments.head_dim_v ? arguments.head_dim_v : arguments.head_dim_qk;
  if (head_dim <= 64)
    launch_block_kernel<split_kv_traits<T, StoredK, StoredV, Output, 64, Halves>>(arguments, grid);
  else if (head_dim <= 128)
    launch_block_kernel<split_kv_traits<T, StoredK, StoredV, Output, 128, Halves>>(arguments, grid);
  else
    launch_block_kernel<split_kv_traits<T, StoredK, StoredV, Output, max_head_dim, Halves>>(arguments, grid);
}

template <class T, class StoredK, class StoredV, class Output>
void launch_split_kv(const split_kv_arguments& arguments, split_kv_grid grid) {
  constexpr int most_halves = most_split_kv_rows / device::narrow_columns;
  if (arguments.shape.rows == device::narrow_columns)
    launch_split_kv_of_rows<T, StoredK, StoredV, Output, 1>(arguments, grid);
  else if constexpr (most_halves > 1)
    launch_split_kv_of_rows<T, StoredK, StoredV, Output, most_halves>(arguments, grid);
}

}  // namespace assay
