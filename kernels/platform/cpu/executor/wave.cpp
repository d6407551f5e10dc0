/// The operations of the running GPU thread, as the HIP headers name them.
#include "kernels/platform/cpu/executor/wave.hpp"

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

}  // namespace

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

void* dynamic_lds() {
  return block_runner::of_running_block("HIP_DYNAMIC_SHARED").lds();
}

}  // namespace assay::cpu
