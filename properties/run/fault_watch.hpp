/// Describes a memory fault of a kernel: which tensor it touched, and where.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// Kind of an access. Always `unknown` except on x86-64.
enum class access { unknown, read, write };

/// A tensor as the handler of a fault knows it; addresses as numbers.
struct watched_tensor {
  const char* name;
  bool is_input;
  std::uintptr_t elements;
  std::int64_t bytes;
  std::int64_t page_bytes;              ///< of a sparse pool; else 0
  index_range reserved;                 ///< bytes relative to `elements` that are the tensor's addresses
  std::vector<index_range> accessible;  ///< accessible bytes
};

/// Writes one line on an access to `address` that faulted: "block_table was read past its end, at byte 16 of 16", "k
/// was read at page 5003, which no sequence uses, at byte 5122048 of 67108864". The line holds no machine
/// addresses, so the same case gives the same line. Returns the length, at most `capacity`. Async-signal-safe.
std::size_t describe_fault(const std::vector<watched_tensor>& tensors, std::uintptr_t address, access kind, char* text,
                           std::size_t capacity);

/// What a process does with the line on a fault, instead of writing it to stderr. Async-signal-safe.
using fault_teller = void (*)(const char* what, std::size_t size);

/// While it lives, it reports SIGSEGV and SIGBUS of any thread. In a worker's child the report is the child's last
/// words (origin "memory"). Elsewhere it goes to stderr or to the teller, and then the previous handlers run (a core
/// dump, a sanitizer's report, a test framework). Kernels run on small stacks, so the handler has its own stack on the
/// thread that makes the watch. The process ends; jumping out of the kernel would leave its threads, fibers and locks
/// in an unknown state. Under AddressSanitizer this handler also runs first (allow_user_segv_handler, the default);
/// outside a worker, ASan's report follows. Only one watch may exist at a time.
class fault_watch {
 public:
  /// `before`, which must outlive it, comes before the line.
  fault_watch(const std::vector<buffer>& in, const std::vector<buffer>& out, std::string_view before = {},
              const std::vector<buffer>& workspace = {});
  ~fault_watch();
  fault_watch(const fault_watch&) = delete;
  fault_watch& operator=(const fault_watch&) = delete;

  /// Sets the teller of all watches from now on; nullptr: stderr.
  static void tell(fault_teller teller);

 private:
  std::vector<watched_tensor> tensors_;
};

}  // namespace assay
