/// Explains why a block cannot continue: which threads wait where, and which one differs.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/platform/cpu/executor/block.hpp"

namespace assay::cpu {

/// Where one thread stopped.
struct block_runner::standing {
  enum class state { at_collective, at_barrier, ready, exited } now;
  meeting_place place;     // not for exited
  std::uint64_t mask = 0;  // of a collective
  int wave = 0;
  int lane = 0;
  int thread = 0;

  bool same_place(const standing& other) const {
    if (now != other.now) return false;
    return now == state::exited || (mask == other.mask && place == other.place);
  }
};

namespace {

constexpr int max_listed = 4;  // ranges of a group, groups of a message: it is one line

std::string list_members(const std::vector<int>& members) {
  std::string listed;
  int ranges = 0;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
    if (ranges++ == max_listed) return listed + ", ...";
    if (!listed.empty()) listed += ", ";
    listed += std::to_string(members[i]);
    if (end - i > 1) listed += "-" + std::to_string(members[end - 1]);
    i = end;
  }
  return listed;
}

/// "lanes 0-3, 8 wait at __shfl (x.hip:7); lane 4 has left the kernel". `number` is the member that names a standing.
template <class Standing>
std::string describe(const std::vector<Standing>& all, const char* noun, int Standing::* number) {
  std::vector<bool> listed_already(all.size(), false);
  std::string message;
  int groups = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (listed_already[i]) continue;
    std::vector<int> members;
    for (std::size_t j = i; j < all.size(); ++j)
      if (!listed_already[j] && all[j].same_place(all[i])) {
        listed_already[j] = true;
        members.push_back(all[j].*number);
      }
    if (!message.empty()) message += "; ";
    if (groups++ == max_listed) return message + "...";
    const bool one = members.size() == 1;
    message += std::string(noun) + (one ? " " : "s ") + list_members(members);
    switch (all[i].now) {
      case Standing::state::exited: message += one ? " has left the kernel" : " have left the kernel"; break;
      case Standing::state::ready: message += (one ? " polls at " : " poll at ") + text(all[i].place); break;
      case Standing::state::at_barrier:
      case Standing::state::at_collective: message += (one ? " waits at " : " wait at ") + text(all[i].place); break;
    }
    if (all[i].mask != 0 && all[i].mask != every_lane) {
      char mask[32];
      std::snprintf(mask, sizeof mask, " with mask 0x%" PRIx64, all[i].mask);
      message += mask;
    }
  }
  return message;
}

/// The first standing that is not in the largest group of those for which `counts` holds; of equal groups the first
/// wins.
template <class Standing, class Counts>
const Standing& odd_one_out(const std::vector<Standing>& all, Counts counts) {
  const Standing* crowd = nullptr;
  std::ptrdiff_t most = 0;
  for (const Standing& s : all) {
    if (!counts(s) || (crowd != nullptr && s.same_place(*crowd))) continue;
    const auto members = std::count_if(all.begin(), all.end(), [&](const Standing& o) { return o.same_place(s); });
    if (members > most) {
      most = members;
      crowd = &s;
    }
  }
  for (const Standing& s : all)
    if (crowd != nullptr && !s.same_place(*crowd)) return s;
  return all.front();
}

}  // namespace

std::string text(const meeting_place& place) {
  const char* file = place.where.file_name();
  const char* slash = std::strrchr(file, '/');
  return std::string(place.name) + " (" + (slash != nullptr ? slash + 1 : file) + ":" +
         std::to_string(place.where.line()) + ")";
}

block_runner::standing block_runner::standing_of(int wave, int lane) const {
  const std::uint64_t own = std::uint64_t{1} << lane;
  const std::size_t index = index_of(wave, lane);
  standing s{standing::state::at_barrier, threads_[index].place, 0, wave, lane, static_cast<int>(index)};
  const wave_state& w = waves_[static_cast<std::size_t>(wave)];
  if ((alive_[wave] & own) == 0) {
    s.now = standing::state::exited;
  } else if (schedule_.is_ready(wave, lane)) {
    s.now = standing::state::ready;
  } else {
    for (int i = 0; i < w.num_collectives; ++i)
      if ((w.collectives[i].arrived & own) != 0) {
        s.now = standing::state::at_collective;
        s.mask = w.collectives[i].mask;
      }
  }
  return s;
}

std::vector<block_runner::standing> block_runner::standings(int first_wave, int last_wave) const {
  std::vector<standing> all;
  for (int w = first_wave; w <= last_wave; ++w)
    for (int lane = 0; lane < std::popcount(initial_[w]); ++lane) all.push_back(standing_of(w, lane));
  return all;
}

found_defect block_runner::defect(assay_defect_kind kind, std::string message, int wave, int lane) const {
  return {kind, std::move(message), coordinates_.block_index, wave, lane};
}

found_defect block_runner::diagnose_stuck() const {
  for (int w = 0; w < num_waves_; ++w) {
    if (waves_[static_cast<std::size_t>(w)].num_collectives == 0) continue;
    std::vector<standing> lanes = standings(w, w);
    std::string message = describe(lanes, "lane", &standing::lane);
    // Collectives do not wait for lanes that have left, so those are not the cause.
    std::erase_if(lanes, [](const standing& s) { return s.now == standing::state::exited; });
    const standing& odd = odd_one_out(lanes, [](const standing&) { return true; });
    return defect(ASSAY_DIVERGENT_COLLECTIVE, std::move(message), odd.wave, odd.lane);
  }
  const std::vector<standing> threads = standings(0, num_waves_ - 1);
  const standing& odd = odd_one_out(threads, [](const standing& s) { return s.now == standing::state::at_barrier; });
  return defect(ASSAY_DIVERGENT_BARRIER, describe(threads, "thread", &standing::thread), odd.wave, odd.lane);
}

found_defect block_runner::diagnose_waiting_in_vain() const {
  const std::vector<standing> threads = standings(0, num_waves_ - 1);
  const auto poller =
      std::find_if(threads.begin(), threads.end(), [](const standing& s) { return s.now == standing::state::ready; });
  // The thread that gave up polls, so there is one.
  return defect(ASSAY_DEADLOCK, "no progress: " + describe(threads, "thread", &standing::thread), poller->wave,
                poller->lane);
}

found_defect block_runner::diagnose_outside_own_mask() const {
  const gpu_thread& t = *last_running_;
  return defect(ASSAY_DIVERGENT_COLLECTIVE,
                "lane " + std::to_string(t.lane) + " is not in its own mask at " + text(t.place), t.wave, t.lane);
}

found_defect block_runner::diagnose_absent_source() const {
  const int wave = last_running_->wave;
  const std::uint64_t bit = source_lane_ < 0 || source_lane_ >= max_wave_size ? 0 : std::uint64_t{1} << source_lane_;
  // The mask before the departure: whether a lane outside of the mask has left yet depends on the schedule.
  const char* reason = (initial_[wave] & bit) == 0    ? "does not exist"
                       : (operating_mask_ & bit) == 0 ? "is outside of the mask"
                                                      : "has left the kernel";
  return defect(ASSAY_EXITED_LANE,
                "lane " + std::to_string(reader_lane_) + " reads from lane " + std::to_string(source_lane_) + " at " +
                    text(threads_[index_of(wave, reader_lane_)].place) + ", which " + reason,
                wave, reader_lane_);
}

std::optional<found_defect> block_runner::diagnose_lds() const {
  const std::optional<std::int64_t> offset = lds_.overrun();
  if (!offset) return std::nullopt;
  return defect(ASSAY_LDS_OVERRUN,
                "the block changed dynamic LDS byte " + std::to_string(*offset) + " of " +
                    std::to_string(plan_->grid->shared_bytes) +
                    (*offset < 0 ? ", before its start" : ", past the size of the launch"),
                -1, -1);
}

}  // namespace assay::cpu
