/// One run of a kernel and its outputs, before they are judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/contract.hpp"
#include "properties/case/case.hpp"
#include "properties/data/inputs.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay {

/// A defect as the platform reported it, owned.
struct platform_defect {
  assay_defect_kind kind;
  std::string message;
};

/// One execution of a kernel: inputs as given, outputs as written.
struct execution {
  assay_status status{};
  problem planned;                   ///< with the number of splits that ran
  std::int64_t workspace_bytes = 0;  ///< of the launch, as planned
  contract declared;
  outputs written;
  std::vector<platform_defect> defects;  ///< without those that the library's checks accept
  std::string memory_fault;  ///< says which guard or input was written; else empty. A fault is not reported here:
                             ///< it ends the process, see fault_watch.
  double seconds = 0;
  std::int64_t accesses_checked = 0;
};

/// How one run is made, beside what case and library say.
struct run_manner {
  int workers = 1;                          ///< OS threads that the blocks are spread over
  bool checks_accesses = true;              ///< false: not even where the library's are checked
  const assay_load_watch* watch = nullptr;  ///< sees the loads of inputs; the run is checked then
};

/// Plans, allocates and runs. Watches inputs (input_snapshot), checks the guards of all buffers and reports faults
/// (fault_watch). A kernel's defect never makes it throw.
execution execute(const library& lib, const attention_case& c, inputs& in, const run_manner& manner = {});

}  // namespace assay
