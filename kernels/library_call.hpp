/// What a shared object that holds the cpu platform exports for the suite, beside library.h: around each run() the
/// suite says which launch and tensors the call has. So kernels run under them, checked, without a word in run().
#pragma once

#include <cstdint>

#include "kernels/library.h"

extern "C" {

/// A load of an input, or of an in-out tensor, that is about to happen. Pointers live for the call.
struct assay_load {
  const char* tensor;
  std::int64_t offset_bytes;  ///< from the tensor's first element
  std::int64_t size_bytes;
  const void* address;
  std::int32_t block[3];
  std::int32_t wave;
  std::int32_t lane;
};

/// Who watches loads. Both functions may be called by each OS thread of a launch.
struct assay_load_watch {
  void* context;
  /// Asked of each load; not 0 takes it.
  std::int32_t (*wants)(void* context, const assay_load* load);
  /// A load that is taken, and its source line, as in "split_kv_kernel.hpp:120, from split_kv.hip:30".
  void (*take)(void* context, const assay_load* load, const char* line);
};

/// A call of run(). What it points to outlives the call.
struct assay_call {
  std::int32_t size_bytes;  ///< sizeof(assay_call) of the caller
  const assay_launch* launch;
  const assay_tensor* tensors;
  std::int32_t num_tensors;
  const assay_load_watch* watch;  ///< of checked launches; null: loads are not watched, which costs nothing
};

/// Optional exports; an object that links the cpu platform has both. Between them, what the calling thread launches
/// runs as `call` says, and so does what other threads launch that announced nothing: one launch at a time. Calls nest.
/// Returns what ends the call; null if the call is not of this version, or describes more memory than there is.
void* assay_begin_call_v1(const assay_call* call);
void assay_end_call_v1(void* begun);

/// Optional export, with the above: not 0 if kernels of the object call the platform back before each load and store.
std::int32_t assay_is_checked_v1(void);
}
