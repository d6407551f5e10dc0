/// The rules of the house, as functions over its sources: who may include whom, how long a function may be, which words
/// are banned. tests/layering_test.cpp holds the house to them, `tests/layering` shows what it looks like.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::layering {

struct source {
  std::string path;  ///< relative to the root, '/' separated
  std::vector<std::string> lines;
};

/// The code below kernels/, oracle/, properties/, fuzz/, python/ and tests/, sorted by path.
std::vector<source> code_below(const std::filesystem::path& root);
/// The same with scripts, patches, documents and the files of the top level: all that has words in it.
std::vector<source> texts_below(const std::filesystem::path& root);

/// First part of a path.
std::string area_of(const std::string& path);
/// The folder that counts as one thing: an area, a folder of properties/ or kernels/, or a part of the cpu platform.
std::string room_of(const std::string& path);

/// Areas are stacked, and rooms within their area.
struct height {
  int area;
  int floor;
  auto operator<=>(const height&) const = default;
};
std::optional<height> height_of(const std::string& room);

/// Path of what a line includes, or empty. <hip/...> is the including platform's.
std::string included_by(const std::string& path, const std::string& line);
/// Why a file at `path` may not include the file at `included`, as one line, or empty.
std::string forbidden_include(const std::string& path, const std::string& included);
std::vector<std::string> broken_includes(const std::vector<source>& sources);

/// Include lines from room to room, tests left out.
using arrows = std::map<std::pair<std::string, std::string>, int>;
arrows arrows_between(const std::vector<source>& sources);
/// Rooms that include each other in a circle, in that order; empty if none do.
std::vector<std::string> circle_in(const arrows& all);

/// Files of different rooms with one name, "NAME: PATH, PATH". Vendors' files may have the same name, tests any.
std::vector<std::string> shared_names(const std::vector<source>& sources);

/// Lines with randomness that no seed repeats, or with a comparison that a NaN passes.
std::vector<std::string> blind_lines(const std::vector<source>& sources);

struct function_length {
  std::string path;
  std::size_t line;   ///< of the opening brace, from 1
  std::size_t lines;  ///< from the opening brace to the closing one
};
/// All functions, of namespaces and of classes. A lambda within a function is part of it.
std::vector<function_length> functions_of(const source& s);

/// How often a word may occur in an area: what is not listed may not occur.
struct word_rules {
  std::vector<std::string> banned;
  std::map<std::pair<std::string, std::string>, int> ceilings;  ///< by area and word
  std::vector<std::pair<std::string, std::string>> allowed;     ///< paths, and words that they may have
};
word_rules read_word_rules(const std::filesystem::path& file);
/// By area and word, without what is allowed.
std::map<std::pair<std::string, std::string>, int> count_words(const std::vector<source>& texts,
                                                               const word_rules& rules);
/// "AREA has WORD n times, at most m".
std::vector<std::string> broken_ceilings(const std::vector<source>& texts, const word_rules& rules);

}  // namespace assay::layering
