/// The tensors of a run: memory with guard bands, and the views into it that kernels and oracle see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay {

/// One tensor's memory: guard band, elements, guard band. The guards hold a fixed pattern that a kernel never writes.
class buffer {
 public:
  static constexpr std::int64_t guard_bytes = 256;

  buffer() = default;
  /// Allocates for a tensor of this type and shape whose memory order is `order` (outermost first; identity = row
  /// major). Elements start as the `unwritten` byte 0xFF, which is NaN in every float type here.
  buffer(std::string name, dtype type, std::vector<std::int64_t> shape, std::vector<int> order = {});

  const std::string& name() const { return name_; }
  tensor& view() { return view_; }
  const tensor& view() const { return view_; }
  std::span<std::byte> bytes();  ///< the elements, without guards
  std::span<const std::byte> bytes() const;
  /// Offset of the first guard byte that changed, relative to the elements' start (so negative or >= size); or nothing.
  bool guards_intact(std::int64_t* first_changed_byte) const;

 private:
  std::string name_;
  std::unique_ptr<std::byte[]> memory_;
  std::int64_t element_bytes_ = 0;
  std::int64_t lead_bytes_ = 0;  // guard plus padding that makes the elements 256-byte aligned
  tensor view_;
};

/// What a kernel and the oracle are given.
struct inputs {
  problem stated;
  std::vector<buffer> buffers;
  std::vector<named_tensor> tensors() const;  ///< views of all buffers, by name
};

/// What a kernel wrote.
struct outputs {
  std::vector<buffer> buffers;
  std::vector<named_tensor> tensors() const;
};

struct attention_case;

/// Makes the data that the case's recipe states. Deterministic on every machine.
inputs fill(const attention_case& c);

/// Unwritten outputs for a planned problem (num_splits >= 1): o, lse and, with more than one split, the partials.
outputs make_outputs(const problem& planned);

}  // namespace assay
