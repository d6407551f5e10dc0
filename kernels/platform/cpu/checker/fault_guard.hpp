/// Faults of checked code. Checked accesses are to memory that exists, but for what is no address at all (on x86-64: of
/// more than 47 bits): before such an access, the kernel's look into the table of own_stack.hpp faults.
#pragma once

namespace assay::cpu {

/// While one lives, that fault of a checked thread is reported, and ends its block. All others are the former
/// handler's.
class fault_guard {
 public:
  explicit fault_guard(bool is_checked);
  ~fault_guard();
  fault_guard(const fault_guard&) = delete;
  fault_guard& operator=(const fault_guard&) = delete;

 private:
  const bool is_checked_;
};

}  // namespace assay::cpu
