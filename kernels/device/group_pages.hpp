/// The rows of a group that a thread of its crew copies, and the pages in which they lie.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/key_groups.hpp"
#include "kernels/device/page_window.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

/// A thread copies one chunk of 16 bytes in eight: 8 threads side by side make 128 bytes of a row. In each step the
/// crew has rows_at_once() rows.
template <class Crew>
class group_pages {
 protected:
  static constexpr int group_keys = Crew::group_keys;
  static constexpr int max_steps = group_keys * swizzled_chunks / Crew::least_members;
  static_assert(Crew::most_members / swizzled_chunks <= group_keys);
  /// Larger crews take fewer steps.
  static constexpr bool may_be_larger = Crew::most_members != Crew::least_members;

  __device__ group_pages(const group_range& range, Crew crew, unsigned char* page_ids)
      : range_(range), crew_(crew), window_(page_ids) {
    if constexpr (Crew::has_window)
      if (has_runs_in_pages()) window_.request(range);
  }

  __device__ int rows_at_once() const { return crew_.members() / swizzled_chunks; }
  __device__ int row_of(int step) const { return crew_.member() / swizzled_chunks + step * rows_at_once(); }

  /// Runs do not cross pages.
  __device__ bool has_runs_in_pages() const { return range_.pages.page_size % Crew::run_keys == 0; }
  __device__ int first_step_of_run(int step) const {
    if constexpr (group_keys == Crew::run_keys) return 0;
    return step - step % (Crew::run_keys / rows_at_once());
  }
  /// The slot of its page in which each run of a group begins. Only entries of steps that begin a run are set. Runs are
  /// in pages.
  __device__ void find_slots_of_runs(std::int32_t group, std::int32_t (&slots)[max_steps]) const {
    ASSAY_UNROLL
    for (int i = 0; i < max_steps; ++i)
      if (i == first_step_of_run(i)) slots[i] = range_.pages.slot_of(group * group_keys + i * rows_at_once());
  }
  __device__ bool is_whole(std::int32_t group) const {
    const std::int32_t first = group * group_keys;
    return range_.live.first <= first && first + group_keys <= range_.live.last;
  }

  /// Before the first group is issued.
  __device__ void start_window() const {
    if constexpr (Crew::has_window)
      if (has_runs_in_pages()) window_.start();
  }
  /// When a group is issued: its page ids come out of the window, if there is one.
  __device__ void take_from_window() {
    if constexpr (Crew::has_window) {
      if (!has_runs_in_pages()) return;
      window_.look_ahead(range_, turn_);
      ASSAY_UNROLL
      for (int i = 0; i < max_steps; ++i) {
        const int row = i * rows_at_once();
        if (row < group_keys && i == first_step_of_run(i)) ids_[i] = window_.id(turn_, row / Crew::run_keys);
      }
      ++turn_;
    }
  }
  /// Without a window, page ids of the group that is issued next: the loads are long done when it is. Nothing is done
  /// with them before, and no load has a condition, for which the compiler would wait: see key_ring's hold().
  __device__ void look_up(std::int32_t next) {
    if (next >= range_.last || (Crew::has_window && has_runs_in_pages())) return;
    if (has_runs_in_pages()) {
      ASSAY_UNROLL
      for (int i = 0; i < max_steps; ++i)
        if (i == first_step_of_run(i)) ids_[i] = range_.pages.page_of(live_key(next, i));
    } else {
      ASSAY_UNROLL
      for (int i = 0; i < max_steps; ++i) ids_[i] = range_.pages.page_of(live_key(next, i));
    }
  }

  /// The key of the thread's row of step `step`, or, where it is not live or not of the group, one that is: of no page
  /// without live keys an entry may be read.
  __device__ std::int32_t live_key(std::int32_t group, int step) const {
    const int row = may_be_larger ? min_of(row_of(step), group_keys - 1) : row_of(step);
    return min_of(max_of(group * group_keys + row, range_.live.first), range_.live.last - 1);
  }
  /// The same, but where copies do not pass through registers of any key: there dead ones are not read. See key_ring's
  /// hold().
  __device__ std::int32_t key_of(std::int32_t group, int step) const {
    return platform::copies_pass_registers ? live_key(group, step) : group * group_keys + row_of(step);
  }
  /// Of the row's run, in the group whose pages were looked up last.
  __device__ std::int32_t page_of_step(int step) const {
    return has_runs_in_pages() ? ids_[first_step_of_run(step)] : ids_[step];
  }
  /// Before that row in the pool.
  template <class Pool>
  __device__ std::int64_t row_offset(const Pool& pool, std::int32_t group, int step) const {
    return pool.row_offset(page_of_step(step), range_.pages.slot_of(key_of(group, step)));
  }

  group_range range_;
  [[no_unique_address]] Crew crew_;

 private:
  std::conditional_t<Crew::has_window, page_window<Crew>, no_window> window_;
  std::int32_t ids_[max_steps] = {};  ///< pages of the thread's rows, or, of runs, of those in which a run begins
  unsigned int turn_ = 0;             ///< groups that were issued out of the window
};

}  // namespace assay::device
