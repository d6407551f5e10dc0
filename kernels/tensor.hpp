/// Strided views of typed memory: the one form in which tensors travel between inputs, kernels, oracle and judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace assay {

/// Element types. The FP8 types share a width and differ in bias, in their NaN codes and in -0:
/// e4m3fn is OCP's (bias 7, S.1111.111 is NaN; gfx950, NVIDIA), e4m3fnuz is gfx942's (bias 8, 0x80 is the only NaN).
/// tf32 is the type of no tensor: f32 of which a matrix unit reads 10 bits of mantissa, rounded or cut.
/// e5m2 is OCP's (bias 15, with infinities, as f16's upper byte), e5m2fnuz is gfx942's (bias 16, 0x80 is the only NaN).
enum class dtype : std::int32_t { none, f32, f16, bf16, e4m3fn, e4m3fnuz, i8, i32, i64, tf32, e5m2, e5m2fnuz };

constexpr std::int64_t size_bytes(dtype type) {
  switch (type) {
    case dtype::i64: return 8;
    case dtype::f32:
    case dtype::tf32:
    case dtype::i32: return 4;
    case dtype::f16:
    case dtype::bf16: return 2;
    case dtype::e4m3fn:
    case dtype::e4m3fnuz:
    case dtype::e5m2:
    case dtype::e5m2fnuz:
    case dtype::i8: return 1;
    case dtype::none: return 0;
  }
  return 0;
}

constexpr bool is_fp8(dtype type) {
  return type == dtype::e4m3fn || type == dtype::e4m3fnuz || type == dtype::e5m2 || type == dtype::e5m2fnuz;
}

/// Of these 0x80 is NaN, so that no zero is negative.
constexpr bool is_fnuz(dtype type) {
  return type == dtype::e4m3fnuz || type == dtype::e5m2fnuz;
}

constexpr bool has_infinities(dtype type) {
  return type == dtype::f32 || type == dtype::f16 || type == dtype::bf16 || type == dtype::e5m2;
}

/// As cases and messages spell it.
constexpr const char* name_of(dtype type) {
  constexpr const char* names[] = {"none", "f32", "f16", "bf16", "e4m3fn", "e4m3fnuz",
                                   "i8",   "i32", "i64", "tf32", "e5m2",   "e5m2fnuz"};
  const auto i = static_cast<std::uint32_t>(type);
  return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

inline constexpr int max_rank = 4;

/// A view; owns nothing. Strides count elements, may be zero (broadcast) and need not be ordered.
struct tensor {
  void* data = nullptr;
  dtype type = dtype::none;
  std::int32_t rank = 0;
  std::int64_t shape[max_rank] = {};
  std::int64_t stride[max_rank] = {};

  /// Number of logical elements; 1 for rank 0.
  std::int64_t size() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
  }
  /// Element offset of a logical index; missing trailing coordinates are 0.
  std::int64_t offset(std::int64_t i0, std::int64_t i1 = 0, std::int64_t i2 = 0, std::int64_t i3 = 0) const {
    return i0 * stride[0] + i1 * stride[1] + i2 * stride[2] + i3 * stride[3];
  }
};

/// A tensor under the name by which problem.hpp documents it.
struct named_tensor {
  const char* name = nullptr;
  tensor view;
};

/// The tensor called `name`, or nullptr: optional tensors are simply absent.
inline const tensor* find(std::span<const named_tensor> tensors, const char* name) {
  for (const named_tensor& t : tensors)
    if (std::strcmp(t.name, name) == 0) return &t.view;
  return nullptr;
}

}  // namespace assay
