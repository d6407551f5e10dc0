#include "kernels/platform/cpu/source_pass/tokens.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace assay::source_pass {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}

/// Past the closing quote, or the end of the line: an apostrophe of an #error that was skipped closes nothing.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

std::size_t end_of_raw_string(std::string_view text, std::size_t quote) {
  const std::size_t open = text.find('(', quote);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

/// Whether a sign that follows belongs to the number: 1e, 0x1p, but not 0xe.
bool ends_mantissa(std::string_view number) {
  const char last = static_cast<char>(std::tolower(static_cast<unsigned char>(number.back())));
  const bool is_hex = number.size() > 1 && (number[1] == 'x' || number[1] == 'X');
  return last == 'p' || (last == 'e' && !is_hex);
}

/// Words, and the literals that have one in front: u8"...", R"x(...)x", 1'000'000, 1.5e-3.
std::size_t end_of_word(std::string_view text, std::size_t at, token_kind& kind) {
  const std::size_t start = at;
  const bool is_number = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool is_digit_separator = is_number && c == '\'' && at + 1 < text.size() && is_word(text[at + 1]);
    const bool is_exponent_sign =
        is_number && at > start && (c == '+' || c == '-') && ends_mantissa(text.substr(start, at - start));
    if (!is_word(c) && !(is_number && c == '.') && !is_digit_separator && !is_exponent_sign) break;
    ++at;
  }
  if (is_number || at == text.size() || (text[at] != '"' && text[at] != '\'')) return at;
  const std::string_view prefix = text.substr(start, at - start);
  if (text[at] == '"' && prefix.back() == 'R' && prefix.size() <= 3) {
    kind = token_kind::literal;
    return end_of_raw_string(text, at);
  }
  if (prefix != "L" && prefix != "u" && prefix != "U" && prefix != "u8") return at;
  kind = token_kind::literal;
  return end_of_quoted(text, at);
}

}  // namespace

std::vector<token> tokens_of(std::string_view text) {
  std::vector<token> tokens;
  bool begins_line = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      begins_line |= c == '\n';
      ++at;
      continue;
    }
    token_kind kind = token_kind::mark;
    std::size_t end = at + 1;
    if (c == '#' && begins_line) {
      kind = token_kind::marker;
      end = std::min(text.find('\n', at), text.size());
    } else if (is_word(c)) {
      kind = token_kind::word;
      end = end_of_word(text, at, kind);
    } else if (c == '"' || c == '\'') {
      kind = token_kind::literal;
      end = end_of_quoted(text, at);
    } else if (text.substr(at, 2) == "::" || text.substr(at, 2) == "->") {
      end = at + 2;
    }
    tokens.push_back({kind, text.substr(at, end - at)});
    begins_line = false;
    at = end;
  }
  return tokens;
}

}  // namespace assay::source_pass
