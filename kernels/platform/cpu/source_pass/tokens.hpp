/// Tokens of preprocessed C++: no comments, no macros, no directives but line markers.
#pragma once

#include <string_view>
#include <vector>

namespace assay::source_pass {

enum class token_kind : unsigned char {
  word,     ///< an identifier, keyword or number
  literal,  ///< a string or character, raw ones too
  mark,     ///< one character of punctuation, but "::" and "->" are one token
  marker,   ///< a line that begins with '#'
};

/// A view into the text: what lies between two tokens is white space, and belongs to none.
struct token {
  token_kind kind;
  std::string_view text;
};

std::vector<token> tokens_of(std::string_view text);

}  // namespace assay::source_pass
