/// Lines of source that a message names: "split_kv_kernel.hpp:277" becomes a file of this tree and the lines around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// A file and a line in it, as a message names them: mostly without a folder.
struct source_place {
  std::string name;
  std::int64_t line = 0;
  bool operator==(const source_place&) const = default;
};

/// The places that a message names, in its order, each once. Of the calls through which an access was inlined,
/// "(vector.hpp:42, from mma.hpp:44, from kernel.hpp:173)", the innermost and the outermost.
std::vector<source_place> places_in(const std::string& message);

/// A place in a file, with the lines around it.
struct source_excerpt {
  std::filesystem::path file;  ///< as reached from the current folder
  std::int64_t line = 0;
  std::int64_t first_line = 0;     ///< the number of lines.front()
  std::vector<std::string> lines;  ///< long ones are cut
};

/// Finds sources below some folders. It looks at no other file: messages are the library's words.
class source_finder {
 public:
  /// Folders named build or out, and hidden ones, are left out.
  explicit source_finder(const std::vector<std::filesystem::path>& roots);
  /// The current folder, and that of the library's build.
  static source_finder for_library(const std::string& library);

  /// The one file of that name in the first root that has one; nothing where several files have it, for the wrong
  /// source is worse than none.
  std::optional<std::filesystem::path> find(const std::string& name) const;

  /// The place with up to `around` lines before and behind it. Nothing where there is no such file or line.
  std::optional<source_excerpt> excerpt(const source_place& place, std::int64_t around = 3) const;

 private:
  std::vector<std::multimap<std::string, std::filesystem::path>> files_;  ///< of each root, by name
};

}  // namespace assay
