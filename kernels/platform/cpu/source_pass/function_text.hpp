/// The functions of a source: their names, parameters and bodies, and which are declared twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "kernels/platform/cpu/source_pass/source_text.hpp"

namespace assay::source_pass {

class function_text : protected source_text {
 public:
  using source_text::source_text;

 protected:
  /// The '(' of the parameters of the function whose declaration goes on there; 0 if it is none.
  std::size_t parameters_behind(std::size_t i) const {
    while (i < tokens_.size() && !is(i, "(")) {
      if (is(i, ";") || is(i, "{") || is(i, "}") || is(i, "=") || is(i, ")")) return 0;
      i = is(i, "__attribute__") && is(i + 1, "(") ? closing(i + 1) + 1 : i + 1;
    }
    if (i > 0 && is(i - 1, "operator") && is(i + 1, ")")) {  // operator()<float>(
      i += 2;
      if (is(i, "<"))
        while (i < tokens_.size() && !is(i, "(") && !is(i, ";")) ++i;
    }
    return is(i, "(") && name_before(i) != i ? i : 0;
  }

  /// The name before the '(' of parameters: f, or f<float> of a specialisation, or operator(). The '(' itself if there
  /// is none.
  std::size_t name_before(std::size_t open) const {
    if (open == 0 || is_word(open - 1)) return open == 0 ? 0 : open - 1;
    int depth = 0;
    for (std::size_t i = open; i-- > 0;) {
      if (depth == 0 && is(i, ")")) return i > 1 && is(i - 1, "(") && is(i - 2, "operator") ? i - 2 : open;
      if (is(i, ">")) ++depth;
      if (is(i, "<") && --depth == 0) {
        if (i > 0 && is_word(i - 1)) return i - 1;
        return i > 2 && is(i - 1, ")") && is(i - 2, "(") && is(i - 3, "operator") ? i - 3 : open;
      }
      if (depth == 0 || (!is_word(i) && !is(i, "<") && !is(i, ">") && !is(i, ",") && !is(i, "::"))) break;
    }
    return open;
  }

  /// Behind the parameters and what belongs to the function's type.
  std::size_t signature_end(std::size_t open) const {
    if (open == 0) return 0;
    std::size_t i = closing(open) + 1;
    while (is(i, "const") || is(i, "noexcept")) ++i;
    return i;
  }

  /// The '{' of the body of a function whose signature ends there; 0 if it has none there.
  std::size_t body_behind(std::size_t past) const {
    if (past == 0 || is(past, "{")) return past;
    std::size_t i = past;
    while (is(i, i == past ? ":" : ",")) {  // a constructor's members
      ++i;
      while (is_word(i) || is(i, "::")) ++i;
      if (!is(i, "(") && !is(i, "{")) return 0;
      i = closing(i) + 1;
    }
    return i != past && is(i, "{") ? i : 0;
  }

  /// Whether the brace opens a class.
  bool is_class(std::size_t brace) const {
    if (!is(brace, "{")) return false;
    for (std::size_t i = statement_begin(brace); i < brace; ++i)
      if (is(i, "(") || is(i, "enum")) return false;
    for (std::size_t i = statement_begin(brace); i < brace; ++i)
      if (is(i, "struct") || is(i, "class") || is(i, "union")) return true;
    return false;
  }

  /// Whether the scope has another body for the name and parameters, not marked as the host's; or any declaration of
  /// them, where a second one is a mistake.
  bool has_twin(std::size_t open, std::size_t past, bool is_member) {
    if (words_.empty())
      for (std::size_t i = 0; i < tokens_.size(); ++i)
        if (is(i, "(") && name_before(i) != i) words_[tokens_[name_before(i)].text].push_back(i);
    const std::size_t name = name_before(open);
    for (const std::size_t i : words_[tokens_[name].text]) {
      const std::size_t other = name_before(i);
      if (i == open || !is_same(name, past, other)) continue;
      bool is_of_host = false;
      for (std::size_t before = statement_begin(other); before < other; ++before)
        is_of_host |= is(before, "assay_host");
      const std::size_t end = signature_end(i);
      const bool ends_alike = end - other == past - name && (body_behind(end) != 0 || (is_member && is(end, ";")));
      if (!is_of_host && ends_alike && scope_of(other) == scope_of(name)) return true;
    }
    return false;
  }

  /// Whether the tokens from `first` to `past` also stand at `other`.
  bool is_same(std::size_t first, std::size_t past, std::size_t other) const {
    for (; first < past; ++first, ++other)
      if (other >= tokens_.size() || tokens_[first].text != tokens_[other].text) return false;
    return true;
  }

  /// The brace that is open there; 0 for none.
  std::size_t scope_of(std::size_t i) const {
    int depth = 0;
    while (i-- > 0) {
      if (is(i, "}")) ++depth;
      if (is(i, "{") && depth-- == 0) return i;
    }
    return 0;
  }

  /// Whether the function templates of that name want more arguments than so many, from a call: deduced ones.
  bool wants_deduction(std::string_view name, std::size_t given) {
    if (templates_.empty())
      for (std::size_t i = 0; i < tokens_.size(); ++i)
        if (is(i, "template") && is(i + 1, "<")) note_template(i + 1);
    const auto at = templates_.find(name);
    return at != templates_.end() &&
           std::ranges::all_of(at->second, [given](std::size_t wanted) { return wanted > given; });
  }

 private:
  /// Notes how many of a template's parameters have no default, if it is of functions. A pack may be empty.
  void note_template(std::size_t angle) {
    std::size_t i = angle + 1, wanted = 0;
    bool has_default = false, is_empty = true;
    for (int depth = 1; i < tokens_.size(); ++i) {
      if (is(i, "(") || is(i, "{")) i = closing(i);
      if (is(i, "<")) ++depth;
      if (is(i, ">")) --depth;
      const bool ends = depth == 0 || (depth == 1 && is(i, ","));
      if (ends && !is_empty && !has_default) ++wanted;
      if (depth == 0) break;
      has_default = !ends && (has_default || (depth == 1 && (is(i, "=") || is(i, "..."))));
      is_empty = ends;
    }
    if (const std::size_t open = parameters_behind(i + 1); open != 0)
      templates_[tokens_[name_before(open)].text].push_back(wanted);
  }

  std::map<std::string_view, std::vector<std::size_t>> templates_;  ///< names, and what each wants, once asked for
  std::map<std::string_view, std::vector<std::size_t>> words_;      ///< names, and each '(' behind them, once asked for
};

}  // namespace assay::source_pass
