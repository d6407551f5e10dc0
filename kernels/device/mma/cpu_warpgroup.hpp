/// Products of a warpgroup on the cpu platform (executor/warpgroup_products.hpp): see device/warpgroup.hpp. Registers
/// have no number here, so that taking and holding them is nothing.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "hip/ptx.h"
#include "kernels/contract_recipes.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/mma/cpu_fp8.hpp"
#include "kernels/platform/cpu/executor/warpgroup_products.hpp"

#define ASSAY_HAS_WARPGROUPS 1

namespace assay::device {

inline constexpr int group_columns = 8;

template <class T>
struct group_operand {
  std::uint32_t word[4];
};
struct group_sums {
  float value[4] = {};
  static constexpr int count() { return 4; }
};

inline int group_row(int i) {
  return cpu::lane_id() / 4 + 8 * (i / 2);
}
inline int group_column(int i) {
  return cpu::lane_id() % 4 * 2 + i % 2;
}

/// Arithmetic of FP8's products: cpu::multiply_group_tiles().
inline accumulation group_fp8_accumulation_model() {
  const named_atoms* const atoms = cpu::chosen_atoms();
  if (atoms != nullptr && atoms->of_group_fp8 != nullptr) return hopper_fp8_dots;
  return fp8_accumulation_model();
}
inline matrix_atom exact_group_fp8_atom(dtype type) {
  const named_atoms* const atoms = cpu::chosen_atoms();
  return atoms != nullptr ? group_fp8_atom(*atoms, type) : matrix_atom{};
}

template <class T>
inline std::uint32_t round_pair(float low, float high) {
  return from_float<T>(low).bits | static_cast<std::uint32_t>(from_float<T>(high).bits) << 16;
}

/// The number by which ldmatrix knows a chunk in LDS.
template <class Rows>
inline std::uint64_t shared_number(const Rows& rows, int row, int chunk) {
  return cpu::shared_number(rows.chunk(row, chunk));
}
[[gnu::always_inline]] inline void load_matrices(unsigned int (&to)[4], std::uint64_t row, ASSAY_HERE) {
  ptx::ldmatrix<4>(to, row, where);
}

template <class T>
inline void widen_word(std::uint32_t& low, std::uint32_t& high, std::uint32_t codes) {
  const auto pair = [](std::uint32_t of) {
    const std::uint32_t first = to_compute<f16>(T{static_cast<std::uint8_t>(of)}).bits;
    return first | std::uint32_t{to_compute<f16>(T{static_cast<std::uint8_t>(of >> 8)}).bits} << 16;
  };
  low = pair(codes), high = pair(codes >> 16);
}

struct lds_operand {
  cpu::lds_matrix matrix;
  lds_operand operator+(int bytes) const { return {{matrix.rows, matrix.offset + bytes, matrix.strip_bytes}}; }
};
inline lds_operand operand_by_rows(const unsigned char* at) {
  return {{at}};
}
inline lds_operand operand_by_columns(const unsigned char* at, int strip_bytes) {
  return {{at, 0, strip_bytes}};
}

// Always inlined: the checker names the kernel's line.
template <class T, int Atoms>
[[gnu::always_inline]] inline cpu::warpgroup_product product_of(group_sums (&c)[Atoms], const lds_operand& b) {
  static_assert(sizeof(group_sums) == 4 * sizeof(float));
  cpu::warpgroup_product p;
  p.type = dtype_of<T>, p.sums = c[0].value, p.atoms = Atoms, p.b = b.matrix;
  static_assert(sizeof(T) == 2 || std::is_same_v<group_element<T, f16>, T>, "the unit does not know such codes");
  if constexpr (sizeof(T) == 1) p.code_values = decoded<T>.value;
  p.columns = Atoms * group_columns;
  return p;
}
template <class T, int Atoms>
[[gnu::always_inline]] inline void begin_product(group_sums (&c)[Atoms], const group_operand<T>& a, lds_operand b,
                                                 int columns) {
  cpu::warpgroup_product p = product_of<T>(c, b);
  p.a_words = a.word, p.columns = columns;
  cpu::begin_product(p);
}
template <class T, int Atoms>
[[gnu::always_inline]] inline void add_product(group_sums (&c)[Atoms], const group_operand<T>& a, lds_operand b,
                                               int columns) {
  cpu::warpgroup_product p = product_of<T>(c, b);
  p.a_words = a.word, p.adds = true, p.columns = columns;
  cpu::begin_product(p);
}
template <class T, int Atoms>
[[gnu::always_inline]] inline void begin_product(group_sums (&c)[Atoms], T, lds_operand a, lds_operand b) {
  cpu::warpgroup_product p = product_of<T>(c, b);
  p.a = a.matrix;
  cpu::begin_product(p);
}
template <class T, int Atoms>
[[gnu::always_inline]] inline void add_product(group_sums (&c)[Atoms], T, lds_operand a, lds_operand b) {
  cpu::warpgroup_product p = product_of<T>(c, b);
  p.a = a.matrix, p.adds = true;
  cpu::begin_product(p);
}
template <class T, int Atoms>
[[gnu::always_inline]] inline void add_by_columns(group_sums (&c)[Atoms], const group_operand<T>& a, lds_operand b,
                                                  int columns) {
  static_assert(sizeof(T) == 2);
  cpu::warpgroup_product p = product_of<T>(c, b);
  p.a_words = a.word, p.adds = true, p.b_by_columns = true, p.columns = columns;
  cpu::begin_product(p);
}

inline void start_warpgroup() {
  cpu::start_products();
}
inline void commit_warpgroup() {
  cpu::commit_products();
}
template <int Pending = 0, int Atoms>
inline void wait_for_warpgroup(group_sums (&)[Atoms], ASSAY_HERE) {
  cpu::wait_for_products(Pending, where);
}

template <class Registers>
inline void hold_registers(const Registers&) {}
template <int Count>
inline void take_registers() {}
template <int Count>
inline void give_registers() {}

/// Counts arrivals: the n-th hundred and twenty-eight of them open it for the n-th time.
class warpgroup_barrier {
 public:
  void start() { arrived_ = 0; }
  void sync() {
    constexpr unsigned int threads = 128;
    __threadfence_block();
    const unsigned int opens_at = (atomicAdd(&arrived_, 1U) / threads + 1) * threads;
    while (static_cast<int>(atomicAdd(&arrived_, 0U) - opens_at) < 0) {
    }
    __threadfence_block();
  }

 private:
  unsigned int arrived_;
};

}  // namespace assay::device
