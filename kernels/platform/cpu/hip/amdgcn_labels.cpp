/// Functions that sources name by an assembler label: __asm("llvm.amdgcn.raw.buffer.load.i32"). A CPU's compiler takes
/// those names for intrinsics that it cannot make, so the source pass turns "llvm." of such a label into "assay.".
/// In the labels i and f are integers and floats, v the number of elements.
#include "hip/hip_runtime.h"

namespace assay::cpu {
namespace {

using words = int __attribute__((ext_vector_type(4)));

template <class T>
using pair = T __attribute__((ext_vector_type(2)));
template <class T>
using quad = T __attribute__((ext_vector_type(4)));

std::uint64_t total(int offset, int scalar_offset) {
  return std::uint64_t{static_cast<unsigned int>(offset)} + static_cast<unsigned int>(scalar_offset);
}

/// This file is the platform's: the checker hears of them by hand, with the place in the kernel.
template <class T>
T labelled_load(words resource, int offset, int scalar_offset, void* pc) {
  const auto r = std::bit_cast<__amdgpu_buffer_rsrc_t>(resource);
  const std::uint64_t at = total(offset, scalar_offset);
  const std::size_t bytes = bytes_in_bounds(r, at, sizeof(T));
  T value{};
  if (bytes == 0) return value;
  note_load(buffer_base(r) + at, bytes, reinterpret_cast<std::uintptr_t>(pc));
  std::memcpy(&value, buffer_base(r) + at, bytes);
  return value;
}
template <class T>
void labelled_store(T value, words resource, int offset, int scalar_offset, void* pc) {
  const auto r = std::bit_cast<__amdgpu_buffer_rsrc_t>(resource);
  const std::uint64_t at = total(offset, scalar_offset);
  const std::size_t bytes = bytes_in_bounds(r, at, sizeof(T));
  if (bytes == 0) return;
  note_store(buffer_base(r) + at, bytes, reinterpret_cast<std::uintptr_t>(pc));
  std::memcpy(buffer_base(r) + at, &value, bytes);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type
#define ASSAY_LABELLED(name, label, ...)                                                              \
  __VA_ARGS__ labelled_load_##name(words resource, int offset, int scalar_offset,                     \
                                   int aux) __asm("assay.amdgcn.raw.buffer.load." label);             \
  __VA_ARGS__ labelled_load_##name(words resource, int offset, int scalar_offset, int) {              \
    return labelled_load<__VA_ARGS__>(resource, offset, scalar_offset, __builtin_return_address(0));  \
  }                                                                                                   \
  void labelled_store_##name(__VA_ARGS__ value, words resource, int offset, int scalar_offset,        \
                             int aux) __asm("assay.amdgcn.raw.buffer.store." label);                  \
  void labelled_store_##name(__VA_ARGS__ value, words resource, int offset, int scalar_offset, int) { \
    labelled_store<__VA_ARGS__>(value, resource, offset, scalar_offset, __builtin_return_address(0)); \
  }
ASSAY_LABELLED(i8, "i8", signed char)
ASSAY_LABELLED(v2i8, "v2i8", pair<signed char>)
ASSAY_LABELLED(v4i8, "v4i8", quad<signed char>)
ASSAY_LABELLED(i16, "i16", short)
ASSAY_LABELLED(v2i16, "v2i16", pair<short>)
ASSAY_LABELLED(v4i16, "v4i16", quad<short>)
ASSAY_LABELLED(i32, "i32", int)
ASSAY_LABELLED(v2i32, "v2i32", pair<int>)
ASSAY_LABELLED(v4i32, "v4i32", quad<int>)
ASSAY_LABELLED(f16, "f16", _Float16)
ASSAY_LABELLED(v2f16, "v2f16", pair<_Float16>)
ASSAY_LABELLED(v4f16, "v4f16", quad<_Float16>)
ASSAY_LABELLED(f32, "f32", float)
ASSAY_LABELLED(v2f32, "v2f32", pair<float>)
ASSAY_LABELLED(v4f32, "v4f32", quad<float>)
#undef ASSAY_LABELLED
// NOLINTEND(bugprone-macro-parentheses)

void labelled_load_lds(words resource, void* base, unsigned int size, int offset, int scalar_offset, int immediate,
                       int aux) __asm("assay.amdgcn.raw.buffer.load.lds");
void labelled_load_lds(words resource, void* base, unsigned int size, int offset, int scalar_offset, int immediate,
                       int) {
  const auto pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const auto r = std::bit_cast<__amdgpu_buffer_rsrc_t>(resource);
  const std::uint64_t at = total(offset + immediate, scalar_offset);
  char* const to = lds_of_lane("llvm.amdgcn.raw.buffer.load.lds", base, static_cast<int>(size), immediate,
                               std::source_location::current());
  char moved[16] = {};
  if (size > sizeof moved) return;
  const std::size_t bytes = bytes_in_bounds(r, at, size);
  if (bytes > 0) {
    note_load(buffer_base(r) + at, bytes, pc);
    std::memcpy(moved, buffer_base(r) + at, bytes);
  }
  note_store(to, size, pc);
  std::memcpy(to, moved, size);
}

}  // namespace assay::cpu
