/// Matrix atoms of the cpu platform: a rendezvous of the wave, laid out as CDNA's MFMA with 64 lanes and as RDNA4's
/// WMMA with 32. All atoms of a chain share one rendezvous, since a fiber switch costs as much as a few dozen products.
///
/// Arithmetic of an atom: cpu::multiply_tiles().
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/contract.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/library.h"
#include "kernels/platform/cpu/base/unchecked.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"
#include "kernels/platform/cpu/matrix_unit/matrix_unit.hpp"
#include "kernels/platform/cpu/matrix_unit/tile_products.hpp"

namespace assay::device {

/// Elements of a tile of 16x16 that a lane holds. One of two constants, which spares a division and shows the compiler
/// which indices are in bounds.
inline int lane_share() {
  return cpu::wave_size() == 64 ? 4 : 8;
}

/// A lane's elements of A or B: 4 of them with 64 lanes, 8 with 32.
template <class T>
struct fragment {
  alignas(8 * sizeof(T)) T value[8];
  static int count() { return lane_share(); }
};

template <class Acc>
struct accumulator {
  Acc value[8] = {};
  static int count() { return lane_share(); }
};

/// `outer` is the row of A or the column of B.
struct coordinate {
  int outer;
  int k;
};

inline constexpr int k_run = 4;  // of both wave sizes

inline coordinate a_coordinate(int i) {
  const int lane = cpu::lane_id();
  return {lane % 16, lane / 16 * lane_share() + i};
}
inline coordinate b_coordinate(int i) {
  return a_coordinate(i);
}
inline int c_row(int i) {
  return cpu::lane_id() / 16 * lane_share() + i;
}
inline int c_column(int) {
  return cpu::lane_id() % 16;
}

inline constexpr int largest_wave = 64;
inline constexpr int smallest_wave = 32;

inline int wave_lanes() {
  return cpu::wave_size();
}

/// `count` products. Of a chain all are added to c[0]; of a fan each has a c of its own, and all have b[0].
template <class T, class Acc>
struct chain_record {
  accumulator<Acc>* c;
  const fragment<T>* a;
  const fragment<T>* b;
  int count;
  bool is_fan = false;
};

inline constexpr int longest_chain = 16;

// The gathering of tiles is not kernel code: it runs unchecked.
ASSAY_BEGIN_NOT_CHECKED

inline std::uint16_t bits_of(f16 x) {
  return x.bits;
}
inline std::uint16_t bits_of(bf16 x) {
  return x.bits;
}
inline std::int8_t bits_of(std::int8_t x) {
  return x;
}
template <class T>
using tiles_of = cpu::operand_tiles<decltype(bits_of(T{}))>;

/// Whole tiles, gathered from the lanes. Share: elements of a tile that a lane holds, a constant, so that they are
/// moved without a loop.
template <int Share, class T, class Acc>
tiles_of<T> gather(const cpu::wave_records& records, int step) {
  tiles_of<T> tiles;
  for (int lane = 0; lane < 256 / Share; ++lane) {
    const auto* r = static_cast<const chain_record<T, Acc>*>(records.lane[lane]);
    if (r == nullptr) continue;
    const int outer = lane % 16, k = lane / 16 * Share;
    const fragment<T>& a = r->a[step];
    const fragment<T>& b = r->b[r->is_fan ? 0 : step];
    for (int i = 0; i < Share; ++i) tiles.a[outer][k + i] = bits_of(a.value[i]);
    for (int i = 0; i < Share; ++i) tiles.b[k + i][outer] = bits_of(b.value[i]);
  }
  return tiles;
}

template <int Share, class T, class Acc>
void multiply_chain(cpu::wave_records& records) {
  const auto record_of = [&](int lane) { return static_cast<chain_record<T, Acc>*>(records.lane[lane]); };
  int count = 0;
  bool is_fan = false;
  Acc c[16][16] = {};
  const auto for_each_element = [&](int step, auto&& move) {
    for (int lane = 0; lane < 256 / Share; ++lane)
      if (records.lane[lane] != nullptr)
        for (int i = 0; i < Share; ++i)
          move(record_of(lane)->c[is_fan ? step : 0].value[i], c[lane / 16 * Share + i][lane % 16]);
  };
  for (int lane = 0; lane < 256 / Share; ++lane)
    if (records.lane[lane] != nullptr) count = record_of(lane)->count, is_fan = record_of(lane)->is_fan;
  for (int step = 0; step < count; ++step) {
    if (step == 0 || is_fan) for_each_element(step, [](Acc own, Acc& tile) { tile = own; });
    const tiles_of<T> tiles = gather<Share, T, Acc>(records, step);
    if constexpr (std::is_same_v<Acc, float>)
      cpu::multiply_tiles(dtype_of<T>, tiles, c);
    else
      cpu::multiply_tiles(tiles, c);
    if (step + 1 == count || is_fan) for_each_element(step, [](Acc& own, Acc tile) { own = tile; });
  }
}

template <class T, class Acc>
cpu::wave_operation multiply_records() {
  return lane_share() == 4 ? &multiply_chain<4, T, Acc> : &multiply_chain<8, T, Acc>;
}

#pragma clang attribute pop

template <class T, class Acc, class LoadA, class LoadB>
void mma_chain(accumulator<Acc>& c, int count, LoadA load_a_step, LoadB load_b_step, ASSAY_HERE) {
  for (int first = 0; first < count; first += longest_chain) {
    fragment<T> a[longest_chain], b[longest_chain];
    const int steps = count - first < longest_chain ? count - first : longest_chain;
    for (int i = 0; i < steps; ++i) load_a_step(first + i, a[i]);
    for (int i = 0; i < steps; ++i) load_b_step(first + i, b[i]);
    chain_record<T, Acc> record{&c, a, b, steps};
    cpu::wave_rendezvous("mma", where, &record, multiply_records<T, Acc>());
  }
}

/// c[i] += A_i B for i < count, in one rendezvous.
template <class T>
void mma_fan(accumulator<float>* c, int count, const fragment<T>* a, const fragment<T>& b, ASSAY_HERE) {
  chain_record<T, float> record{c, a, &b, count, true};
  cpu::wave_rendezvous("mma", where, &record, multiply_records<T, float>());
}

/// Of every unit that may be chosen: at most 32 roundings of sums below 33 * 2^(e_max + 1), each off by an ulp, 2^-23.
inline accumulation bound_of_chosen(int products) {
  return {products, 24, 2240.0F, 0x1p-23F, 0x1p-126F};
}

/// Sixteen binary64 additions, the j-th of at most (j + 1) terms below 2^(e_max + 1), each off by at most 2^-53 of its
/// result: sum over j = 1..16 of 2 (j + 1) 2^-53 = 304 * 2^-53. Then one rounding to f32.
inline accumulation accumulation_model(dtype) {
  if (cpu::chosen_atoms() != nullptr) return bound_of_chosen(16);
  return {16, 53, 304.0F, 0x1p-24F, 0.0F};
}
/// The chosen atom; without one the contract has the bound alone.
inline matrix_atom exact_atom(dtype type) {
  const named_atoms* const atoms = cpu::chosen_atoms();
  return atoms != nullptr && (type == dtype::f16 || type == dtype::bf16) ? atoms->of(type) : matrix_atom{};
}
/// P below this may be taken as 0 by the matrix unit.
inline float flushed_below(dtype) {
  return 0.0F;
}

}  // namespace assay::device
