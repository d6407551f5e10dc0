/// The call of run() that the suite announced (kernels/library_call.hpp).
#pragma once

#include <mutex>

#include "kernels/library.h"

namespace assay::cpu {

class launch_scope;

/// Whether an announced call of this thread has this very launch: then no one else needs to set it.
bool is_announced(const assay_launch& launch);

/// The scope of the latest announced call of any thread, or null. Valid while `held` is locked, which this does.
launch_scope* announced_scope(std::unique_lock<std::mutex>& held);

}  // namespace assay::cpu
