/// Elements of owned tensors as bits and numbers, for tests of what is stored. Shares nothing with the oracle.
#pragma once

#include "tests/oracle/setting.hpp"

namespace assay::testing {

inline double largest_of(dtype type) {
  return type == dtype::e4m3fn ? 448.0 : type == dtype::e4m3fnuz ? 240.0 : 127.0;
}
inline bool is_code(dtype type) {
  return size_bytes(type) == 1;
}
inline bool is_nan_code(dtype type, std::uint32_t bits) {
  return type == dtype::e4m3fn ? (bits & 0x7FU) == 0x7FU : type == dtype::e4m3fnuz && bits == 0x80U;
}

/// Bits and values of a memory's elements.
inline std::uint32_t bits_of(const memory& m, std::int64_t offset) {
  std::uint32_t bits = 0;
  const auto size = static_cast<std::size_t>(size_bytes(m.view.type));
  std::memcpy(&bits, m.bytes->data() + static_cast<std::size_t>(offset) * size, size);
  return bits;
}
inline float value_of(dtype type, std::uint32_t bits) {
  switch (type) {
    case dtype::f32: return std::bit_cast<float>(bits);
    case dtype::bf16: return std::bit_cast<float>(bits << 16);
    case dtype::f16: return static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    case dtype::i8: return static_cast<float>(static_cast<std::int8_t>(bits));
    default: return static_cast<float>(e4m3_value(bits, type == dtype::e4m3fnuz));
  }
}
inline float float_at(const memory& m, std::int64_t offset) {
  return value_of(m.view.type, bits_of(m, offset));
}
inline std::int64_t slot_at(const memory& slots, std::int64_t row) {
  std::int64_t slot = 0;
  std::memcpy(&slot, slots.bytes->data() + static_cast<std::size_t>(row) * sizeof slot, sizeof slot);
  return slot;
}
inline void set_slot(const memory& slots, std::int64_t row, std::int64_t slot) {
  std::memcpy(slots.bytes->data() + static_cast<std::size_t>(row) * sizeof slot, &slot, sizeof slot);
}

/// A copy with bytes of its own.
inline memory copy_of(const memory& m) {
  memory copy = m;
  copy.bytes = std::make_shared<std::vector<std::byte>>(*m.bytes);
  copy.view.data = copy.bytes->data();
  return copy;
}

inline std::vector<named_tensor> views_of(const std::vector<memory>& outputs) {
  std::vector<named_tensor> views;
  views.reserve(outputs.size());
  for (const memory& m : outputs) views.push_back({m.name.c_str(), m.view});
  return views;
}

}  // namespace assay::testing
