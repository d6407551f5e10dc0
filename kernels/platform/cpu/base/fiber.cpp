#include "kernels/platform/cpu/base/fiber.hpp"

#include "kernels/platform/cpu/base/own_stack.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <new>

namespace assay::cpu {
namespace {

// Generous, as only touched pages cost memory: a kernel's frame with register tiles as arrays is some KiB, unoptimised
// code and AddressSanitizer's red zones multiply that.
#if ASSAY_ASAN || ASSAY_TSAN
constexpr std::size_t stack_bytes = std::size_t{1} << 20;
#else
constexpr std::size_t stack_bytes = slot_bytes;
#endif
constexpr std::size_t line_bytes = 64;
constexpr std::size_t lines_per_page = 64;

// Stacks of equal alignment would put the same frames of all fibers into the same few of the 64 sets of an L1 cache.
// Nine lines apart, fibers visit all sets (9 and 64 are coprime).
constexpr std::size_t colour_bytes(int index) {
  return static_cast<std::size_t>(index) * 9 % lines_per_page * line_bytes;
}

}  // namespace

#if ASSAY_ASAN
namespace {

thread_local constinit const fiber* arriving_fiber = nullptr;  // a new one cannot know itself before its first arrival

}  // namespace

void announce_switch(fiber& from, const fiber& to) {
  arriving_fiber = &to;
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_size_bytes);
}
void announce_arrival(fiber& left) {
  __sanitizer_finish_switch_fiber(arriving_fiber->fake_stack, &left.stack_bottom, &left.stack_size_bytes);
}
#endif

stack_slab::stack_slab(int max_stacks)
    : max_stacks_(max_stacks), reserved_bytes_(static_cast<std::size_t>(max_stacks + 1) * 2 * stack_bytes) {
  void* range = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  reserved_ = range;
  const auto first = reinterpret_cast<std::uintptr_t>(range);  // each stack and its guard are a slot of own_stack.hpp
  base_ = static_cast<char*>(range) + (stack_bytes - first % stack_bytes) % stack_bytes;
  prepare_own_stack_flags(low(0), static_cast<std::size_t>(max_stacks) * 2 * stack_bytes);
}

stack_slab::~stack_slab() {
#if ASSAY_TSAN
  for (void* state : states_)
    if (state != nullptr) __tsan_destroy_fiber(state);
#endif
  munmap(reserved_, reserved_bytes_);
}

std::uintptr_t stack_slab::low(int index) const {
  return reinterpret_cast<std::uintptr_t>(base_) + (2 * static_cast<std::size_t>(index) + 1) * stack_bytes;
}
std::size_t stack_slab::size_bytes() {
  return stack_bytes;
}

void stack_slab::start(fiber& f, int index, void (*entry)(boost::context::detail::transfer_t)) {
  for (; usable_stacks_ <= index; ++usable_stacks_) {
    char* stack = base_ + (2 * static_cast<std::size_t>(usable_stacks_) + 1) * stack_bytes;
    if (mprotect(stack, stack_bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  char* bottom = base_ + (2 * static_cast<std::size_t>(index) + 1) * stack_bytes;
  const std::size_t size = stack_bytes - colour_bytes(index);
#if ASSAY_ASAN
  __asan_unpoison_memory_region(bottom, stack_bytes);  // red zones of forgotten frames
  f.stack_bottom = bottom;
  f.stack_size_bytes = size;
#endif
#if ASSAY_TSAN
  const auto at = static_cast<std::size_t>(index);
  if (states_.size() <= at) states_.resize(at + 1);
  if (states_[at] != nullptr) __tsan_destroy_fiber(states_[at]);
  f.state = states_[at] = __tsan_create_fiber(0);
#endif
  f.context = boost::context::detail::make_fcontext(bottom + size, size, entry);
}

namespace {

struct ping_pong {
  fiber home;
  fiber ball;
};
thread_local constinit ping_pong* game = nullptr;

void return_ball(boost::context::detail::transfer_t from) {
  note_arrival(from);
  for (;;) switch_fiber(game->ball, game->home);
}

}  // namespace

double measure_switch_seconds() {
  constexpr int rounds = 20000;
  stack_slab slab(1);
  ping_pong players;
  game = &players;
  slab.start(players.ball, 0, return_ball);
  double best = 1.0;
  for (int repetition = 0; repetition < 10; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) switch_fiber(players.home, players.ball);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    best = std::min(best, elapsed.count() / (2.0 * rounds));
  }
  game = nullptr;
  return best;
}

}  // namespace assay::cpu
