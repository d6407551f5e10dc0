/// FP8 atoms of the cpu platform, laid out as CDNA3's v_mfma_f32_16x16x32_fp8_fp8 with 64 lanes, and alike with 32. All
/// atoms that share a B share one rendezvous.
///
/// Arithmetic of an atom: cpu::multiply_tiles(). Where atoms are chosen (cpu::chosen_atoms), theirs of FP8 takes its
/// place, or two of f16, whose groups take pairs of k in turn as those of nvidia_fp8.hpp.
#pragma once

#include "kernels/device/mma/cpu.hpp"
#include "kernels/device/mma/fp8_words.hpp"

namespace assay::device {

using fp8_fragment = byte_fragment<4>;

inline int fragment_words() {
  return lane_share() / 2;
}
inline constexpr int adjacent_words = 2;  // of both wave sizes

inline word_place word_coordinate(int i) {
  const int lane = cpu::lane_id();
  return {lane % 16, lane / 16 * 2 * lane_share() + 4 * i};
}

/// Values of all codes.
template <class T>
struct code_table {
  double value[256];
  code_table() {
    for (int code = 0; code < 256; ++code) value[code] = static_cast<double>(to_float(T{static_cast<uint8_t>(code)}));
  }
};
template <class T>
inline const code_table<T> decoded;

inline constexpr int max_row_tiles = 8;

struct rows_record {
  accumulator<float>* c[max_row_tiles];
  const fp8_fragment* a;  // [row tile][step]
  const fp8_fragment* b;  // [step]
  int rows;
  int steps;
};

// The code from here on is not kernel code; see cpu.hpp.
ASSAY_BEGIN_NOT_CHECKED

/// One operand of an atom: [outer][k] decoded from the lanes' words at index `at` of their fragments.
template <class T, class Fragments>
void gather_words(const cpu::wave_records& records, Fragments fragments_of, double (&to)[16][byte_atom_depth]) {
  const int words = 128 / records.size;
  for (int lane = 0; lane < records.size; ++lane) {
    const fp8_fragment& from = fragments_of(lane);
    double* row = &to[lane % 16][lane / 16 * 4 * words];
    for (int i = 0; i < words; ++i)
      for (int byte = 0; byte < 4; ++byte) row[4 * i + byte] = decoded<T>.value[(from.word[i] >> (8 * byte)) & 0xFFU];
  }
}

/// What takes the place of an FP8 atom, where atoms are chosen.
inline matrix_atom fp8_atom_of(const named_atoms& atoms, dtype type) {
  if (atoms.of_fp8 != nullptr && is_fnuz(type)) return atoms.of_fp8(type);
  matrix_atom a = atoms.of(dtype::f16);
  if (a.group == 8) a.run = 2;
  return a;
}

template <class T>
void multiply_rows(cpu::wave_records& records) {
  const int share = 256 / records.size;
  const auto record_of = [&](int lane) -> const rows_record& {
    return *static_cast<const rows_record*>(records.lane[lane]);
  };
  const int rows = record_of(0).rows, steps = record_of(0).steps;
  float c[max_row_tiles][16][16];
  for (int lane = 0; lane < records.size; ++lane)
    for (int n = 0; n < rows; ++n)
      for (int i = 0; i < share; ++i) c[n][lane / 16 * share + i][lane % 16] = record_of(lane).c[n]->value[i];
  for (int step = 0; step < steps; ++step) {
    cpu::fp8_tiles tiles;
    double columns_of_b[16][byte_atom_depth];
    gather_words<T>(records, [&](int lane) -> const fp8_fragment& { return record_of(lane).b[step]; }, columns_of_b);
    for (int column = 0; column < 16; ++column)
      for (int k = 0; k < byte_atom_depth; ++k) tiles.b[k][column] = columns_of_b[column][k];
    for (int n = 0; n < rows; ++n) {
      const auto fragment_of = [&](int lane) -> const fp8_fragment& { return record_of(lane).a[n * steps + step]; };
      gather_words<T>(records, fragment_of, tiles.a);
      if (const named_atoms* const atoms = cpu::chosen_atoms(); atoms != nullptr)
        cpu::multiply_tiles_by(fp8_atom_of(*atoms, dtype_of<T>), tiles, c[n]);
      else
        cpu::multiply_tiles(tiles, c[n]);
    }
  }
  for (int lane = 0; lane < records.size; ++lane)
    for (int n = 0; n < rows; ++n)
      for (int i = 0; i < share; ++i) record_of(lane).c[n]->value[i] = c[n][lane / 16 * share + i][lane % 16];
}

#pragma clang attribute pop

/// The whole wave must come here, with the same extents.
template <class T, int MaxSteps, int MaxRows, class Wanted, class LoadA, class LoadB>
void mma_rows(accumulator<float> (&c)[MaxRows], Wanted wanted, int steps, LoadA load_a_step, LoadB load_b_step,
              ASSAY_HERE) {
  static_assert(MaxRows <= max_row_tiles);
  fp8_fragment a[MaxRows * MaxSteps], b[MaxSteps];
  rows_record record{{}, a, b, 0, steps};
  for (int i = 0; i < steps; ++i) load_b_step(i, b[i]);
  for (int n = 0; n < MaxRows; ++n) {
    if (!wanted(n)) continue;
    for (int i = 0; i < steps; ++i) load_a_step(n, i, a[record.rows * steps + i]);
    record.c[record.rows++] = &c[n];
  }
  cpu::wave_rendezvous("mma", where, &record, &multiply_rows<T>);
}

/// The sum of the atom's 32 products and c is below 33 * 2^(e_max + 1), and is rounded to binary64 once: off by at most
/// 2^-53 of it. Then one rounding to f32.
inline accumulation fp8_accumulation_model() {
  if (cpu::chosen_atoms() != nullptr) return bound_of_chosen(32);
  return {32, 53, 66.0F, 0x1p-24F, 0.0F};
}
inline matrix_atom exact_fp8_atom(dtype type) {
  const named_atoms* const atoms = cpu::chosen_atoms();
  return atoms != nullptr ? fp8_atom_of(*atoms, type) : matrix_atom{};
}

}  // namespace assay::device
