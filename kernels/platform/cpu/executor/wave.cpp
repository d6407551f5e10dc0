/// The operations of the running GPU thread, as the HIP headers name them.
#include "kernels/platform/cpu/executor/wave.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/platform/cpu/checker/module_image.hpp"
#include "kernels/platform/cpu/executor/block.hpp"

namespace assay::cpu {
namespace {

using slot = wave_state::shuffle_slot;

void exchange(wave_records& records) {
  for (int lane = 0; lane < records.size; ++lane) {
    if (records.lane[lane] == nullptr) continue;
    slot& to = *static_cast<slot*>(records.lane[lane]);
    if (to.source < 0 || to.source >= records.size || records.lane[to.source] == nullptr)
      block_runner::of_running_block("shuffle").end_for_absent_source(lane, to.source);
    to.result = static_cast<const slot*>(records.lane[to.source])->value;
  }
}

/// A lane's value, and the least and the greatest of all lanes.
struct uniform_value {
  int own, least, greatest;
};
void find_extremes(wave_records& records) {
  const auto for_each = [&](auto&& visit) {
    for (int lane = 0; lane < records.size; ++lane)
      if (records.lane[lane] != nullptr) visit(*static_cast<uniform_value*>(records.lane[lane]));
  };
  int least = std::numeric_limits<int>::max(), greatest = std::numeric_limits<int>::min();
  for_each([&](uniform_value& of) { least = std::min(least, of.own), greatest = std::max(greatest, of.own); });
  for_each([&](uniform_value& of) { of.least = least, of.greatest = greatest; });
}

}  // namespace

int demand_uniform(int value, std::source_location where) {
  uniform_value of_lane{value, value, value};
  wave_rendezvous("uniform", where, &of_lane, &find_extremes);
  if (of_lane.least != of_lane.greatest)
    throw std::invalid_argument("uniform: lanes of a wave have " + std::to_string(of_lane.least) + " and " +
                                std::to_string(of_lane.greatest));
  return value;
}

void count_votes(wave_records& records) {
  votes all{};
  for (int lane = 0; lane < records.size; ++lane) {
    if (records.lane[lane] == nullptr) continue;
    all.present |= std::uint64_t{1} << lane;
    if (static_cast<const vote*>(records.lane[lane])->predicate) all.set |= std::uint64_t{1} << lane;
  }
  for (int lane = 0; lane < records.size; ++lane)
    if (records.lane[lane] != nullptr) static_cast<vote*>(records.lane[lane])->result = all;
}

hand_over arrive_at_barrier(const char* name, std::source_location where, bool vote) {
  return block_runner::of_running_block(name).barrier({name, where}, vote);
}

hand_over arrive_at_scheduling_point(const char* name, std::source_location where) {
  if (this_thread == nullptr) return {};
  return block_runner::of_running_block(name).yield({name, where});
}

hand_over arrive_at_rendezvous(const char* name, std::source_location where, std::uint64_t mask, void* record,
                               wave_operation operate) {
  return block_runner::of_running_block(name).rendezvous({name, where}, mask, record, operate);
}

hand_over arrive_at_shuffle(const char* name, std::source_location where, std::uint64_t mask, std::uint64_t value,
                            int source_lane) {
  block_runner& runner = block_runner::of_running_block(name);
  slot& own = runner.own_wave().shuffles[lane_id()];
  own.value = value;
  own.source = source_lane;
  return runner.rendezvous({name, where}, mask, &own, &exchange);
}

std::uint64_t shuffled_bits() {
  return block_runner::of_running_block("shuffle").own_wave().shuffles[lane_id()].result;
}

uint3 thread_index() {
  return this_thread->thread_index;
}
uint3 block_index() {
  return this_thread->block->block_index;
}
dim3 block_extent() {
  return this_thread->block->block_dim;
}
dim3 grid_extent() {
  return this_thread->block->grid_dim;
}
int lane_id() {
  return this_thread->lane;
}
int wave_size() {
  return this_thread->block->wave_size;
}
int last_votes() {
  return this_thread->block->votes;
}

void note_progress() {
  if (this_thread != nullptr) block_runner::of_running_block("atomic").note_progress();
}

long long next_tick() {
  static thread_local long long ticks = 0;
  return ++ticks;
}

namespace {

constexpr std::uint64_t first_static_number = std::uint64_t{1} << 30;

}  // namespace

std::uint64_t shared_number(const void* address) {
  const thread_local_image fixed = own_thread_locals();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at - fixed.low < fixed.size_bytes) return first_static_number + (at - fixed.low);
  return static_cast<std::uint32_t>(at - reinterpret_cast<std::uintptr_t>(dynamic_lds()));
}

void* shared_pointer(std::uint64_t number) {
  if (number >= first_static_number && number < 2 * first_static_number)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): shared addresses are numbers in PTX
    return reinterpret_cast<void*>(own_thread_locals().low + (number - first_static_number));
  // Past and before the LDS, too, as 32 bits can say it: the checker reports what is there.
  const auto offset = static_cast<std::ptrdiff_t>(static_cast<std::int32_t>(number));
  return static_cast<char*>(dynamic_lds()) + offset;
}

void* dynamic_lds() {
  return block_runner::of_running_block("HIP_DYNAMIC_SHARED").lds();
}

}  // namespace assay::cpu
