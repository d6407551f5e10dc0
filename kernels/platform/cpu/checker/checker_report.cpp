/// The reports of the checker.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/platform/cpu/base/local_memory.hpp"
#include "kernels/platform/cpu/base/own_stack.hpp"
#include "kernels/platform/cpu/checker/access_checker.hpp"
#include "kernels/platform/cpu/checker/source_line.hpp"

namespace assay::cpu {
namespace {

// An access this near to a buffer counts as one that missed the buffer.
constexpr std::uint64_t near_bytes = 65536;

const char* name_of(access_kind kind) {
  switch (kind) {
    case access_kind::load: return "load";
    case access_kind::store: return "store";
    case access_kind::atomic: return "atomic";
    case access_kind::atomic_load: return "atomic load";
    case access_kind::atomic_store: return "atomic store";
  }
  return "";
}

bool is_of_module(const memory_region& region) {
  const std::vector<memory_region>& parts = module_image();
  return std::any_of(parts.begin(), parts.end(), [&](const memory_region& part) { return part.low == region.low; });
}

std::string in_brackets(std::uintptr_t pc) {
  return " (" + source_line(pc) + ")";
}

}  // namespace

const memory_region* access_checker::find_region(std::uintptr_t address, std::uint64_t size) const {
  for (const memory_region& r : session_->regions())
    if (r.holds(address - r.low, size)) return &r;
  return nullptr;
}

memory_run access_checker::find_run(checked_thread& self, std::uintptr_t address, std::uint64_t size) const {
  const own_accesses own(self);
  const memory_region* const region = find_region(address, size);
  if (region == nullptr) return {};
  if (region->role == memory_role::globals && !module_variables::globals().empty()) {
    const module_variable* const variable = module_variables::globals().at(address);
    if (variable == nullptr || !variable->holds(address, size)) return {};
    return {variable->start, variable->size_bytes, region};
  }
  const memory_region::run run = region->run_at(address - region->low);
  const memory_run found{region->low + run.offset, run.size_bytes, region};
  // A tensor that lies in memory of hipMalloc comes first, wherever its rows are: the rest is looked up each time.
  if (region->role == memory_role::scratch)
    for (const memory_region* r = session_->regions().data(); r != region; ++r)
      if (r->low < found.low + found.size_bytes && found.low < r->low + r->span_bytes) return {0, 0, region};
  return found.holds(address, size) ? found : memory_run{0, 0, region};
}

bool access_checker::is_new(assay_defect_kind kind, std::uintptr_t pc) {
  const std::pair key(kind, pc);
  if (std::find(reported_.begin(), reported_.end(), key) != reported_.end()) return false;
  reported_.push_back(key);
  return true;
}

access_defect access_checker::make_defect(const checked_thread& self, assay_defect_kind kind, const access& what,
                                          std::string message) const {
  return {kind, std::move(message), source_line(what.pc), self.block->block_index, self.wave, self.lane};
}

std::string access_checker::what_it_is(const access& what) const {
  return std::string(name_of(what.kind)) + " of " + std::to_string(what.size) + (what.size == 1 ? " byte" : " bytes") +
         in_brackets(what.pc);
}

std::string access_checker::who(access_record other, bool is_global) const {
  const int thread = record::thread(other);
  std::string text = "thread " + std::to_string(thread);
  const std::int64_t block = session_->clock().block_of(record::stamp(other));
  if (is_global && block != block_) text += " of block number " + std::to_string(block);
  switch (record::spread(other)) {
    case access_spread::one_thread: break;
    case access_spread::lanes: text += " and other lanes of its wave"; break;
    case access_spread::waves: text += " and other waves"; break;
    case access_spread::blocks: text += " and other blocks"; break;
  }
  return text + in_brackets(code_start_ + record::site(other));
}

void access_checker::report_misaligned(checked_thread& self, std::uintptr_t address, std::uint64_t size,
                                       std::uintptr_t pc) {
  const own_accesses own(self);
  access_defect defect =
      make_defect(self, ASSAY_MISALIGNED, {access_kind::load, address, size, pc},
                  "access of " + std::to_string(size) + " bytes" + in_brackets(pc) + " to " + place_of(address) + ", " +
                      std::to_string(address % size) + " bytes past a multiple of " + std::to_string(size));
  end_block(self, defect);
}

void access_checker::report_misaligned(checked_thread& self, std::uintptr_t address, std::uint64_t alignment,
                                       const char* type, const char* file, int line) {
  const own_accesses own(self);
  access_defect defect{ASSAY_MISALIGNED, {}, {}, self.block->block_index, self.wave, self.lane};
  const char* const slash = std::strrchr(file, '/');
  defect.line = std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(line);
  defect.message = "access (" + defect.line + ") as " + type + " to " + place_of(address) + ", " +
                   std::to_string(address % alignment) + " bytes past a multiple of " + std::to_string(alignment);
  end_block(self, defect);
}

std::string access_checker::place_in(const local_area& area, std::uint64_t offset) const {
  if (&area == &dynamic_) return "LDS byte " + std::to_string(offset);
  const module_variable* const variable = module_variables::thread_locals().at(offset);
  if (variable == nullptr || !variable->holds(offset, 1))
    return "static __shared__ memory, byte " + std::to_string(offset);
  return "static __shared__ " + variable->name() + " byte " + std::to_string(offset - variable->start);
}

std::string access_checker::place_in(const memory_region& region, std::uint64_t offset) const {
  if (region.role == memory_role::globals) {
    const std::uintptr_t address = region.low + offset;
    const module_variable* const variable = module_variables::globals().at(address);
    if (variable != nullptr && variable->holds(address, 1))
      return "global " + variable->name() + " byte " + std::to_string(address - variable->start);
  }
  return region.describe(static_cast<std::int64_t>(offset));
}

std::string access_checker::place_of(std::uintptr_t address) const {
  for (const local_area* area : {&dynamic_, &static_})
    if (address - area->low < area->size_bytes) return place_in(*area, address - area->low);
  if (const memory_region* r = find_region(address, 1)) return place_in(*r, address - r->low);
  return "memory outside all tensors and the LDS";  // an address would differ from run to run
}

void access_checker::report_local(checked_thread& self, const access& what, unsigned problems, access_record other,
                                  const local_area& area, std::uint64_t offset) {
  const own_accesses own(self);
  report_problems(self, what, problems, other, false, place_in(area, offset));
}

void access_checker::report_global(checked_thread& self, const access& what, unsigned problems, access_record other,
                                   const memory_region& region, std::uint64_t offset) {
  const own_accesses own(self);
  report_problems(self, what, problems, other, true, place_in(region, offset));
}

void access_checker::report_problems(const checked_thread& self, const access& what, unsigned problems,
                                     access_record other, bool is_global, const std::string& place) {
  if ((problems & unwritten) != 0) {
    if (is_new(ASSAY_UNWRITTEN_READ, what.pc))
      defects_.push_back(make_defect(
          self, ASSAY_UNWRITTEN_READ, what,
          what_it_is(what) + " of " + place + ", which no thread has written" + (is_global ? "" : " in this block")));
    return;
  }
  if (!is_new(ASSAY_DATA_RACE, what.pc)) return;
  const char* const earlier = record::is_atomic(other)             ? "atomic"
                              : (problems & races_with_write) != 0 ? "store"
                                                                   : "load";
  const int thread = record::thread(self.thread_bits);
  if (record::is_in_flight(other)) {
    defects_.push_back(make_defect(self, ASSAY_DATA_RACE, what,
                                   "race on " + place + ": " + what_it_is(what) + " by thread " +
                                       std::to_string(thread) + " while an asynchronous copy of thread " +
                                       std::to_string(record::thread(other)) +
                                       in_brackets(code_start_ + record::site(other)) +
                                       " is under way to it: that thread has not waited for its group"));
    return;
  }
  if (is_global && other < launch_floor_) {
    defects_.push_back(make_defect(self, ASSAY_DATA_RACE, what,
                                   "race on " + place + ": " + what_it_is(what) + " by thread " +
                                       std::to_string(thread) + " and " + earlier +
                                       in_brackets(code_start_ + record::site(other)) +
                                       " of a kernel before it, for the end of which it has not waited"));
    return;
  }
  defects_.push_back(make_defect(self, ASSAY_DATA_RACE, what,
                                 "race on " + place + ": " + what_it_is(what) + " by thread " + std::to_string(thread) +
                                     " and " + earlier + " by " + who(other, is_global) +
                                     ", with no barrier, wave-level order, or fence and atomic between them"));
}

void access_checker::report_unpublished(checked_thread& self, const access& what, access_record store,
                                        const local_area& area, std::uint64_t offset) {
  const own_accesses own(self);
  if (!is_new(ASSAY_DATA_RACE, what.pc)) return;
  defects_.push_back(make_defect(
      self, ASSAY_DATA_RACE, what,
      "race on " + place_in(area, offset) + ": " + what_it_is(what) + " by a matrix unit and store by " +
          who(store, false) + ", with no fence between them that publishes it to such units (fence.proxy.async)"));
}

void access_checker::report_input_store(checked_thread& self, const access& what, const memory_region& region) {
  const own_accesses own(self);
  std::string message = what_it_is(what) + " to " + (region.role == memory_role::input ? "the input " : "the ") +
                        place_in(region, what.address - region.low);
  access_defect defect = make_defect(self, ASSAY_INPUT_STORE, what, std::move(message));
  end_block(self, defect);
}

void access_checker::report_index(checked_thread& self, std::int64_t index, const char* type, std::string line) {
  const own_accesses own(self);
  access_defect defect{ASSAY_OUT_OF_BOUNDS, {}, std::move(line), self.block->block_index, self.wave, self.lane};
  defect.message = "index " + std::to_string(index) + " (" + defect.line + ") of an array of type " + type;
  end_block(self, defect);
}

void access_checker::report_no_address(checked_thread& self, std::uintptr_t pc) {
  const own_accesses own(self);
  const access what{access_kind::load, 0, 0, pc};
  access_defect defect = make_defect(
      self, ASSAY_WILD_ACCESS, what,
      "access" + in_brackets(pc) + " to what is no address: past " + std::to_string(address_bits) + " bits");
  end_block(self, defect);
}

void access_checker::report_outside_variable(const checked_thread& self, const access& what,
                                             const module_variable* nearest, std::uint64_t place,
                                             const std::string& name) {
  if (!is_new(ASSAY_OUT_OF_BOUNDS, what.pc)) return;
  std::string message = what_it_is(what) + " outside of all " + name;
  if (nearest != nullptr)
    message += ", the last before it is " + nearest->name() + " of " + std::to_string(nearest->size_bytes) +
               " bytes: its byte " + std::to_string(place - nearest->start);
  defects_.push_back(make_defect(self, ASSAY_OUT_OF_BOUNDS, what, std::move(message)));
}

void access_checker::report_outside_static(checked_thread& self, const access& what) {
  const own_accesses own(self);
  const std::uint64_t offset = what.address - static_.low;
  // The bytes belong to no variable: the access does no harm, so the block continues.
  report_outside_variable(self, what, module_variables::thread_locals().at(offset), offset,
                          "static __shared__ variables");
}

void access_checker::report_outside(checked_thread& self, const access& what) {
  const own_accesses own(self);
  if (const memory_region* r = find_region(what.address, 1); r != nullptr && r->role == memory_role::globals)
    return report_outside_variable(self, what, module_variables::globals().at(what.address), what.address, "variables");
  // Canaries lie past the dynamic LDS: the access does no harm, so the block continues.
  if (what.address - dynamic_.low + local_memory::canary_bytes < dynamic_.size_bytes + 2 * local_memory::canary_bytes) {
    const auto offset = static_cast<std::int64_t>(what.address - dynamic_.low);
    if (is_new(ASSAY_OUT_OF_BOUNDS, what.pc))
      defects_.push_back(make_defect(self, ASSAY_OUT_OF_BOUNDS, what,
                                     what_it_is(what) + " outside of the LDS: byte " + std::to_string(offset) + " of " +
                                         std::to_string(dynamic_.size_bytes)));
    return;
  }
  const memory_region* nearest = nullptr;
  std::uint64_t distance = near_bytes;
  for (const memory_region& r : session_->regions()) {
    if (is_of_module(r)) continue;
    const std::uintptr_t end = r.low + r.span_bytes;
    const std::uint64_t away = what.address < r.low  ? r.low - what.address
                               : what.address >= end ? what.address - end + 1
                                                     : 0;
    if (away < distance) nearest = &r, distance = away;
  }
  if (nearest == nullptr) {
    std::string message =
        what_it_is(what) + " of memory outside all tensors, the LDS, the arguments and the thread's stack";
    access_defect defect = make_defect(self, ASSAY_WILD_ACCESS, what, std::move(message));
    end_block(self, defect);
  }
  std::string message = what_it_is(what) + " outside of " + nearest->shape() + ": " +
                        nearest->describe(static_cast<std::int64_t>(what.address - nearest->low));
  access_defect defect = make_defect(self, ASSAY_OUT_OF_BOUNDS, what, std::move(message));
  if (distance > 0) end_block(self, defect);
  // In a gap between rows, where memory exists.
  if (is_new(ASSAY_OUT_OF_BOUNDS, what.pc)) defects_.push_back(std::move(defect));
}

void access_checker::end_block(checked_thread& self, access_defect& found) {
  fatal_ = std::move(found);
  self.checker = this;  // destructors of callers will not run
  leave_block_(self);
  __builtin_unreachable();
}

}  // namespace assay::cpu
