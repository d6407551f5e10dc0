#include "kernels/platform/cpu/executor/worker_pool.hpp"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::cpu {
namespace {

class pool {
 public:
  ~pool() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  /// Never queues behind other work: there is a thread for each task that is not finished.
  void submit(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      if (++unfinished_ > threads_.size()) threads_.emplace_back([this] { serve(); });
    }
    changed_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
      --unfinished_;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::size_t unfinished_ = 0;
  std::vector<std::thread> threads_;
  bool closing_ = false;
};

/// Threads do not survive a fork: a child starts helpers of its own and never touches its parent's, nor their locks.
pool& helpers_of_this_process() {
  static pid_t owner = getpid();
  static auto helpers = std::make_unique<pool>();
  if (owner != getpid()) {
    // NOLINTBEGIN(bugprone-unused-return-value, clang-analyzer-cplusplus.NewDeleteLeaks): left behind on purpose
    static_cast<void>(helpers.release());
    helpers = std::make_unique<pool>();
    // NOLINTEND(bugprone-unused-return-value, clang-analyzer-cplusplus.NewDeleteLeaks)
    owner = getpid();
  }
  return *helpers;
}

}  // namespace

void run_on_workers(int workers, const std::function<void(int)>& work) {
  if (workers <= 1) return work(0);
  pool& helpers = helpers_of_this_process();
  std::latch finished(workers - 1);
  for (int i = 1; i < workers; ++i)
    helpers.submit([&, i] {
      work(i);
      finished.count_down();
    });
  work(0);
  finished.wait();
}

}  // namespace assay::cpu
