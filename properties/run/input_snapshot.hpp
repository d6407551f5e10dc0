/// Whether a kernel wrote to its inputs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// A snapshot of the inputs. It copies small inputs. Large ones cost too much to copy: it makes them read-only while it
/// lives, so a write to them faults (see fault_watch).
class input_snapshot {
 public:
  /// Larger inputs are not copied: at most eight of problem.hpp's inputs grow with the case (q, k, v, their two
  /// descales, page_indices or block_table, bias, cu_seqlens_q), which makes 32 MiB, half of what a run may take above
  /// its data.
  static constexpr std::int64_t copied_bytes_max = std::int64_t{4} << 20;

  explicit input_snapshot(const std::vector<buffer>& in);
  ~input_snapshot();
  input_snapshot(const input_snapshot&) = delete;
  input_snapshot& operator=(const input_snapshot&) = delete;

  /// "input k was written, at byte 12 of 64"; empty if nothing was.
  std::string first_change() const;

 private:
  const std::vector<buffer>& in_;
  std::vector<std::vector<std::byte>> copies_;  ///< of the accessible bytes, one after the other; empty if protected
};

}  // namespace assay
