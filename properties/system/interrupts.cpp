#include "properties/system/interrupts.hpp"

#include <signal.h>

namespace assay {
namespace {

volatile sig_atomic_t noted = 0;
struct sigaction before_int;
struct sigaction before_term;

void note(int) {
  noted = 1;
}

}  // namespace

interrupts::interrupts() {
  noted = 0;
  struct sigaction action{};
  action.sa_handler = note;
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
}

interrupts::~interrupts() {
  noted = 0;
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGTERM, &before_term, nullptr);
}

bool interrupts::seen() {
  return noted != 0;
}

}  // namespace assay
