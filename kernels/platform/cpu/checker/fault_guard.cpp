#include "kernels/platform/cpu/checker/fault_guard.hpp"

#include <ucontext.h>

#include <csignal>
#include <mutex>

#include "kernels/platform/cpu/base/own_stack.hpp"
#include "kernels/platform/cpu/checker/access_checker.hpp"

namespace assay::cpu {
namespace {

std::mutex mutex;
int guards = 0;  // launches of several OS threads may be under way
struct sigaction before_segv{}, before_bus{};

[[noreturn]] void report(std::uintptr_t pc) {
  auto& self = *static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  constexpr std::uintptr_t next_byte = 1;  // lines are looked up for return addresses
  self.checker->report_no_address(self, pc + next_byte);
}

/// Has the thread call report() when the handler returns, as if the instruction that faulted were that call: the
/// handler's own stack is too small to look up lines. False where we do not know how.
bool call_report([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  constexpr greg_t red_zone = 128, call_alignment = 16, return_address = 8;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RDI] = registers[REG_RIP];
  registers[REG_RSP] = (registers[REG_RSP] - red_zone) / call_alignment * call_alignment - return_address;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&report);
  return true;
#else
  return false;
#endif
}

/// Whether it comes of an address that the table does not reach: past it there is none, or something of others whose
/// bytes may say "own stack", so that the access itself faults. Processors do not say what is no address.
bool is_of_no_address(const siginfo_t& info, const checked_thread& self) {
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const bool overran_stack = address >> slot_shift == (self.stack_low - 1) >> slot_shift;
  return info.si_code == SI_KERNEL || (own_stack_flag::is_past_table(address) && !overran_stack);
}

void on_fault(int number, siginfo_t* info, void* context) {
  const auto* const self = static_cast<const checked_thread*>(this_thread);
  if (self != nullptr && self->checker != nullptr && is_of_no_address(*info, *self) && call_report(context)) return;
  // On return the faulting instruction runs again, and the former handler gets the fault.
  sigaction(number, number == SIGBUS ? &before_bus : &before_segv, nullptr);
}

}  // namespace

fault_guard::fault_guard(bool is_checked) : is_checked_(is_checked) {
  if (!is_checked_) return;
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, &before_segv);
  sigaction(SIGBUS, &ours, &before_bus);  // what is no address, relative to the stack or frame pointer (#SS)
}

fault_guard::~fault_guard() {
  if (!is_checked_) return;
  const std::lock_guard lock(mutex);
  if (--guards > 0) return;
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
}

}  // namespace assay::cpu
