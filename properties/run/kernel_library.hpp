/// Kernel libraries: the built-in one, and shared objects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/library_call.hpp"
#include "properties/case/support.hpp"
#include "properties/run/accepted_defects.hpp"
#include "properties/run/declared_contract.hpp"
#include "properties/system/errors.hpp"

namespace assay {

/// The checks of the cpu platform while kernels run, in libraries that were compiled for them.
struct execution_checks {
  bool accesses = true;                                  ///< loads and stores
  bool lockstep_waves = false;                           ///< assume that every instruction orders the lanes of a wave
  std::shared_ptr<accepted_defects> accepted = nullptr;  ///< those that count as none; null: none is accepted
};

/// What a library says of itself.
struct library_description {
  std::string platform;
  std::vector<std::string> kernels;
  bool supports_generated = false;  ///< assay_supports_generated_v1()
  support_map supports;             ///< assay_support_v1() of its kernels
  bool has_predicate = false;       ///< assay_supports_case_v1()
  DLDeviceType tensors_on = kDLCPU;
};

/// Where the build puts a library of that file name: in lib/, beside the program's folder.
std::filesystem::path beside_the_program(const std::string& name);

/// A kernel library: the built-in cpu one, or a shared object. A shared object is first loaded in a child process,
/// which says what it holds; this process maps it when it first needs a kernel, which in a run is a worker. So a
/// library that ends the process, crashes or hangs while it is loaded or unloaded cannot take a verdict with it.
class library {
 public:
  static std::shared_ptr<library> built_in();  ///< the cpu kernels linked into the program, compiled to be checked
  /// The same kernels, compiled without checks and therefore faster: a shared object that is built with the program.
  /// Throws environment_error.
  static std::shared_ptr<library> built_in_unchecked();
  /// Throws environment_error that says what is wrong with the file, or how the child ended that loaded it.
  static std::shared_ptr<library> load(const std::string& path);
  const std::string& platform() const { return described_.platform; }
  const std::vector<std::string>& kernels() const { return described_.kernels; }
  bool has(const std::string& kernel) const;
  /// nullptr if there is no such kernel. Maps the library: throws environment_error.
  const assay_kernel* find(const std::string& kernel) const;
  const std::string& path() const { return path_; }
  /// One byte per edge of the kernels' code, 1 if it ran since the byte was cleared; empty if the library does not say.
  /// Maps the library.
  std::span<std::uint8_t> edge_flags() const;
  /// Tells the library's platform of a call of run() with this launch and these tensors, until the result dies. Null,
  /// and nothing happens, if it has no such platform. Maps the library.
  std::shared_ptr<void> announce(const assay_call& call) const;
  /// How much of a contract its kernels know and set. Maps the library.
  std::int32_t contract_bytes() const;
  /// Whether its kernels know the workspace of a launch. Maps the library.
  bool knows_workspace() const;
  /// Where its tensors lie: kDLCPU, or a device that the suite copies them to.
  DLDeviceType tensors_on() const { return described_.tensors_on; }
  /// The devices that its runs may take: "2 x NVIDIA H100"; empty where tensors lie on the host. Asks a child, for a
  /// process that forks must not have called the driver. Throws environment_error: what driver or device is missing.
  std::string devices() const;
  /// Whether the platform sees its kernels' loads and stores. Maps the library.
  bool is_compiled_for_checks() const;
  /// Its matrix unit, for probes; null if it exports none. Maps the library: throws environment_error where its sizes
  /// are not known.
  const assay_matrix_unit* matrix_unit() const;
  execution_checks checks;
  bool supports_generated = false;  ///< as the library says: assay_supports_generated_v1()
  contract_use judged_by = contract_use::declared;
  support_map supports;  ///< as the library says, by kernel: assay_support_v1()
  /// What it takes of a kernel's problems; all of them where it says nothing.
  const assay_support& support_of(std::string_view kernel) const { return assay::support_of(supports, kernel); }
  bool declares(std::string_view kernel) const { return supports.contains(kernel); }
  /// assay_supports_case_v1 of a library in this process; null: none.
  using case_predicate = decltype(&assay_supports_case_v1);
  case_predicate predicate = nullptr;
  bool has_predicate() const { return predicate != nullptr || described_.has_predicate; }
  /// Asks the predicate. Maps the library.
  assay_status supports_case(const std::string& kernel, const problem& planned,
                             std::span<const assay_tensor> tensors) const;
  /// Whether its kernels are compiled with the checks' calls, as far as is known. What is seen without them is little:
  /// asynchronous copies and what else the executor does itself.
  bool may_show_accesses = true;
  bool measures_teeth = false;  ///< of each case that passes; see teeth.hpp
  /// Runs in which nothing is checked are this library's, if there is one. It has the same kernels, compiled without
  /// the checks' calls: those take a twentieth to a tenth of a run's time although nothing answers them.
  std::shared_ptr<const library> unchecked_twin;

  /// Of a table in this process. Throws environment_error if the table cannot be used.
  library(const assay_library* table, std::string path);
  /// Of a shared object that is mapped later.
  library(library_description described, const std::string& file);
  ~library();
  library(const library&) = delete;
  library& operator=(const library&) = delete;

 private:
  const assay_library& table() const;
  void take(const assay_library* table) const;

  library_description described_;
  std::string path_;                              ///< for people
  std::string file_;                              ///< of a shared object
  mutable const assay_library* table_ = nullptr;  ///< null: not mapped yet
  mutable std::vector<assay_kernel> kernels_;     ///< the table's; what the library does not know of one is null
  mutable void* handle_ = nullptr;
};

}  // namespace assay
