/// The tensors of a run: guarded memory, and the views into it that kernels and oracle see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"
#include "properties/case/planned_tensor.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/system/guarded_memory.hpp"

namespace assay {

/// The memory layout of a buffer. A copy of the buffer has the same.
struct buffer_backing {
  /// The elements end at the inaccessible OS page, so even a read past the end faults. The start then has only the
  /// type's own alignment. Index tensors always end so.
  bool flush_end = false;
  /// If above 0, the first element lies so many bytes behind an address that every load is aligned at, and the elements
  /// do not end flush. Dense buffers only.
  std::int64_t start_bytes = 0;
  /// Sparse: the runs of indices along the first axis that have memory, ascending and not adjacent. The first axis is
  /// outermost in memory. An access faults if its OS page holds no element of these runs. Only a pool that is too large
  /// to allocate is sparse: in an allocated pool, a kernel may read dead pages.
  std::optional<std::vector<index_range>> used;
  /// Number of gap elements after each index of every dimension but the innermost one: between heads, between rows and
  /// between splits. So no stride follows from another. Gap elements do not belong to the tensor.
  std::int64_t gap = 0;
  /// Further gap elements after each index of the outermost dimension in memory.
  std::int64_t outer_gap = 0;
  /// The outermost dimension's indices lie so far apart that only their elements have memory, to the ends of their OS
  /// pages. An access elsewhere faults.
  bool is_far = false;
  /// A dimension of stride 0, whose indices are all the same elements; none if negative.
  int shared_dimension = -1;
  tensor_role role = tensor_role::input;
};

/// Elements from a tensor's first to its last, both and whatever lies between them included; 0 if there are none.
std::int64_t extent(const tensor& t);

/// Dimensions from the outermost in memory to the innermost. Dimensions of one element have no place of their own.
std::vector<int> memory_order(const tensor& t);

/// One tensor's memory: guards, elements, guards. The guards next to the elements are bytes of a fixed pattern that a
/// kernel never writes; beyond them lie OS pages that it cannot touch.
class buffer {
 public:
  /// Guard bytes before dense elements. As many or more follow them, or none if the elements end flush. Sparse elements
  /// have guard bytes only if the last OS page has room.
  static constexpr std::int64_t guard_bytes = 256;

  buffer() = default;
  /// Allocates for a tensor of this type and shape whose memory order is `order` (outermost first; identity = row
  /// major). All accessible elements start as the `unwritten` byte 0xFF, which is NaN in every float type here but
  /// e4m3fnuz. Gaps start with the guards' pattern; in a sparse buffer they start like the elements. Throws
  /// std::bad_alloc.
  buffer(std::string name, dtype type, const std::vector<std::int64_t>& shape, std::vector<int> order = {},
         buffer_backing backing = {});
  const std::string& name() const { return name_; }
  tensor& view() { return view_; }
  const tensor& view() const { return view_; }
  const buffer_backing& backing() const { return backing_; }
  /// How the kernel uses the tensor.
  tensor_role role() const { return backing_.role; }
  /// Whether only parts of it have memory.
  bool is_sparse() const { return backing_.used.has_value() || backing_.is_far; }
  /// From the first element to the last, gaps and inaccessible pages included.
  std::int64_t size_bytes() const { return element_bytes_; }

  /// The accessible bytes, relative to the elements' start: all bytes, or of a sparse buffer the OS pages that hold
  /// used elements. Walk these to walk a whole buffer.
  std::vector<index_range> accessible() const;
  std::span<std::byte> bytes(index_range range);
  std::span<const std::byte> bytes(index_range range) const;
  std::span<std::byte> bytes();  ///< the elements, without guards; dense buffers only
  std::span<const std::byte> bytes() const;

  /// The accessible bytes between rows, ascending and relative to the elements' start. They hold no elements. Not of
  /// buffers of which only some indices are used.
  std::vector<index_range> gaps() const;

  /// The elements and the guard bytes on both sides, relative to the elements' start.
  index_range with_guards() const { return {-front_guard_, element_bytes_ + back_guard_}; }

  /// The indices along the first axis whose elements have memory: all, or the used ones.
  std::vector<index_range> used() const;

  /// Offset of the first guard byte that changed, relative to the elements' start (so negative or >= size); or nothing.
  bool guards_intact(std::int64_t* first_changed_byte) const;
  /// While read-only, a write faults.
  void set_read_only(bool read_only) const { memory_.set_read_only(read_only); }
  /// The address range of this buffer, relative to the elements' start.
  index_range reserved() const;

 private:
  friend buffer copy_of(const buffer& b);
  /// What lies between the guards is for the caller to write.
  struct guards_only {};
  buffer(guards_only, std::string name, dtype type, const std::vector<std::int64_t>& shape, std::vector<int> order,
         buffer_backing backing);

  std::byte* elements() const { return static_cast<std::byte*>(view_.data); }
  std::vector<index_range> used_bytes() const;

  std::string name_;
  buffer_backing backing_;
  guarded_memory memory_;
  std::int64_t element_bytes_ = 0;
  std::int64_t front_guard_ = 0;  // pattern bytes on each side
  std::int64_t back_guard_ = 0;
  tensor view_;
};

/// The input tensors of a kernel and of the oracle.
struct inputs {
  problem stated;
  std::vector<buffer> buffers;
  std::vector<named_tensor> tensors() const;  ///< views of all buffers, by name
};

/// The output tensors of a kernel.
struct outputs {
  std::vector<buffer> buffers;
  /// By name, of buffers with elements that may be NaN or infinity, or not: an oracle::element_rule per element, as i8.
  std::vector<buffer> rules;
  /// Names of outputs that the kernel does not write: they have no buffer, and nothing judges them.
  std::vector<std::string> left_out;
  std::vector<named_tensor> tensors() const;
};

/// The buffer of that name, or nullptr: optional tensors are absent.
buffer* find_buffer(std::vector<buffer>& buffers, const std::string& name);
const buffer* find_buffer(const std::vector<buffer>& buffers, const std::string& name);

struct attention_case;

/// Makes the data that the case's recipe states. Deterministic on every machine.
inputs fill(const attention_case& c);

/// Unwritten outputs for a planned problem: what plan_outputs() plans, but for those that are left out.
outputs make_outputs(const problem& planned, const output_layout& layout = {},
                     const std::vector<std::string>& left_out = {});

/// The same, with copies of the in-out tensors of `in`: a run changes the copies, not `in`.
outputs make_outputs(const problem& planned, const output_layout& layout, const inputs& in,
                     const std::vector<std::string>& left_out = {});

/// A copy of a buffer, its layout and backing included.
buffer copy_of(const buffer& b);

}  // namespace assay
