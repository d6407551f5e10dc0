/// Reads of LDS by units, for a thread, and the fences that publish stores to them.
#include "kernels/platform/cpu/checker/access_checker.hpp"

namespace assay::cpu {

void access_checker::publish(checked_thread& self) {
  // A new stamp: the thread's next stores are not published.
  const access_record now = begin_interval(*self.time) | self.thread_bits;
  published_.add({now, barrier_floor_, self.time->floor});
}

void access_checker::demand_published(checked_thread& self, std::uintptr_t address, std::uint64_t size,
                                      std::uintptr_t pc) {
  const access_record now = mine(self, pc);
  const auto is_before = [&](access_record fence) {
    if (fence < barrier_floor_) return true;
    const bool is_own = ((fence ^ now) & record::thread_mask) == 0;
    if (same_wave(fence, now) && (is_own || lockstep_ || fence < self.time->floor)) return true;
    return is_known_past(fence, now);
  };
  const auto in_wave = [this](access_record a, access_record b) { return same_wave(a, b); };
  for (const local_area* const area : {&dynamic_, &static_}) {
    const std::uint64_t offset = address - area->low;
    if (offset >= area->size_bytes || size > area->size_bytes - offset) continue;
    const std::uint64_t first = offset / area->grain_bytes,
                        end = (offset + size + area->grain_bytes - 1) / area->grain_bytes;
    for (std::uint64_t grain = first; grain < end; ++grain) {
      const access_record store = area->writes[grain];
      if (grain > first && store == area->writes[grain - 1]) continue;
      if (store < block_floor_ || record::is_in_flight(store)) continue;  // as a load it is reported already
      if (published_.hold(store, now, is_before, in_wave)) continue;
      return report_unpublished(self, {access_kind::load, address, size, pc}, store, *area, grain * area->grain_bytes);
    }
    return;
  }
}

}  // namespace assay::cpu
