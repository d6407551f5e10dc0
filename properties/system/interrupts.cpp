#include "properties/system/interrupts.hpp"

#include <signal.h>

#include <atomic>

namespace assay {
namespace {

/// A signal may reach any thread, not only the one that asks: sig_atomic_t would be a race then.
std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "or a signal handler may not write it");
struct sigaction before_int;
struct sigaction before_term;

void note(int) {
  noted = true;
}

}  // namespace

interrupts::interrupts() {
  noted = false;
  struct sigaction action{};
  action.sa_handler = note;
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
}

interrupts::~interrupts() {
  noted = false;
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGTERM, &before_term, nullptr);
}

bool interrupts::seen() {
  return noted;
}

}  // namespace assay
