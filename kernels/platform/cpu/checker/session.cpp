#include "kernels/platform/cpu/checker/session.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "kernels/platform/cpu/base/device_memory.hpp"
#include "kernels/platform/cpu/checker/module_image.hpp"

namespace assay::cpu {
namespace {

std::atomic<std::uint64_t> all_launches{0};

/// 2 GiB of addresses: tensors of up to so many elements share the arena.
constexpr std::uint64_t shared_shadow_words = std::uint64_t{1} << 28;

/// Memory without a shape.
memory_region bytes_at(const void* start, std::size_t size_bytes, memory_role role, std::string name) {
  memory_region region;
  region.low = reinterpret_cast<std::uintptr_t>(start);
  region.span_bytes = size_bytes;
  region.role = role;
  region.name = std::move(name);
  region.dimensions = {{size_bytes, 1}};
  region.by_stride = {0};
  return region;
}

std::uint64_t words_of(const memory_region& region) {
  return (region.span_bytes + region.element_bytes - 1) / region.element_bytes;
}

}  // namespace

launch_session::resources& launch_session::of_this_thread() {
  static thread_local resources own;
  return own;
}

launch_session::launch_session(std::span<const assay_tensor> tensors, std::span<const std::byte> workspace,
                               bool lockstep, const assay_load_watch* watch)
    : resources_(of_this_thread()), mark_(resources_.arena.mark()), lockstep_(lockstep), watch_(watch) {
  if (mark_ == 0 && resources_.clock.is_late()) {
    resources_.clock.start_over();
    resources_.arena.clear();
  }
  run_floor_ = record::at(resources_.clock.next_stamp());
  for (const assay_tensor& t : tensors) add(region_of(t));
  add(bytes_at(workspace.data(), workspace.size(), memory_role::output, "workspace"));
  for (const memory_region& part : module_image()) add(part);
  tensor_regions_ = regions_.size();
  tensor_mark_ = resources_.arena.mark();
}

launch_session::~launch_session() {
  resources_.arena.give_back(mark_);
}

access_record* launch_session::shadow(std::uint64_t words) {
  // A sparse pool that a kernel writes has addresses far beyond the arena: it gets a mapping of its own, in which only
  // what is touched costs memory, as in the pool.
  if (words <= shared_shadow_words) return resources_.arena.take(words);
  return own_shadows_.emplace_back(words).data();
}

void launch_session::add(memory_region region) {
  if (region.span_bytes == 0) return;
  if (region.role != memory_role::input && region.role != memory_role::constants) {
    const std::uint64_t words = words_of(region);
    region.writes = shadow(words);
    region.reads = shadow(words);
  }
  regions_.push_back(std::move(region));
}

void launch_session::begin_launch(const void* arguments, std::size_t argument_bytes, bool shared,
                                  bool may_start_early) {
  shared_ = shared;
  may_start_early_ = may_start_early;
  is_awaited_ = false;
  launch_floor_ = record::at(resources_.clock.next_stamp());
  if (std::exchange(row_ended_, false) || !may_start_early || row_floor_ == 0) row_floor_ = launch_floor_;
  launches_ = ++all_launches;
  atomics_.clear();
  regions_.resize(tensor_regions_);
  resources_.arena.give_back(tensor_mark_);
  add(bytes_at(arguments, argument_bytes, memory_role::constants, "kernel arguments"));
  for (const allocation& a : allocations())
    add(bytes_at(a.start, a.size_bytes, memory_role::scratch, "memory of hipMalloc (" + a.place + ")"));
  if (!may_start_early) return;
  // Words in the arena may have been other memory's in the launches before, which count here.
  for (const memory_region& region : regions_)
    if (region.role == memory_role::scratch)
      for (access_record* const words : {region.writes, region.reads}) std::fill_n(words, words_of(region), 0);
}

}  // namespace assay::cpu
