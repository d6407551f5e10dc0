/// Loading kernel libraries and running cases on them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/library.hpp"
#include "oracle/enclosure.hpp"
#include "properties/case.hpp"
#include "properties/inputs.hpp"

namespace assay {

/// What the cpu platform checks while kernels run, in libraries that were compiled for it.
struct execution_checks {
  bool accesses = true;         ///< loads and stores
  bool lockstep_waves = false;  ///< assume that every instruction orders the lanes of a wave
};

/// A kernel library: the built-in cpu one, or a shared object.
class library {
 public:
  static std::shared_ptr<library> built_in();  ///< the cpu kernels linked into the program, compiled to be checked
  /// The same, not compiled to be checked and faster for it: a shared object that is installed with the program. Throws
  /// environment_error.
  static std::shared_ptr<library> built_in_unchecked();
  static std::shared_ptr<library> load(const std::string& path);  ///< throws environment_error
  const char* platform() const;
  const assay_kernel* find(const std::string& kernel) const;  ///< nullptr if it has none of that name
  std::vector<std::string> kernels() const;
  const std::string& path() const { return path_; }
  /// One byte per edge of the kernels' code, 1 if it ran since the byte was cleared; empty if the library does not say.
  std::span<std::uint8_t> edge_flags() const;
  execution_checks checks;

  explicit library(const assay_library* table, std::string path, void* handle);
  ~library();
  library(const library&) = delete;
  library& operator=(const library&) = delete;

 private:
  const assay_library* table_;
  std::string path_;
  void* handle_;
};

/// The environment lacks something. Exit status 3.
struct environment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A defect as the platform reported it, owned.
struct platform_defect {
  assay_defect_kind kind;
  std::string message;
};

/// One execution of a kernel: inputs as given, outputs as written.
struct execution {
  assay_status status{};
  problem planned;  ///< with the number of splits that ran
  contract declared;
  outputs written;
  std::vector<platform_defect> defects;
  std::string memory_fault;  ///< empty, or what was written outside the outputs: a guard, an input. A fault is no
                             ///< execution's result: it ends the process, see fault_watch.
  double seconds = 0;
  std::int64_t accesses_checked = 0;
};

/// Plans, allocates, runs. Inputs are watched (input_snapshot), guards of all buffers are checked, faults are told
/// (fault_watch). `workers` spreads blocks over threads. Never throws for what a kernel does.
execution execute(const library& lib, const attention_case& c, inputs& in, int workers = 1);

enum class outcome { pass, fail, discard, undecided };

/// What came of a case. `what` is one line: for fail what is wrong and where, for discard the reason.
struct verdict {
  outcome result = outcome::pass;
  std::string origin;  ///< which check decided: "enclosure", origin_of a defect, "memory", a property's name
  std::string what;
  std::vector<oracle::judgement> judgements;
  std::int64_t outputs_judged = 0;    ///< elements of o or logits whose enclosure is no point
  std::int64_t outputs_sharp = 0;     ///< those of them whose enclosure admits at most two values
  std::int64_t accesses_checked = 0;  ///< loads and stores of the kernel, those to its own stack left out
  double kernel_seconds = 0;
  double oracle_seconds = 0;
  std::string accuracy;  ///< one line on the distance to exact attention, where it was asked for
};

/// The way of the data, whole: fill, run, enclose, judge. Every entry point goes through it.
verdict run_case(const library& lib, const attention_case& c);

}  // namespace assay
