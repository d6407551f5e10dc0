/// Tells a fault of a kernel as what it is: which tensor was touched where it must not be.
#pragma once

#include <signal.h>

#include <cstdint>
#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// Where the machine does not tell (anything but x86-64), it is unknown.
enum class access { unknown, read, write };

/// A tensor as the handler of a fault knows it; addresses as numbers.
struct watched_tensor {
  const char* name;
  bool is_input;
  std::uintptr_t elements;
  std::int64_t bytes;
  std::int64_t page_bytes;              ///< of a sparse tensor; else 0
  index_range reserved;                 ///< bytes relative to `elements` that are the tensor's addresses
  std::vector<index_range> accessible;  ///< bytes that are there, of a sparse tensor
};

/// Writes one line on an access to `address` that faulted: "block_table was read past its end, at byte 16 of 16", "k
/// was read at page 5003, which no sequence uses, at byte 5122048 of 67108864". Addresses of the machine are not in it:
/// the same case says the same. Returns the length, at most `capacity`. Async-signal-safe.
std::size_t describe_fault(const std::vector<watched_tensor>& tensors, std::uintptr_t address, access kind, char* text,
                           std::size_t capacity);

/// What a process does with the line on a fault, instead of writing it to stderr. Async-signal-safe.
using fault_teller = void (*)(const char* what, std::size_t size);

/// While it lives, SIGSEGV and SIGBUS in any thread are told: in a worker's child as its last words (origin "memory"),
/// elsewhere on stderr or to the teller, whereupon the handlers of before take over (a core, a sanitizer's report, a
/// test framework). Kernels run on small stacks, hence the handler has one of its own on the thread that makes the
/// watch. Jumping out of the kernel instead would leave its threads, fibers and locks as they are; the process is worth
/// less than that. Under AddressSanitizer the handler comes first as well (allow_user_segv_handler, its default) and
/// ASan's report follows where there is no worker. One at a time.
class fault_watch {
 public:
  fault_watch(const std::vector<buffer>& in, const std::vector<buffer>& out);
  ~fault_watch();
  fault_watch(const fault_watch&) = delete;
  fault_watch& operator=(const fault_watch&) = delete;

  /// For all watches from now on; nullptr: stderr.
  static void tell(fault_teller teller);

 private:
  std::vector<watched_tensor> tensors_;
};

}  // namespace assay
