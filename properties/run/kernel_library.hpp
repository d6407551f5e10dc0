/// Kernel libraries: the built-in one, and shared objects.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/library.hpp"
#include "properties/system/errors.hpp"

namespace assay {

/// The checks of the cpu platform while kernels run, in libraries that were compiled for them.
struct execution_checks {
  bool accesses = true;         ///< loads and stores
  bool lockstep_waves = false;  ///< assume that every instruction orders the lanes of a wave
};

/// A kernel library: the built-in cpu one, or a shared object.
class library {
 public:
  static std::shared_ptr<library> built_in();  ///< the cpu kernels linked into the program, compiled to be checked
  /// The same kernels, compiled without checks and therefore faster: a shared object that is installed with the
  /// program. Throws environment_error.
  static std::shared_ptr<library> built_in_unchecked();
  static std::shared_ptr<library> load(const std::string& path);  ///< throws environment_error
  const char* platform() const;
  const assay_kernel* find(const std::string& kernel) const;  ///< nullptr if there is no such kernel
  std::vector<std::string> kernels() const;
  const std::string& path() const { return path_; }
  /// One byte per edge of the kernels' code, 1 if it ran since the byte was cleared; empty if the library does not say.
  std::span<std::uint8_t> edge_flags() const;
  execution_checks checks;
  bool supports_generated = false;  ///< as the library says: assay_supports_generated_v1()
  bool measures_teeth = false;      ///< of each case that passes; see teeth.hpp

  explicit library(const assay_library* table, std::string path, void* handle);
  ~library();
  library(const library&) = delete;
  library& operator=(const library&) = delete;

 private:
  const assay_library* table_;
  std::string path_;
  void* handle_;
};

}  // namespace assay
