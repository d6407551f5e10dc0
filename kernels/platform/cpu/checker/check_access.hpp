/// The hot half of access_checker. Only the callbacks include it: everything here is inlined there, with constant
/// sizes.
#pragma once

#include <atomic>

#include "kernels/platform/cpu/checker/access_checker.hpp"
#include "kernels/platform/cpu/checker/note_conflict.hpp"

namespace assay::cpu {

template <bool Global>
[[gnu::always_inline]] inline bool access_checker::races(access_record earlier, access_record now,
                                                         access_record wave_floor) const {
  if constexpr (Global) {
    if (earlier < launch_floor_) return is_too_early(earlier, now);
    if (record::spread(earlier) == access_spread::blocks) return true;
    if (session_->clock().block_of(record::stamp(earlier)) != block_) return !is_known_past(earlier, now);
  }
  if (earlier < barrier_floor_) return false;
  const access_spread spread = record::spread(earlier);
  if (spread != access_spread::waves && same_wave(earlier, now)) {
    if (lockstep_ || earlier < wave_floor) return false;
    if (spread == access_spread::one_thread && ((earlier ^ now) & record::thread_mask) == 0) return false;
  }
  return !is_known_past(earlier, now);
}

/// What a location's record of reads (or of atomics) becomes. It counts as atomic only if all of them are.
template <bool Global>
[[gnu::always_inline]] inline access_record access_checker::merged(access_record recorded, access_record now,
                                                                   access_record wave_floor) const {
  const access_record earlier = recorded & (now | ~record::atomic_mask);
  if constexpr (Global) {
    // What a kernel before did is kept: a store of this thread would race with it, whatever it reads before. With this
    // access itself no later store of the launch is compared then.
    if (earlier < launch_floor_) return is_too_early(earlier, now) ? earlier : now;
    if (record::spread(earlier) == access_spread::blocks) return earlier;
    if (session_->clock().block_of(record::stamp(earlier)) != block_)
      return is_known_past(earlier, now) ? now : record::with(earlier, access_spread::blocks);
  }
  if (earlier < barrier_floor_) return now;
  if (record::spread(earlier) == access_spread::waves || record::same_thread_and_interval(earlier, now)) return earlier;
  if (same_wave(earlier, now)) {
    if (earlier < wave_floor) return now;
    const bool is_own = ((earlier ^ now) & (record::thread_mask | record::spread_mask)) == 0;
    return is_own || is_known_past(earlier, now) ? now : record::with(earlier, access_spread::lanes);
  }
  return is_known_past(earlier, now) ? now : record::with(earlier, access_spread::waves);
}

template <bool Global>
[[gnu::always_inline]] inline void access_checker::note(access_record& location, access_record now,
                                                        access_record wave_floor) const {
  if (!Global || !shared_) {
    location = merged<Global>(location, now, wave_floor);
    return;
  }
  const std::atomic_ref<access_record> cell(location);
  access_record seen = cell.load();
  while (!cell.compare_exchange_weak(seen, merged<Global>(seen, now, wave_floor))) {
  }
}

// With several OS threads a reader notes itself before it looks at the write, and a writer the other way round: of two
// accesses that overlap in time, one at least sees the other.
template <access_kind Kind, bool Global>
[[gnu::always_inline]] inline unsigned access_checker::touch(access_record& write, access_record& read,
                                                             access_record now, access_record wave_floor,
                                                             access_record born, access_record& other) const {
  unsigned problems = 0;
  if constexpr (only_loads(Kind)) {
    note<Global>(read, is_atomic(Kind) ? now | record::atomic_mask : now, wave_floor);
    const access_record w = Global ? std::atomic_ref(write).load(std::memory_order_seq_cst) : write;
    if (w < born)
      problems = unwritten;
    else if (!(is_atomic(Kind) && record::is_atomic(w)) && races<Global>(w, now, wave_floor))
      problems = races_with_write, other = w;
    return problems;
  }
  access_record w = write;
  if constexpr (Kind == access_kind::store) {
    if (Global && shared_)
      w = std::atomic_ref(write).exchange(now);
    else
      write = now;
    if (races<Global>(w, now, wave_floor)) problems = races_with_write, other = w;
  } else {
    if (Kind == access_kind::atomic && w < born) problems = unwritten;
    if (record::is_atomic(w)) {
      note<Global>(write, now | record::atomic_mask, wave_floor);
    } else {
      if (races<Global>(w, now, wave_floor)) problems |= races_with_write, other = w;
      write = now | record::atomic_mask;
    }
  }
  const access_record r = Global ? std::atomic_ref(read).load(std::memory_order_seq_cst) : read;
  if (problems == 0 && !(is_atomic(Kind) && record::is_atomic(r)) && races<Global>(r, now, wave_floor))
    problems = races_with_read, other = r;
  if constexpr (Kind == access_kind::store)
    if (r != 0) std::atomic_ref(read).store(0, std::memory_order_relaxed);
  return problems;
}

template <access_kind Kind>
[[gnu::always_inline]] inline void access_checker::note_order(access_record write, access_record read,
                                                              std::uintptr_t site) const {
  if (!flags_are_read) return;
  const auto precedes = [this](access_record r) { return r >= block_floor_ && r < barrier_floor_; };
  if (precedes(write)) note_conflict(record::site(write), site);
  if constexpr (!only_loads(Kind))
    if (precedes(read)) note_conflict(record::site(read), site);
}

template <access_kind Kind>
[[gnu::noinline]] void access_checker::check_grains_fully(checked_thread& self, const local_area& area,
                                                          std::uint64_t first, std::uint64_t count, std::uintptr_t pc) {
  const access_record now = mine(self, pc);
  access_record* const writes = area.writes + first;
  access_record* const reads = area.reads + first;
  unsigned problems = 0;
  access_record other = 0;
  std::uint64_t at = 0;
  // Grains with the same history, such as those of one element, are checked once.
  for (std::uint64_t i = 0; i < count;) {
    const access_record write = writes[i], read = reads[i];
    access_record differs = i;  // mostly all are alike, which the processor sees best without branches
    for (std::uint64_t j = 1; i == 0 && j < count; ++j) differs |= (writes[j] ^ write) | (reads[j] ^ read);
    std::uint64_t end = differs == 0 ? count : i + 1;
    while (end < count && writes[end] == write && reads[end] == read) ++end;
    access_record new_write = write, new_read = read, seen = 0;
    const unsigned found = touch<Kind, false>(new_write, new_read, now, self.time->floor, block_floor_, seen);
    if (found != 0 && problems == 0) {
      problems = found;
      other = seen;
      at = i;
    }
    note_order<Kind>(write, read, pc - code_start_);
    if (new_write != write)
      for (std::uint64_t j = i; j < end; ++j) writes[j] = new_write;
    if (new_read != read)
      for (std::uint64_t j = i; j < end; ++j) reads[j] = new_read;
    i = end;
  }
  if (problems != 0) [[unlikely]]
    report_local(self, {Kind, area.low + first * area.grain_bytes, count * area.grain_bytes, pc}, problems, other, area,
                 (first + at) * area.grain_bytes);
}

/// Whether a barrier, or a collective of its wave, ended between the record's accesses and that of `now`.
[[gnu::always_inline]] inline bool access_checker::is_past(access_record earlier, access_record now,
                                                           access_record wave_floor) const {
  return earlier < barrier_floor_ ||
         (earlier < wave_floor && record::spread(earlier) != access_spread::waves && same_wave(earlier, now));
}

/// Most loads of tiles: all of it was written before a barrier or collective, they were last read alike, and atomics
/// order nothing. What touch() would do is then known, and there is nothing to report. Returns false, and does nothing,
/// if it is not so. It makes no call, not even for a wave's new stamp, and so it keeps its values in registers.
[[gnu::always_inline]] inline bool access_checker::passes_load(checked_thread& self, const local_area& area,
                                                               std::uint64_t first, std::uint64_t count,
                                                               std::uintptr_t pc) {
  access_record* const writes = area.writes + first;
  access_record* const reads = area.reads + first;
  const access_record write = writes[0], read = reads[0];
  access_record writes_differ = 0, reads_differ = 0;  // without branches, which is faster
  for (std::uint64_t i = 1; i < count; ++i) {
    writes_differ |= writes[i] ^ write;
    reads_differ |= reads[i] ^ read;
  }
  if (reads_differ != 0 || self.time->now == 0 || has_order_) return false;
  const access_record now = mine(self, pc), wave_floor = self.time->floor;
  if (writes_differ == 0) {
    if (write < block_floor_ || !is_past(write, now, wave_floor)) return false;
  } else {  // a vector of elements that several threads stored
    bool is_late = false;
    for (std::uint64_t i = 0; i < count; ++i)
      is_late |= writes[i] - block_floor_ >= barrier_floor_ - block_floor_;  // unsigned: nor before the block
    if (is_late) return false;
  }
  const access_record new_read = merged<false>(read, now, wave_floor);
  if (new_read != read)
    for (std::uint64_t i = 0; i < count; ++i) reads[i] = new_read;
  for (std::uint64_t i = 0; i < count; ++i)
    if (i == 0 || writes[i] != writes[i - 1]) note_order<access_kind::load>(writes[i], read, pc - code_start_);
  return true;
}

/// Most stores to tiles: a barrier ended since all of it was written and read. As above.
[[gnu::always_inline]] inline bool access_checker::passes_store(checked_thread& self, const local_area& area,
                                                                std::uint64_t first, std::uint64_t count,
                                                                std::uintptr_t pc) {
  access_record* const writes = area.writes + first;
  access_record* const reads = area.reads + first;
  bool is_late = false, is_read = false;
  for (std::uint64_t i = 0; i < count; ++i) {
    is_late |= (writes[i] >= barrier_floor_) | (reads[i] >= barrier_floor_);
    is_read |= reads[i] != 0;
  }
  if (is_late || self.time->now == 0) return false;
  const access_record now = mine(self, pc);
  for (std::uint64_t i = 0; i < count; ++i)
    if (i == 0 || ((writes[i] ^ writes[i - 1]) | (reads[i] ^ reads[i - 1])) != 0)
      note_order<access_kind::store>(writes[i], reads[i], pc - code_start_);
  for (std::uint64_t i = 0; i < count; ++i) writes[i] = now;
  if (is_read)
    for (std::uint64_t i = 0; i < count; ++i) reads[i] = 0;
  return true;
}

template <access_kind Kind>
[[gnu::always_inline]] inline void access_checker::check_grains(checked_thread& self, const local_area& area,
                                                                std::uint64_t first, std::uint64_t count,
                                                                std::uintptr_t pc) {
  if constexpr (Kind == access_kind::load)
    if (passes_load(self, area, first, count, pc)) return;
  if constexpr (Kind == access_kind::store)
    if (passes_store(self, area, first, count, pc)) return;
  check_grains_fully<Kind>(self, area, first, count, pc);
}

template <access_kind Kind>
[[gnu::always_inline]] inline void access_checker::check_local(checked_thread& self, local_area& area,
                                                               std::uint64_t offset, std::uint64_t size,
                                                               std::uintptr_t pc) {
  const bool is_odd = ((offset | size) & 1) != 0;
  if (area.grain_bytes == 2) {
    if (!is_odd) [[likely]]
      return check_grains<Kind>(self, area, offset / 2, size / 2, pc);
    area.split_grains();
  }
  area.has_odd_accesses |= is_odd;
  check_grains<Kind>(self, area, offset, size, pc);
}

template <access_kind Kind>
[[gnu::always_inline]] inline void access_checker::check_static(checked_thread& self, std::uint64_t offset,
                                                                std::uint64_t size, std::uintptr_t pc) {
  if (!last_static_.holds(offset, size)) [[unlikely]] {
    const own_accesses own(self);
    const module_variables& all = module_variables::thread_locals();
    const module_variable* const found = all.at(offset);
    if (found == nullptr || !found->holds(offset, size)) {
      if (!all.empty()) return report_outside_static(self, {Kind, static_.low + offset, size, pc});
    } else {
      last_static_ = *found;
    }
  }
  check_local<Kind>(self, static_, offset, size, pc);
}

template <access_kind Kind>
[[gnu::always_inline]] inline void access_checker::check_region(checked_thread& self, const memory_region& region,
                                                                std::uint64_t offset, std::uint64_t size,
                                                                std::uintptr_t pc) {
  if constexpr (Kind == access_kind::load)
    if (watched_ && (region.role == memory_role::input || region.role == memory_role::in_out)) [[unlikely]]
      tell_watch(self, region, offset, size, pc);
  if (region.role == memory_role::input || region.role == memory_role::constants) {
    if constexpr (!only_loads(Kind)) report_input_store(self, {Kind, region.low + offset, size, pc}, region);
    return;
  }
  const access_record born = region.role == memory_role::output ? session_->run_floor() : 0;
  const access_record now = mine(self, pc);
  const std::uint64_t last = region.element_at(offset + size - 1);
  for (std::uint64_t element = region.element_at(offset); element <= last; ++element) {
    access_record other = 0;
    const unsigned found =
        touch<Kind, true>(region.writes[element], region.reads[element], now, self.time->floor, born, other);
    if (found == 0) [[likely]]
      continue;
    return report_global(self, {Kind, region.low + offset, size, pc}, found, other, region,
                         element * region.element_bytes);
  }
}

template <access_kind Kind>
[[gnu::always_inline]] inline void access_checker::check(checked_thread& self, std::uintptr_t address,
                                                         std::uint64_t size, std::uintptr_t pc) {
  if (is_left_over(Kind, address)) return;
  ++count_;
  if (const std::uint64_t offset = address - dynamic_.low;
      offset < dynamic_.size_bytes && size <= dynamic_.size_bytes - offset)
    return check_local<Kind>(self, dynamic_, offset, size, pc);
  check_elsewhere<Kind>(self, address, size, pc);
}

template <access_kind Kind>
[[gnu::noinline]] void access_checker::check_elsewhere(checked_thread& self, std::uintptr_t address, std::uint64_t size,
                                                       std::uintptr_t pc) {
  memory_run& last = last_run_of(pc);
  memory_run& row = last_row_at(address);
  const memory_region* region = last.region;
  const bool is_known = last.holds(address, size);
  if (!is_known && row.holds(address, size)) {  // mostly by another lane
    region = row.region;
  } else if (!is_known) {
    if (const std::uint64_t offset = address - static_.low;
        offset < static_.size_bytes && size <= static_.size_bytes - offset)
      return check_static<Kind>(self, offset, size, pc);
    if (address - executor_low_ < executor_bytes_) return;
    // The next row of the same tensor, mostly.
    if (region != nullptr && !region->is_dense && region->holds(address - region->low, size)) {
      const memory_region::run run = region->run_at(address - region->low);
      row = {region->low + run.offset, run.size_bytes, region};
    } else {
      const memory_run found = find_run(self, address, size);
      if (found.region == nullptr) return report_outside(self, {Kind, address, size, pc});
      if (found.size_bytes != 0) last = row = found;  // one place may access two tensors in turn
      region = found.region;
    }
  }
  check_region<Kind>(self, *region, address - region->low, size, pc);
}

}  // namespace assay::cpu
