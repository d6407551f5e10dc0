/// The combine kernel: some columns of a row a lane. Partials of many splits are on their way at once, and before the
/// weights are known. LSEs and weights lie in LDS. Of few splits a row's lanes are of one wave, and need no barrier.
#include "kernels/split_kv/combine_arguments.hpp"

#include <hip/hip_runtime.h>

#include "kernels/device/convert.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

constexpr int columns_at_once = 128;  // of a row; head_dim_v is a multiple of 8
constexpr int few_splits = 16;
constexpr int many_splits = 48;
constexpr int splits_of_step = 16;  // of which all are loaded, or none
constexpr float nothing = -__builtin_huge_valf();

__device__ inline float partial_lse(const combine_arguments& a, int split, std::int64_t query, std::int64_t head) {
  const std::int64_t at =
      split * a.lse_partial.stride[0] + query * a.lse_partial.stride[1] + head * a.lse_partial.stride[2];
  return static_cast<const float*>(a.lse_partial.data)[at];
}

/// A lane's columns of some splits.
template <int Splits, int Columns>
struct partials {
  float of_split[Splits][Columns];
};

/// Whether `partials` of the splits from `first` on are full, and read whole: then no load has a condition.
template <int Splits>
__device__ inline bool is_full(const combine_arguments& a, int first) {
  return a.num_splits - first >= Splits && a.has_whole_partials != 0;
}

/// Starts the loads from split `first` on. `from`: the columns of split 0. A pointer that steps from split to split
/// takes fewer registers on AMD's GPUs than one place for each, if the two loops do not share it.
template <int Splits, int Columns>
__device__ inline void load_partials(const combine_arguments& a, const float* from, int first,
                                     partials<Splits, Columns>& to) {
  if (is_full<Splits>(a, first)) {
    const float* split = from + first * a.o_partial.stride[0];
    ASSAY_UNROLL
    for (int i = 0; i < Splits; ++i, split += a.o_partial.stride[0])
      device::load_adjacent<Columns>(to.of_split[i], split);
    return;
  }
  const float* split = from + first * a.o_partial.stride[0];
  ASSAY_UNROLL
  for (int step = 0; step < Splits; step += splits_of_step) {
    if (first + step >= a.num_splits) continue;
    ASSAY_UNROLL
    for (int i = step; i < step + splits_of_step; ++i, split += a.o_partial.stride[0]) {
      if (first + i >= a.num_splits) continue;
      if (a.has_whole_partials != 0)
        device::load_adjacent<Columns>(to.of_split[i], split);
      else
        for (int c = 0; c < Columns; ++c) to.of_split[i][c] = split[c];
    }
  }
}

/// Adds w_s o_s, in the splits' order.
template <int Splits, int Columns, class Weights>
__device__ inline void add_partials(const combine_arguments& a, const Weights& weights, int first,
                                    const partials<Splits, Columns>& from, float (&sum)[Columns]) {
  const auto add = [&](int i) {
    ASSAY_UNROLL
    for (int c = 0; c < Columns; ++c) sum[c] = fmaf(weights.of(first, i), from.of_split[i][c], sum[c]);
  };
  if (a.num_splits - first >= Splits) {
    ASSAY_UNROLL
    for (int i = 0; i < Splits; ++i) add(i);
    return;
  }
  ASSAY_UNROLL
  for (int step = 0; step < Splits; step += splits_of_step) {
    if (first + step >= a.num_splits) continue;
    ASSAY_UNROLL
    for (int i = step; i < step + splits_of_step; ++i)
      if (first + i < a.num_splits) add(i);
  }
}

/// `Columns` elements of a row of o. to: the first one's offset.
template <class Output, int Columns>
__device__ inline void store_columns(const combine_arguments& a, std::int64_t to, const float (&values)[Columns]) {
  Output* const o = static_cast<Output*>(a.o.data) + to;
  Output rounded[Columns];
  ASSAY_UNROLL
  for (int i = 0; i < Columns; ++i) rounded[i] = device::from_float<Output>(values[i]);
  if (a.has_whole_outputs != 0) {
    device::store_adjacent<Columns>(o, rounded);
  } else {
    ASSAY_UNROLL
    for (int i = 0; i < Columns; ++i) o[i * a.o.stride[2]] = rounded[i];
  }
}

__device__ inline float weight_of(float lse, float largest) {
  return lse == nothing ? 0.0F : device::exp(lse - largest);  // all empty: -inf - -inf would be NaN
}

/// LSEs of a row's splits and their weights, which its lanes find together: `Lanes` of them side by side have the row.
/// All threads of the block are to construct them and to call find().
template <int Splits, int Lanes>
class split_weights {
 public:
  /// Asks for the LSEs.
  __device__ split_weights(const combine_arguments& a, std::int64_t query, std::int64_t head, bool exists) {
    ASSAY_UNROLL
    for (int i = 0; i < splits_of_lane; ++i)
      if (exists && lane() + i * Lanes < a.num_splits) lses_[i] = partial_lse(a, lane() + i * Lanes, query, head);
  }

  __device__ void find(const combine_arguments& a, bool exists) {
    ASSAY_UNROLL
    for (int i = 0; i < splits_of_lane; ++i) row_.lse[lane() + i * Lanes] = lses_[i];
    __syncthreads();
    if (exists) {
      for (int s = 0; s < a.num_splits; ++s) largest_ = device::max_or_nan(largest_, row_.lse[s]);
      ASSAY_UNROLL
      for (int i = 0; i < splits_of_lane; ++i) row_.weight[lane() + i * Lanes] = weight_of(lses_[i], largest_);
    }
    __syncthreads();
    for (int s = 0; exists && s < a.num_splits; ++s) total_ += row_.weight[s];
  }

  __device__ float largest() const { return largest_; }
  __device__ float total() const { return total_; }
  /// Of split first + i. `first` is a multiple of Splits.
  __device__ float of(int first, int i) const { return row_.weight[first + i]; }

 private:
  static constexpr int splits_of_lane = max_num_splits / Lanes;
  static_assert(splits_of_lane * Lanes == max_num_splits && splits_of_lane == 2);
  struct row_lds {
    float lse[max_num_splits], weight[max_num_splits];
  };
  __device__ static row_lds& row_of_lane() {
    __shared__ row_lds rows[combine_threads / Lanes];
    return rows[static_cast<int>(threadIdx.x) / Lanes];
  }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % Lanes; }

  row_lds& row_ = row_of_lane();
  float lses_[splits_of_lane] = {nothing, nothing};
  float largest_ = nothing, total_ = 0.0F;
};

/// Of few splits a lane has one, and the row's lanes are of one wave: all lanes of the wave are to call find().
template <int Lanes>
class split_weights<few_splits, Lanes> {
 public:
  __device__ split_weights(const combine_arguments& a, std::int64_t query, std::int64_t head, bool exists) {
    if (exists && lane() < a.num_splits) lse_ = partial_lse(a, lane(), query, head);
  }

  __device__ void find(const combine_arguments& /*a*/, bool /*exists*/) {
    if (lane() < few_splits) row().lse[lane()] = lse_;
    platform::wave_fence();
    float lses[few_splits];
    load_row(lses, row().lse);
    ASSAY_UNROLL
    for (int s = 0; s < few_splits; ++s) largest_ = device::max_or_nan(largest_, lses[s]);
    if (lane() < few_splits) row().weight[lane()] = weight_of(lse_, largest_);
    platform::wave_fence();
    load_row(of_split_, row().weight);
    ASSAY_UNROLL
    for (int s = 0; s < few_splits; ++s) total_ += of_split_[s];
  }

  __device__ float largest() const { return largest_; }
  __device__ float total() const { return total_; }
  __device__ float of(int /*first*/, int i) const { return of_split_[i]; }

 private:
  static_assert(few_splits <= Lanes && device::smallest_wave % Lanes == 0);
  struct alignas(16) row_lds {
    float lse[few_splits], weight[few_splits];
  };
  __device__ static row_lds& row() {
    __shared__ row_lds rows[combine_threads / Lanes];
    return rows[static_cast<int>(threadIdx.x) / Lanes];
  }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % Lanes; }
  __device__ static void load_row(float (&to)[few_splits], const float* from) {
    ASSAY_UNROLL
    for (int s = 0; s < few_splits; s += 4) device::load_adjacent<4>(to + s, from + s);
  }

  float lse_ = nothing;  ///< of the lane's split
  float of_split_[few_splits];
  float largest_ = nothing, total_ = 0.0F;
};

/// Splits: of which partials are on their way at once; Columns: of a lane. A compute unit is to hold as many blocks as
/// leave each thread the registers for its partials: with ten of them on sm_90a some are stored and loaded again, and
/// 16384 rows of 16 splits take 40 us for 35.
template <int Splits, int Columns>
__global__ void __launch_bounds__(combine_threads, platform::bound_of_blocks(8, combine_threads))
    combine_splits(combine_arguments a) {
  constexpr int lanes = columns_at_once / Columns, rows_of_block = combine_threads / lanes;
  const int slot = static_cast<int>(threadIdx.x) / lanes, own = static_cast<int>(threadIdx.x) % lanes * Columns;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * rows_of_block + slot;
  const bool is_row = row < a.rows;
  const std::int32_t query = a.by_heads_q.quotient(is_row ? static_cast<std::int32_t>(row) : 0);
  const std::int64_t head = is_row ? row - std::int64_t{query} * a.heads_q : 0;
  const bool exists = is_row && (a.end_query == nullptr || query < *a.end_query);
  platform::await_kernel_before();

  const float* const of_row =
      static_cast<const float*>(a.o_partial.data) + query * a.o_partial.stride[1] + head * a.o_partial.stride[2];
  split_weights<Splits, lanes> weights(a, query, head, exists);
  partials<Splits, Columns> part;
  if (exists && own < a.head_dim_v) load_partials(a, of_row + own, 0, part);
  weights.find(a, exists);
  if (!exists) return;

  const float largest = weights.largest(), total = weights.total();
  // All lanes compute the LSE, which one of them stores, and the quotients, which empty rows drop: a branch would cost
  // a wait.
  const bool is_empty = largest == nothing;
  const float lse = is_empty ? nothing : largest + device::log(total), divisor = is_empty ? 1.0F : total;
  if (own == 0) static_cast<float*>(a.lse.data)[query * a.lse.stride[0] + head * a.lse.stride[1]] = lse;
  const std::int64_t to = query * a.o.stride[0] + head * a.o.stride[1];
  for (int column = own; column < a.head_dim_v; column += columns_at_once) {
    float sum[Columns] = {};
    for (int first = 0; first < a.num_splits; first += Splits) {
      if (column != own || first != 0) load_partials(a, of_row + column, first, part);
      add_partials(a, weights, first, part, sum);
    }
    ASSAY_UNROLL
    for (int i = 0; i < Columns; ++i) {
      const float quotient = sum[i] / divisor;
      sum[i] = is_empty ? 0.0F : quotient;
    }
    if (a.o_type == dtype::f16)
      store_columns<device::f16>(a, to + column * a.o.stride[2], sum);
    else
      store_columns<device::bf16>(a, to + column * a.o.stride[2], sum);
  }
}

template <int Splits, int Columns>
void launch_combine_splits(const combine_arguments& arguments) {
  constexpr int rows_of_block = combine_threads / (columns_at_once / Columns);
  static_assert(rows_of_block >= 1);
  void (*const combine)(combine_arguments) = combine_splits<Splits, Columns>;  // the name that the platform reports
  const std::int64_t blocks = (arguments.rows + rows_of_block - 1) / rows_of_block;
  ASSAY_LAUNCH_BEHIND(combine, dim3(static_cast<unsigned int>(blocks)), dim3(combine_threads), arguments);
}

}  // namespace

void launch_combine(const combine_arguments& arguments) {
  arguments.num_splits <= few_splits ? launch_combine_splits<few_splits, 4>(arguments)
                                     : launch_combine_splits<many_splits, 2>(arguments);
}

}  // namespace assay
