/// Builds the kernel library with one mutant in it, as the kernels' own library was built.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/mutants/mutate.hpp"

namespace assay::mutants {

/// A kernel as mutants of it are built: in one combination of types. The objects of other types stay as they are.
struct kernel_recipe {
  std::string name;
  std::string types;                 ///< as `assay run --types` takes it
  std::vector<std::string> sources;  ///< .hip and .cpp files, relative to the project's folder
};

/// Reads the lines "KERNEL SUFFIX SOURCE..." that the build writes. SUFFIX is that of the .hip file.
std::vector<kernel_recipe> read_recipes(const std::filesystem::path& file);

/// For each file that may be mutated the kernels that include it and, of each, the sources to compile anew. May be
/// mutated: what the kernels' sources include, but the interface that the program shares (kernels/*.hpp), the
/// contracts (they are what the kernels are judged by), the platforms, and the matrix atoms, which stand for hardware.
using reach = std::map<std::string, std::map<std::string, std::vector<std::string>>>;
reach reach_of(const std::filesystem::path& sources, const std::vector<kernel_recipe>& recipes);

struct built {
  bool compiles = false;
  bool is_same = false;  ///< every object equals that of the source without the mutant: the mutant changes nothing
  double seconds = 0;
};

/// The commands of a build folder, which `ninja assay_kernels_cpu_so` has brought up to date.
class workshop {
 public:
  /// Throws environment_error if the folder has no compile commands or no library of kernels.
  workshop(std::filesystem::path sources, std::filesystem::path build, std::filesystem::path work);

  /// Compiles `compiled` with `text` in place of the file at `path`, and links them with all other objects of the
  /// kernels to `library`. Everything else goes to `folder`.
  built build(const std::string& path, const std::string& text, const std::vector<std::string>& compiled,
              const std::filesystem::path& folder, const std::filesystem::path& library) const;

  /// Compiles a source without a mutant, to compare with. Call it before build().
  void build_clean(const std::string& source) const;

 private:
  /// `overlay` (empty: none) maps the path of the mutated file to its text.
  bool compile(const std::string& source, const std::filesystem::path& overlay,
               const std::filesystem::path& object) const;
  bool link(const std::vector<std::string>& compiled, const std::filesystem::path& folder,
            const std::filesystem::path& library) const;
  std::filesystem::path clean_object(const std::string& source) const;

  std::filesystem::path sources_, build_, work_;
  std::map<std::string, std::vector<std::string>> compile_commands_;  ///< by source
  std::vector<std::string> link_command_;
};

/// The name of a source's object: its path with '_' for '/'.
std::string object_name(const std::string& source);

}  // namespace assay::mutants
