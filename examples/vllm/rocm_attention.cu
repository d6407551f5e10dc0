/// vLLM's attention for AMD GPUs: a block takes a partition of 256 keys by MFMA, and a second kernel joins the partitions.
/// The kernels stand in a source file: it is included, for the architecture that the build names.
#define USE_ROCM
#define __HIPCC__ 1

#include <hip/hip_runtime.h>

#include "rocm/attention.cu"
