/// Matrix atoms of the cpu platform: a rendezvous of the wave, laid out as CDNA's MFMA with 64 lanes and as RDNA4's
/// WMMA with 32. All atoms of a chain share one rendezvous, since a fiber switch costs as much as a few dozen products.
///
/// Arithmetic of an atom: the 16 products, exact in binary64 (11 or 8 bits times the same), are added in ascending k to
/// the accumulator in binary64, and the sum is rounded once to f32. int8 is exact in int32. Where atoms are chosen
/// (cpu::chosen_atoms), f16 and bf16 are multiplied as these say.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstring>

#include "kernels/contract.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/library.h"
#include "kernels/platform/cpu/base/unchecked.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"
#include "kernels/platform/cpu/matrix_unit/matrix_unit.hpp"

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

/// The type of the products and the partial sums.
template <class Acc>
struct joined {
  using type = double;
};
template <>
struct joined<std::int32_t> {
  using type = std::int32_t;
};

// The matrix unit itself is not kernel code: it runs unchecked, and vectorised where kernels are not (kernels.cmake).
ASSAY_BEGIN_NOT_CHECKED
#if ASSAY_ASAN  // its checks prevent it
#define ASSAY_VECTORIZE
#else
#define ASSAY_VECTORIZE _Pragma("clang loop vectorize(enable)")
#endif

inline double widened(f16 x) {
  return static_cast<double>(to_float(x));
}
inline double widened(bf16 x) {
  return static_cast<double>(to_float(x));
}
inline std::int32_t widened(std::int8_t x) {
  return x;
}

/// Whole 16x16 tiles, gathered from the lanes. `is_zero[row]`: the row of A holds zeros only.
template <class Wide>
struct gathered {
  Wide a[16][16];
  Wide b[16][16];  // b[k][column]
  bool is_zero[16];
  bool b_is_finite;
};

/// A lane that is not there has zeros.
template <class T, class Acc, class Wide>
void gather(const cpu::wave_records& records, int step, gathered<Wide>& g) {
  const int share = 256 / records.size;
  T a[16][16] = {}, b[16][16] = {};
  for (int lane = 0; lane < records.size; ++lane) {
    const auto* r = static_cast<const chain_record<T, Acc>*>(records.lane[lane]);
    if (r == nullptr) continue;
    const int outer = lane % 16, k = lane / 16 * share;
    for (int i = 0; i < share; ++i) a[outer][k + i] = r->a[step].value[i];
    for (int i = 0; i < share; ++i) b[k + i][outer] = r->b[r->is_fan ? 0 : step].value[i];
  }
  // Widened as wholes, which the compiler vectorises.
  Wide spoiled[16] = {};  // x - x is 0 for finite x, NaN otherwise
  for (int row = 0; row < 16; ++row) {
    ASSAY_VECTORIZE
    for (int k = 0; k < 16; ++k) g.a[row][k] = widened(a[row][k]);
    ASSAY_VECTORIZE
    for (int n = 0; n < 16; ++n) g.b[row][n] = widened(b[row][n]);
    ASSAY_VECTORIZE
    for (int n = 0; n < 16; ++n) spoiled[n] += g.b[row][n] - g.b[row][n];
  }
  g.b_is_finite = true;
  for (const Wide sum : spoiled) g.b_is_finite &= sum == Wide{};
  for (int row = 0; row < 16; ++row) {
    bool zero = true;
    for (int k = 0; k < 16; ++k) zero &= g.a[row][k] == Wide{};
    g.is_zero[row] = zero;
  }
}

/// Depth of the chosen atom is at most this; the tile's, where the atom is shallower, is several of them.
template <int Depth, class A, class B>
void multiply_as(const matrix_atom& atom, const A& a, const B& b, float (&c)[16][16]) {
  cpu::operand rows[16][Depth], columns[16][Depth];
  bool is_zero[16];
  for (int i = 0; i < 16; ++i) {
    is_zero[i] = true;
    for (int k = 0; k < Depth; ++k) {
      rows[i][k] = cpu::operand_of(a[i][k], atom);
      columns[i][k] = cpu::operand_of(b[k][i], atom);
      is_zero[i] &= a[i][k] == 0.0;
    }
    for (int n = 0; n < 16; ++n) is_zero[i] &= c[i][n] == 0.0F;  // padding, most of a decode tile
  }
  bool b_is_finite = true;
  for (int k = 0; k < Depth; ++k)
    for (int n = 0; n < 16; ++n) b_is_finite &= __builtin_isfinite(b[k][n]);
  for (int row = 0; row < 16; ++row) {
    if (is_zero[row] && b_is_finite) continue;
    for (int n = 0; n < 16; ++n)
      for (int k = 0; k < Depth; k += atom.products)
        c[row][n] = cpu::multiply_add(atom, rows[row] + k, columns[n] + k, c[row][n]);
  }
}

/// c += A B
template <class T, class Acc, class Wide>
void multiply_gathered(const gathered<Wide>& g, Acc (&c)[16][16]) {
  if constexpr (std::is_same_v<Acc, float>)
    if (const named_atoms* const atoms = cpu::chosen_atoms(); atoms != nullptr)
      return multiply_as<16>(atoms->of(dtype_of<T>), g.a, g.b, c);
  for (int row = 0; row < 16; ++row) {
    // A row of zeros adds zeros: most rows of a decode tile are padding.
    if (g.is_zero[row] && g.b_is_finite) continue;
    Wide sum[16];
    for (int n = 0; n < 16; ++n) sum[n] = c[row][n];
    for (int k = 0; k < 16; ++k) {
      ASSAY_VECTORIZE
      for (int n = 0; n < 16; ++n) sum[n] += g.a[row][k] * g.b[k][n];
    }
    for (int n = 0; n < 16; ++n) c[row][n] = static_cast<Acc>(sum[n]);
  }
}

template <class T, class Acc>
void multiply_chain(cpu::wave_records& records) {
  using wide = typename joined<Acc>::type;
  const int share = 256 / records.size;
  const auto record_of = [&](int lane) { return static_cast<chain_record<T, Acc>*>(records.lane[lane]); };
  int count = 0;
  bool is_fan = false;
  Acc c[16][16] = {};
  const auto for_each_element = [&](int step, auto&& move) {
    for (int lane = 0; lane < records.size; ++lane)
      if (records.lane[lane] != nullptr)
        for (int i = 0; i < share; ++i)
          move(record_of(lane)->c[is_fan ? step : 0].value[i], c[lane / 16 * share + i][lane % 16]);
  };
  for (int lane = 0; lane < records.size; ++lane)
    if (records.lane[lane] != nullptr) count = record_of(lane)->count, is_fan = record_of(lane)->is_fan;
  for (int step = 0; step < count; ++step) {
    if (step == 0 || is_fan) for_each_element(step, [](Acc own, Acc& tile) { tile = own; });
    gathered<wide> g;
    gather<T, Acc>(records, step, g);
    multiply_gathered<T>(g, c);
    if (step + 1 == count || is_fan) for_each_element(step, [](Acc& own, Acc tile) { own = tile; });
  }
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
    cpu::wave_rendezvous("mma", where, &record, &multiply_chain<T, Acc>);
  }
}

/// c[i] += A_i B for i < count, in one rendezvous.
template <class T>
void mma_fan(accumulator<float>* c, int count, const fragment<T>* a, const fragment<T>& b, ASSAY_HERE) {
  chain_record<T, float> record{c, a, &b, count, true};
  cpu::wave_rendezvous("mma", where, &record, &multiply_chain<T, float>);
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
