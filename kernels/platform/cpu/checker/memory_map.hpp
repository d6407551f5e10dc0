/// The memory that a kernel may access besides its stack and LDS: tensors, the call's workspace, memory of hipMalloc,
/// its arguments, its module.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/platform/cpu/checker/access_record.hpp"
#include "kernels/platform/cpu/checker/mapped_array.hpp"

namespace assay::cpu {

enum class memory_role {
  input,      ///< may be read
  output,     ///< may be written, and read where it was written
  in_out,     ///< may be read and written: it holds data from the start
  scratch,    ///< of hipMalloc: may be read and written; earlier writes are unknown
  constants,  ///< arguments of the kernel, the module's constants: may be read
  globals,    ///< the module's variables: may be read and written; earlier writes are unknown
};

/// A range of memory and the shape of its content.
struct memory_region {
  struct dimension {
    std::uint64_t extent;
    std::uint64_t stride;          ///< in elements
    double steps_per_element = 0;  ///< 1 / stride, of `joined`
    /// offset / stride. A product of doubles is off by less than one for offsets below 2^52, and cheaper by far.
    std::uint64_t index_of(std::uint64_t offset) const {
      // By signed integers, which the processor converts in one instruction.
      const double steps = static_cast<double>(static_cast<std::int64_t>(offset)) * steps_per_element;
      auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(steps));
      if (index * stride > offset) --index;
      if (offset - index * stride >= stride) ++index;
      return index;
    }
  };

  std::uintptr_t low = 0;
  std::uint64_t span_bytes = 0;  ///< from the first to past the last element
  std::uint64_t element_bytes = 1;
  bool is_dense = true;             ///< every byte of the span belongs to an element
  access_record* writes = nullptr;  ///< shadow of what may be written: a word for each element of the span
  access_record* reads = nullptr;
  memory_role role = memory_role::input;
  std::string name;
  std::vector<dimension> dimensions;
  std::vector<std::size_t> by_stride;  ///< dimensions of more than one element, widest stride first
  std::vector<dimension> joined;       ///< the same, with gapless neighbours joined

  /// The element that has the byte at that offset.
  std::uint64_t element_at(std::uint64_t offset) const {
    const bool is_power_of_2 = (element_bytes & (element_bytes - 1)) == 0;
    return is_power_of_2 ? offset >> std::countr_zero(element_bytes) : offset / element_bytes;
  }

  /// Whether bytes [offset, offset + size) all belong to elements.
  bool holds(std::uint64_t offset, std::uint64_t size) const {
    if (offset >= span_bytes || size > span_bytes - offset) return false;
    return is_dense || holds_strided(offset, size);
  }
  /// Bytes without a gap, in one dimension's step, around an offset that it holds.
  struct run {
    std::uint64_t offset;
    std::uint64_t size_bytes;
  };
  run run_at(std::uint64_t offset) const;
  /// "o[1, 0, 3]": the element at that offset. Outside of the tensor, an index is past its extent.
  std::string describe(std::int64_t offset) const;
  /// "o of shape [4, 8, 64]", with "and strides [1024, 64, 1]" where gaps lie between its elements.
  std::string shape() const;

 private:
  bool holds_strided(std::uint64_t offset, std::uint64_t size) const;
};

/// A tensor's region, without shadow. Counts as dense if dimensions overlap: gaps are then not known.
memory_region region_of(const assay_tensor& given);

/// Shadow words, given out like a stack: a scope takes and gives back. What earlier users left in them is older than
/// the next user's first stamp.
class shadow_arena {
 public:
  shadow_arena();
  access_record* take(std::uint64_t words);
  std::uint64_t mark() const { return used_; }
  void give_back(std::uint64_t mark) { used_ = mark; }
  void clear() { words_.clear(); }

 private:
  mapped_array<access_record> words_;
  std::uint64_t used_ = 0;
};

}  // namespace assay::cpu
