/// The tokens of a C++ source, as far as a mutator needs them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::mutants {

enum class token_kind { identifier, number, text, punctuation };

/// A token and its place. `text` is a string or character literal.
struct token {
  token_kind kind = token_kind::punctuation;
  std::string_view spelling;  ///< points into the source
  std::size_t at = 0;         ///< offset of its first character
  std::size_t line = 0;       ///< from 1
  bool after_space = false;   ///< white space, a comment or the start of the source comes before it
  bool before_space = false;
};

/// All tokens but comments and preprocessor lines (with their continuations). The source must outlive them.
std::vector<token> tokens_of(std::string_view source);

}  // namespace assay::mutants
