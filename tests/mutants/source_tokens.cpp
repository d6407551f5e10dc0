#include "tests/mutants/source_tokens.hpp"

#include <array>
#include <cctype>

namespace assay::mutants {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Longest first.
constexpr std::array<std::string_view, 27> operators = {"<<=", ">>=", "...", "->*", "<=>", "::", "->", "++", "--",
                                                        "<<",  ">>",  "<=",  ">=",  "==",  "!=", "&&", "||", "+=",
                                                        "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", ".*", "##"};

class reader {
 public:
  explicit reader(std::string_view source) : source_(source) {}

  std::vector<token> read() {
    while (at_ < source_.size())
      if (!skip_blank()) take();
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void advance_to(std::size_t end) {
    for (; at_ < end && at_ < source_.size(); ++at_)
      if (source_[at_] == '\n') ++line_, is_line_start_ = true;
  }

  std::size_t after(std::string_view text, std::size_t from) const {
    const std::size_t found = source_.find(text, from);
    return found == std::string_view::npos ? source_.size() : found + text.size();
  }

  /// White space, a comment or a preprocessor line.
  bool skip_blank() {
    const std::size_t before = at_;
    if (std::isspace(static_cast<unsigned char>(source_[at_])) != 0)
      advance_to(at_ + 1);
    else if (starts("//"))
      advance_to(std::min(source_.find('\n', at_), source_.size()));
    else if (starts("/*"))
      advance_to(after("*/", at_ + 2));
    else if (is_line_start_ && starts("#"))
      skip_directive();
    else
      return false;
    is_spaced_ = true;
    if (!tokens_.empty() && end_of_last_ == before) tokens_.back().before_space = true;
    return true;
  }

  void skip_directive() {
    std::size_t end = source_.find('\n', at_);
    while (end != std::string_view::npos && end > 0 && source_[end - 1] == '\\') end = source_.find('\n', end + 1);
    advance_to(std::min(end, source_.size()));
  }

  void take() {
    const std::size_t first = at_;
    if (is_digit(source_[at_]) || (source_[at_] == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1])))
      add(token_kind::number, end_of_number());
    else if (is_literal_start())
      add(token_kind::text, end_of_literal());
    else if (is_word(source_[at_]))
      add(token_kind::identifier, end_of_word(at_));
    else
      add(token_kind::punctuation, at_ + length_of_operator());
    if (at_ == first) ++at_;  // never stands still
  }

  std::size_t end_of_word(std::size_t from) const {
    while (from < source_.size() && is_word(source_[from])) ++from;
    return from;
  }

  std::size_t end_of_number() const {
    std::size_t end = at_;
    while (end < source_.size()) {
      const bool is_exponent_sign = (source_[end] == '+' || source_[end] == '-') && end > at_ &&
                                    std::string_view("eEpP").find(source_[end - 1]) != std::string_view::npos &&
                                    (!starts("0x") || source_[end - 1] == 'p' || source_[end - 1] == 'P');
      const bool is_separator = source_[end] == '\'' && end + 1 < source_.size() && is_word(source_[end + 1]);
      if (!is_word(source_[end]) && source_[end] != '.' && !is_exponent_sign && !is_separator) break;
      ++end;
    }
    return end;
  }

  /// A quote, with its prefix (u8R and the like).
  bool is_literal_start() const {
    const std::size_t quote = prefix_end();
    return quote < source_.size() && (source_[quote] == '"' || source_[quote] == '\'');
  }

  std::size_t prefix_end() const {
    std::size_t end = at_;
    while (end < source_.size() && end < at_ + 3 &&
           std::string_view("uULR8").find(source_[end]) != std::string_view::npos)
      ++end;
    return end;
  }

  std::size_t end_of_literal() const {
    const std::size_t quote = prefix_end();
    if (quote > at_ && source_[quote - 1] == 'R') {
      const std::size_t open = source_.find('(', quote);
      if (open == std::string_view::npos) return source_.size();
      return after(")" + std::string(source_.substr(quote + 1, open - quote - 1)) + "\"", open);
    }
    std::size_t end = quote + 1;
    while (end < source_.size() && source_[end] != source_[quote]) end += source_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, source_.size());
  }

  std::size_t length_of_operator() const {
    for (const std::string_view& op : operators)
      if (starts(op)) return op.size();
    return 1;
  }

  void add(token_kind kind, std::size_t end) {
    tokens_.push_back({kind, source_.substr(at_, end - at_), at_, line_, is_spaced_ || at_ == 0, false});
    is_spaced_ = is_line_start_ = false;
    advance_to(end);
    is_line_start_ = false;
    end_of_last_ = end;
    if (at_ == source_.size()) tokens_.back().before_space = true;
  }

  std::string_view source_;
  std::size_t at_ = 0, line_ = 1, end_of_last_ = 0;
  bool is_line_start_ = true, is_spaced_ = true;
  std::vector<token> tokens_;
};

}  // namespace

std::vector<token> tokens_of(std::string_view source) {
  return reader(source).read();
}

}  // namespace assay::mutants
