/// The kernel library: one explicit table of kernels.
#include <iterator>

#include "kernels/append_kv/append_kv_host.hpp"
#include "kernels/batch_prefill/batch_prefill_host.hpp"
#include "kernels/library.hpp"
#include "kernels/mqa_logits/mqa_logits_host.hpp"
#include "kernels/platform/current.hpp"
#include "kernels/split_kv/split_kv_host.hpp"

extern "C" [[gnu::visibility("default")]] const assay_library* assay_library_v1(void) {
  using namespace assay;
  static const assay_kernel kernels[] = {split_kv_kernel, batch_prefill_kernel, mqa_logits_kernel, append_kv_kernel};
  static const assay_library library{1,
                                     platform::name,
                                     static_cast<std::int32_t>(sizeof(problem)),
                                     static_cast<std::int32_t>(sizeof(contract)),
                                     static_cast<std::int32_t>(std::size(kernels)),
                                     kernels};
  return &library;
}
