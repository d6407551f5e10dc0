/// The tensors of a call on the device of a library, with all that surrounds them on the host: guards, margins, poison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "properties/data/inputs.hpp"
#include "properties/system/device_driver.hpp"

namespace assay {

/// Dense tensors lie in one block, between canaries and at addresses of the same alignment as on the host. Sparse ones
/// have addresses of their own, of which only the device's pages in use have memory (2 MiB on NVIDIA GPUs): an access
/// elsewhere is the device's error, a store beside the elements is found, and a load there reads 0xFF bytes. What the
/// host checks behind a run (guards, gaps, unwritten elements) then holds for the device, since all of it comes back.
class staged_call {
 public:
  /// Copies the buffers of the call's tensors, which it makes device tensors, and of its workspace, if there is one.
  /// All must outlive it.
  staged_call(device_driver& on, const std::vector<buffer>& in, std::vector<buffer>& out,
              std::vector<assay_tensor>& tensors, std::vector<buffer>& workspace);

  /// The workspace on the device, or null.
  std::byte* workspace() const { return workspace_; }

  /// Waits for the device and copies outputs back, with what surrounds them. Returns what else was written: "input k
  /// was written, at byte 12 of 64", "k was written outside its memory, at byte 80 of 64"; or nothing. Throws
  /// device_error.
  std::string finish();

 private:
  struct staged {
    const buffer* of;
    buffer* result;       ///< of inputs null
    index_range host;     ///< of a dense buffer: the bytes that travel, relative to its elements
    std::int64_t at = 0;  ///< of its elements in the block
  };
  struct sparse {
    const buffer* of;
    buffer* result;
    mapped_memory memory;
    sparse(const buffer& b, buffer* to, device_driver& on);
  };

  void place(const buffer& b, buffer* result);
  void send();
  std::string take_back(const staged& s, const std::byte* returned) const;
  std::string take_back(const sparse& s);
  std::string take_back(const sparse& s, index_range page, const std::byte* returned,
                        const std::vector<index_range>& elements, std::size_t& next) const;
  std::string changed_canary(const std::byte* returned) const;
  std::byte* address_of(const buffer& b);

  device_driver& on_;
  std::vector<staged> dense_;
  std::list<sparse> sparse_;  ///< mappings stay where they are
  std::int64_t block_bytes_ = 0;
  std::byte* sent_ = nullptr;   ///< the block, in memory of the host that the driver keeps: one call at a time
  std::byte* block_ = nullptr;  ///< on the device
  std::byte* workspace_ = nullptr;
};

}  // namespace assay
