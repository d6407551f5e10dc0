#include "properties/run/kernel_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "properties/run/plan_problem.hpp"

namespace assay {

std::vector<buffer> make_workspace(std::int64_t bytes) {
  std::vector<buffer> made;
  if (bytes <= 0) return made;
  buffer_backing backing;
  backing.role = tensor_role::output;
  backing.flush_end = bytes % 256 == 0;  // it starts at such a multiple
  made.emplace_back("workspace", dtype::i8, std::vector<std::int64_t>{bytes}, std::vector<int>{}, backing);
  // Not the bytes 0xFF of unwritten outputs, nor 0: a kernel may take them for what it has to write first.
  std::ranges::fill(made.front().bytes(), std::byte{0x5A});
  return made;
}

void set_workspace(assay_launch& launch, std::vector<buffer>& workspace) {
  launch.workspace = workspace.empty() ? nullptr : workspace.front().view().data;
  launch.workspace_bytes = workspace.empty() ? 0 : workspace.front().size_bytes();
}

assay_status run_to_outcome(const assay_kernel& kernel, const problem& planned, std::span<const assay_tensor> tensors,
                            const assay_launch& launch) {
  const auto count = static_cast<std::int32_t>(tensors.size());
  const assay_status status = kernel.run(&planned, tensors.data(), count, &launch);
  if (status.code != ASSAY_OK || kernel.outcome == nullptr) return status;
  const assay_status said = kernel.outcome(&planned, tensors.data(), count, &launch);
  // Else the case would be discarded once it has run.
  if (said.code == ASSAY_UNSUPPORTED)
    return failed_status(fmt::format("outcome() says 'unsupported', which only plan() and run() may: {}",
                                     std::string_view(said.message, strnlen(said.message, sizeof said.message))));
  return said;
}

}  // namespace assay
