/// Elements as bits and numbers, and the comparison of outputs bit by bit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/enclosure.hpp"
#include "properties/data/inputs.hpp"

namespace assay {

/// Bit pattern of an element at an element offset, and its replacement.
std::uint32_t bits_at(const tensor& t, std::int64_t offset);
void set_bits(const tensor& t, std::int64_t offset, std::uint32_t bits);

/// The value of an element as a number.
double value_at(const tensor& t, std::int64_t offset);

/// The first element, in row-major order, in which two outputs differ by a bit: "o[0, 1, 5]: 0.5 (0x3800) became 0.25
/// (0x3400); 12 of 64 elements differ". Nothing when all bits are equal. Tensors that only one side has are ignored.
/// The bits of a NaN that is computed do not count (semantics.md), but for those of an unwritten element; in in-out
/// tensors, which kernels copy, they do. Where a rule of `before` admits NaN or an infinity, one of the two may be
/// such.
std::optional<std::string> first_difference(const outputs& before, const outputs& after);

/// Sets outputs::rules.
void set_rules(outputs& out, const oracle::enclosure& bounds);

/// Calls with every logical index of a tensor, row major.
void for_each_index(const tensor& t, const std::function<void(const std::vector<std::int64_t>&)>& visit);
/// As above; of a sparse buffer only with the indices of used pages.
void for_each_index(const buffer& b, const std::function<void(const std::vector<std::int64_t>&)>& visit);
std::int64_t offset_of(const tensor& t, const std::vector<std::int64_t>& index);

/// Replaces the bits of every element of a buffer by change(bits); of a sparse buffer in used pages. `change` may be
/// asked only once for all elements of the same bits.
void change_bits(const buffer& b, const std::function<std::uint32_t(std::uint32_t)>& change);

}  // namespace assay
