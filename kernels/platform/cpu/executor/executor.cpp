#include "kernels/platform/cpu/executor/executor.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/platform/cpu/base/last_error.hpp"
#include "kernels/platform/cpu/checker/fault_guard.hpp"
#include "kernels/platform/cpu/executor/announced_call.hpp"
#include "kernels/platform/cpu/executor/block.hpp"
#include "kernels/platform/cpu/executor/worker_pool.hpp"

namespace assay::cpu {
namespace {

constexpr int max_workers = 256;
constexpr unsigned int max_grid_yz = 65535;  // CUDA's and HIP's
constexpr std::uint64_t max_blocks = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t no_block = std::numeric_limits<std::int64_t>::max();

constexpr assay_launch default_parameters = [] {
  assay_launch parameters{};
  parameters.wave_size = 64;
  parameters.schedule = ASSAY_ROUND_ROBIN;
  parameters.workers = 1;
  return parameters;
}();

thread_local constinit launch_scope* innermost = nullptr;
constinit std::atomic<std::size_t> asked_lds_bytes{0};

/// The blocks of one launch, given out in ascending order.
class block_queue final : public neighbours {
 public:
  block_queue(const launch_plan& plan, std::int64_t blocks, int workers)
      : plan_(plan), blocks_(blocks), running_(static_cast<std::size_t>(workers)) {}

  void work(int worker) {
    std::atomic<std::int64_t>& mine = running_[static_cast<std::size_t>(worker)];
    for (;;) {
      mine = next_.load();  // at most the block taken below, so that other workers cannot miss it in between
      const std::int64_t block = next_.fetch_add(1);
      mine = block;
      // Blocks below a failed one run to their end: the launch reports the lowest failure, whichever came first.
      if (block >= blocks_ || block > lowest_failed_) break;
      try {
        block_runner& runner = block_runner::of_this_thread();
        if (std::optional<failure> failed = runner.run(plan_, block, *this)) note(block, std::move(*failed));
        if (plan_.session != nullptr) note_defects(block, runner.checker());
      } catch (...) {  // out of memory for fibers
        note(block, failure{std::nullopt, std::current_exception()});
      }
    }
    mine = no_block;
  }

  advice ask(std::int64_t block) override {
    if (block > lowest_failed_) return advice::abandon;
    for (const std::atomic<std::int64_t>& other : running_)
      if (other < block) {
        std::this_thread::yield();
        return advice::keep_waiting;
      }
    return block > lowest_failed_ ? advice::abandon : advice::give_up;
  }

  /// Of the lowest block that failed, if any. After all workers are done.
  std::optional<failure>& outcome() { return failure_; }
  /// Of the blocks up to the one that failed, in their order; each line once per kind. After all workers are done.
  std::vector<access_defect> defects();
  std::int64_t accesses() const { return accesses_; }

 private:
  void note(std::int64_t block, failure failed) {
    const std::lock_guard lock(mutex_);
    if (block >= lowest_failed_) return;
    lowest_failed_ = block;
    failure_ = std::move(failed);
  }

  void note_defects(std::int64_t block, access_checker& checker) {
    accesses_ += checker.take_count();
    if (checker.defects().empty()) return;
    const std::lock_guard lock(mutex_);
    defects_[block] = std::exchange(checker.defects(), {});
  }

  const launch_plan& plan_;
  const std::int64_t blocks_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::int64_t> lowest_failed_{no_block};
  std::vector<std::atomic<std::int64_t>> running_;
  std::mutex mutex_;
  std::optional<failure> failure_;
  std::map<std::int64_t, std::vector<access_defect>> defects_;  // of each block
  std::atomic<std::int64_t> accesses_{0};
};

std::vector<access_defect> block_queue::defects() {
  std::vector<access_defect> kept;
  for (auto& [block, of_block] : defects_) {
    if (block > lowest_failed_) break;
    for (access_defect& found : of_block) {
      const auto same = [&](const access_defect& k) { return k.kind == found.kind && k.line == found.line; };
      if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(found));
    }
  }
  return kept;
}

bool is_valid(const grid_launch& grid, const assay_launch& parameters, std::size_t lds_limit_bytes) {
  const auto volume = [](dim3 d) { return std::uint64_t{d.x} * d.y * d.z; };
  // Each extent is bounded first: the product of three 32-bit extents could wrap.
  const dim3 block = grid.block, blocks = grid.grid;
  if (std::max({block.x, block.y, block.z}) > max_block_size || volume(block) == 0 || volume(block) > max_block_size)
    return false;
  if (std::max(blocks.y, blocks.z) > max_grid_yz || volume(blocks) == 0 || volume(blocks) > max_blocks) return false;
  if (blocks.x > max_blocks || grid.shared_bytes > lds_limit_bytes) return false;
  return (parameters.wave_size == 32 || parameters.wave_size == 64) && parameters.schedule >= ASSAY_ROUND_ROBIN &&
         parameters.schedule <= ASSAY_PCT;
}

/// The kernel's name without what hipLaunchKernelGGL's callers wrap around it.
std::string plain_name(std::string name) {
  constexpr const char* macro = "HIP_KERNEL_NAME";
  if (name.starts_with(macro)) name.erase(0, std::string(macro).size());
  if (name.size() >= 2 && name.front() == '(' && name.back() == ')') name = name.substr(1, name.size() - 2);
  return name;
}

/// Calls `report` with the defect as the library's caller sees it.
template <class Report>
void describe(const grid_launch& grid, const found_defect& found, Report report) {
  const std::string kernel = plain_name(grid.name);
  const auto coordinate = [](unsigned int x) { return static_cast<std::int32_t>(x); };
  const assay_defect defect{found.kind,
                            kernel.c_str(),
                            found.message.c_str(),
                            {coordinate(found.block.x), coordinate(found.block.y), coordinate(found.block.z)},
                            found.wave,
                            found.lane};
  report(defect);
}

bool is_accepted(const grid_launch& grid, const assay_launch& parameters, const found_defect& found) {
  bool accepted = false;
  if (parameters.accepts != nullptr)
    describe(grid, found,
             [&](const assay_defect& defect) { accepted = parameters.accepts(parameters.context, &defect) != 0; });
  return accepted;
}

std::span<const std::byte> workspace_of(const assay_launch& parameters) {
  if (parameters.workspace == nullptr || parameters.workspace_bytes <= 0) return {};
  return {static_cast<const std::byte*>(parameters.workspace), static_cast<std::size_t>(parameters.workspace_bytes)};
}

}  // namespace

launch_scope::launch_scope(const assay_launch& parameters, std::size_t lds_limit_bytes,
                           std::span<const assay_tensor> tensors, const assay_load_watch* watch)
    : parameters_(parameters), lds_limit_bytes_(lds_limit_bytes), outer_(innermost) {
  // A library that makes a scope in an announced call is watched as that.
  if (watch == nullptr && outer_ != nullptr && outer_->session_ != nullptr) watch = outer_->session_->watch();
  if (parameters.checked != 0)
    session_ =
        std::make_unique<launch_session>(tensors, workspace_of(parameters), parameters.lockstep_waves != 0, watch);
  if (outer_ == nullptr) set_last_error(hipSuccess);  // what an earlier call left behind is not this call's
  innermost = this;
}

launch_scope::~launch_scope() {
  innermost = outer_;
}

namespace {

/// The scope of what this thread launches, or null. One that is shared stays, and is this thread's, while `held` is
/// locked.
launch_scope* current_scope(std::unique_lock<std::mutex>& held) {
  if (innermost == nullptr) return announced_scope(held);
  if (innermost->is_shared()) static_cast<void>(announced_scope(held));  // for the lock
  return innermost;
}

}  // namespace

std::size_t lds_limit_of(const launch_scope* scope) {
  if (scope == nullptr) return default_lds_limit_bytes;
  return scope->is_shared() ? std::max(scope->lds_limit_bytes_, asked_lds_bytes.load()) : scope->lds_limit_bytes_;
}

bool ask_for_lds(std::size_t bytes) {
  if (bytes <= scope_lds_bytes()) return true;
  const bool has_own_limit = innermost != nullptr && !innermost->is_shared();
  if (has_own_limit || bytes > largest_lds_bytes) return false;
  for (std::size_t before = asked_lds_bytes; before < bytes;)  // another thread may have asked for more
    if (asked_lds_bytes.compare_exchange_weak(before, bytes)) break;
  return true;
}

int scope_wave_size() {
  std::unique_lock<std::mutex> held;
  const launch_scope* const scope = current_scope(held);
  return scope != nullptr ? scope->parameters_.wave_size : default_parameters.wave_size;
}
std::size_t scope_lds_bytes() {
  std::unique_lock<std::mutex> held;
  const launch_scope* const scope = current_scope(held);
  return lds_limit_of(scope);
}

void launch(const grid_launch& grid) {
  if (this_thread != nullptr) return set_last_error(hipErrorNotSupported);  // from within a kernel
  std::unique_lock<std::mutex> held;
  launch_in(current_scope(held), grid);
}

void end_row_of_launches() {
  if (this_thread != nullptr) return;
  std::unique_lock<std::mutex> held;
  launch_scope* const scope = current_scope(held);
  if (scope != nullptr && scope->session_ != nullptr) scope->session_->end_row();
}

void launch_in(launch_scope* scope, const grid_launch& grid) {
  launch_plan plan{&grid, scope != nullptr ? scope->parameters_ : default_parameters, 0,
                   scope != nullptr ? scope->session_.get() : nullptr};
  plan.seed = plan.parameters.seed + (scope != nullptr ? scope->launches_++ : 0) * 0xD1B54A32D192ED03;
  if (grid.wave_size != 0) plan.parameters.wave_size = grid.wave_size;
  if (!is_valid(grid, plan.parameters, lds_limit_of(scope))) return set_last_error(hipErrorInvalidConfiguration);

  const auto blocks = static_cast<std::int64_t>(grid.grid.x) * grid.grid.y * grid.grid.z;
  const auto workers = static_cast<int>(
      std::clamp<std::int64_t>(plan.parameters.workers, 1, std::min<std::int64_t>(blocks, max_workers)));
  if (plan.session != nullptr)
    plan.session->begin_launch(grid.closure, grid.closure_bytes, workers > 1, grid.may_start_early);
  block_queue queue(plan, blocks, workers);
  const fault_guard guard(plan.session != nullptr);
  run_on_workers(workers, [&](int worker) { queue.work(worker); });

  if (plan.parameters.accesses_checked != nullptr) *plan.parameters.accesses_checked += queue.accesses();
  const auto report_one = [&](const found_defect& found) {
    set_last_error(hipErrorLaunchFailure);
    if (scope != nullptr) ++scope->defects_;
    if (plan.parameters.on_defect != nullptr)
      describe(grid, found,
               [&](const assay_defect& defect) { plan.parameters.on_defect(plan.parameters.context, &defect); });
  };
  std::vector<access_defect> all = queue.defects();
  if (plan.session != nullptr && !queue.outcome() && plan.session->lacks_wait())
    all.push_back(
        {ASSAY_DATA_RACE, "no thread waited for the kernels before it: kernels after it may overtake them", {}});
  for (access_defect& met : all) {
    const found_defect found{met.kind, std::move(met.message), met.block, met.wave, met.lane};
    if (!is_accepted(grid, plan.parameters, found)) report_one(found);
  }
  const std::optional<failure>& failed = queue.outcome();
  if (!failed) return;
  set_last_error(hipErrorLaunchFailure);
  if (failed->thrown) std::rethrow_exception(failed->thrown);
  report_one(*failed->defect);
}

}  // namespace assay::cpu
