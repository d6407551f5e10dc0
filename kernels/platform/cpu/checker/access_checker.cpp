#include "kernels/platform/cpu/checker/access_checker.hpp"

#include <bit>
#include <utility>

#include "kernels/platform/cpu/checker/module_image.hpp"
#include "kernels/platform/cpu/checker/source_line.hpp"

namespace assay::cpu {
namespace {

const memory_region nowhere;

}  // namespace

access_checker::access_checker() : module_start_(module_start()), last_region_(&nowhere) {
  const thread_local_image own = own_thread_locals();
  static_locations_ = mapped_array<location_record>(own.size_bytes);
  static_ = {own.low, own.size_bytes, static_locations_.data(), "static __shared__ memory,"};
}

void access_checker::begin_block(launch_session& session, const block_coordinates& coordinates, std::int64_t block,
                                 std::uintptr_t lds_low, std::uint64_t lds_bytes) {
  if (session.clock().era() != era_) {
    era_ = session.clock().era();
    static_locations_.clear();
    dynamic_locations_.clear();
  }
  if (session.launches() != launch_) {
    launch_ = session.launches();
    findings_.clear();
    told_.clear();
    last_region_ = &nowhere;
  }
  if (dynamic_locations_.count() < lds_bytes) dynamic_locations_ = mapped_array<location_record>(lds_bytes);
  dynamic_ = {lds_low, lds_bytes, dynamic_locations_.data(), "LDS"};
  session_ = &session;
  block_ = block;
  fatal_.reset();
  wave_shift_ = std::countr_zero(static_cast<unsigned int>(coordinates.wave_size));
  lockstep_ = session.lockstep();
  shared_ = session.shared();
  stamp_ = session.clock().take_chunk(block);
  launch_floor_ = session.launch_floor();
  block_floor_ = barrier_floor_ = record::at(stamp_);
  // The chunk's first stamp is nobody's: the floor is above everything before.
}

access_record access_checker::begin_interval(checked_thread& self) {
  ++stamp_;
  if (stamp_ % launch_clock::stamps_per_chunk == 0) stamp_ = session_->clock().take_chunk(block_);
  return *self.interval = record::at(stamp_);
}

std::int64_t access_checker::take_count() {
  return std::exchange(count_, 0);
}

}  // namespace assay::cpu
