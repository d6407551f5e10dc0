/// The text of a source, its tokens, and the changes to be made to it: what rewriting is written with.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/platform/cpu/source_pass/source_pass.hpp"
#include "kernels/platform/cpu/source_pass/tokens.hpp"

namespace assay::source_pass {

/// Tokens by number. `past` is the number behind the last one of a range.
class source_text {
 public:
  explicit source_text(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

 protected:
  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == token_kind::word; }
  std::size_t begin_of(std::size_t i) const { return static_cast<std::size_t>(tokens_[i].text.data() - text_.data()); }
  std::size_t end_of(std::size_t i) const { return begin_of(i) + tokens_[i].text.size(); }
  std::string_view source(std::size_t first, std::size_t past) const {
    return first < past ? text_.substr(begin_of(first), end_of(past - 1) - begin_of(first)) : std::string_view();
  }
  bool touches(std::size_t i) const { return i + 1 < tokens_.size() && end_of(i) == begin_of(i + 1); }

  [[noreturn]] void fail(std::size_t i, const std::string& what) const {
    // The last line marker says "# 12 "file" ..." of the line after it.
    std::size_t marker = i;
    while (marker > 0 && tokens_[marker].kind != token_kind::marker) --marker;
    std::string file = "the source";
    auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin_of(i)), '\n') + 1;
    if (tokens_[marker].kind == token_kind::marker) {
      const std::string_view said = tokens_[marker].text;
      const std::size_t digits = said.find_first_of("0123456789"), open = said.find('"'), close = said.rfind('"');
      if (digits != std::string_view::npos && open < close) {
        file = said.substr(open + 1, close - open - 1);
        line = std::stol(std::string(said.substr(digits))) - 1 +
               std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin_of(marker)),
                          text_.begin() + static_cast<std::ptrdiff_t>(begin_of(i)), '\n');
      }
    }
    throw unclear_source(file + ":" + std::to_string(line) + ": " + what);
  }

  /// The partner of an opening mark, or the end.
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
      if ((is(i, ")") || is(i, "]") || is(i, "}")) && --depth == 0) return i;
    }
    fail(open, "'" + std::string(tokens_[open].text) + "' is not closed");
  }

  std::size_t statement_begin(std::size_t i) const {
    while (i > 0 && !is(i - 1, ";") && !is(i - 1, "{") && !is(i - 1, "}") && tokens_[i - 1].kind != token_kind::marker)
      --i;
    return i;
  }

  void replace(std::size_t first, std::size_t past, std::string text) {
    // Lines keep their numbers.
    const std::string_view old = source(first, past);
    text.append(static_cast<std::size_t>(std::max<std::ptrdiff_t>(
                    0, std::count(old.begin(), old.end(), '\n') - std::count(text.begin(), text.end(), '\n'))),
                '\n');
    changes_.insert_or_assign(begin_of(first), std::pair(end_of(past - 1), std::move(text)));
  }

  /// The partner of a closing parenthesis or bracket, looked for backwards.
  std::size_t opening(std::size_t close) const {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
      if (is(i, ")") || is(i, "]") || is(i, "}")) ++depth;
      if ((is(i, "(") || is(i, "[") || is(i, "{")) && --depth == 0) return i;
    }
    fail(close, "'" + std::string(tokens_[close].text) + "' was not opened");
  }

  /// The '<' of template arguments that end with this '>'.
  std::size_t opening_angle(std::size_t close) const {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
      if (is(i, ")") || is(i, "]") || is(i, "}")) i = opening(i);
      if (is(i, ";")) break;
      if (is(i, ">")) ++depth;
      if (is(i, "<") && --depth == 0) return i;
    }
    fail(close, "a kernel's template arguments have no '<'");
  }

  /// Whether the last line marker says that a header of the system follows.
  bool is_in_system(std::size_t i) const {
    while (i > 0 && tokens_[i].kind != token_kind::marker) --i;
    const std::string_view marker = tokens_[i].text;
    return tokens_[i].kind == token_kind::marker && marker.find(" 3", marker.rfind('"') + 1) != std::string_view::npos;
  }

  std::string name_of(std::size_t first, std::size_t past) const {
    std::string name;
    for (std::size_t part = first; part < past; ++part) {
      if (tokens_[part].kind == token_kind::literal) continue;
      name +=
          std::string(is_word(part) && part > first && is_word(part - 1) ? " " : "") + std::string(tokens_[part].text);
    }
    return name;
  }

  /// Before the token, whatever becomes of it.
  void insert(std::size_t before, std::string text) { insertions_.insert_or_assign(begin_of(before), std::move(text)); }

  /// Changes do not overlap: each ends before the next token that is looked at.
  std::string applied() const {
    std::string out;
    out.reserve(text_.size() + text_.size() / 8);
    std::size_t from = 0;
    auto insertion = insertions_.begin();
    const auto insert_before = [&](std::size_t place) {
      for (; insertion != insertions_.end() && insertion->first <= place; ++insertion) {
        out += text_.substr(from, insertion->first - from);
        out += insertion->second;
        from = insertion->first;
      }
    };
    for (const auto& [place, change] : changes_) {
      insert_before(place);
      out += text_.substr(from, place - from);
      out += change.second;
      from = change.first;
    }
    insert_before(text_.size());
    out += text_.substr(from);
    return out;
  }

  std::string_view text_;
  std::vector<token> tokens_;

 private:
  std::map<std::size_t, std::pair<std::size_t, std::string>> changes_;  // by where they begin: where they end, new text
  std::map<std::size_t, std::string> insertions_;
};

}  // namespace assay::source_pass
