/// First-order mutants: all small changes of a source, each of which touches one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::mutants {

/// One change. Lines are kept: the mutated source has as many as the original.
struct mutant {
  std::string path;        ///< relative to the project's folder
  std::size_t line = 0;    ///< from 1
  std::string operation;   ///< "comparison", "dropped barrier", ...
  std::size_t at = 0;      ///< offset of what is replaced
  std::size_t length = 0;  ///< of what is replaced
  std::string replacement;
  std::string before;  ///< the line without white space around it
  std::string after;   ///< the same of the mutated line
  bool operator==(const mutant&) const = default;
};

/// The mutants of a source, by place. `path` is only copied. Operators are taken for binary where they have white space
/// on both sides, as clang-format leaves them, so angle brackets of templates, pointers and references stay. Left alone
/// are comments, texts, preprocessor lines, template heads, static_assert, using, attributes, enumerators and the
/// arguments of refuse(), which make up a message.
///
///   comparison         < and <=, > and >=, == and !=
///   arithmetic         + and -, * and /, % to /, << and >>, & and |; also with =
///   logic              && and ||
///   constant           n to n + 1 and to n - 1; a floating x to 1.01 x, 0 to 1; true and false
///   negated condition  if (c) to if (!(c))
///   other bound        min and max
///   narrowed type      int64_t to int32_t, uint64_t to uint32_t, double to float
///   swapped arguments  of neighbours in a call
///   dropped barrier, dropped statement, dropped jump   a call, an assignment, a break, continue or return of one line
std::vector<mutant> mutants_of(const std::string& path, std::string_view source);

/// The mutated source.
std::string mutated_text(std::string_view source, const mutant& change);

/// As a patch for `patch -p1`.
std::string patch_text(std::string_view source, const mutant& change);

}  // namespace assay::mutants
