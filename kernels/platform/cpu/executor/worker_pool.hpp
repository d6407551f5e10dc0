/// OS threads that help with launches. They live as long as the process, to keep their fibers.
#pragma once

#include <functional>

namespace assay::cpu {

/// Runs work(0) on the calling thread and work(1) .. work(workers - 1) on others, at the same time. Returns when all
/// have returned. `work` must not throw.
void run_on_workers(int workers, const std::function<void(int)>& work);

}  // namespace assay::cpu
