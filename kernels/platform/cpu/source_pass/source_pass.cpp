#include "kernels/platform/cpu/source_pass/source_pass.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "kernels/platform/cpu/source_pass/tokens.hpp"

namespace assay::source_pass {
namespace {

class pass {
 public:
  explicit pass(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

  std::string run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      note_scope();
      if (is(at_, "__shared__")) rewrite_shared();
      if (is_launch(at_)) rewrite_launch();
    }
    return applied();
  }

 private:
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

  /// Whether each open brace is of a function's body: then everything inside is.
  void note_scope() {
    if (is(at_, "{")) {
      std::size_t before = at_;
      constexpr std::array qualifiers{"const", "noexcept", "override", "final", "mutable", "try", "else", "do"};
      while (before > 0 &&
             std::find(qualifiers.begin(), qualifiers.end(), tokens_[before - 1].text) != qualifiers.end())
        --before;
      const bool is_body = before != at_ || (before > 0 && is(before - 1, ")"));
      in_function_.push_back((!in_function_.empty() && in_function_.back()) || is_body);
    } else if (is(at_, "}") && !in_function_.empty()) {
      in_function_.pop_back();
    }
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

  void rewrite_shared() {
    const std::size_t first = statement_begin(at_);
    bool is_extern = false;
    for (std::size_t i = first; i < tokens_.size() && !is(i, ";") && !is(i, "="); ++i) is_extern |= is(i, "extern");
    if (is_extern) return rewrite_dynamic(first);
    for (std::size_t i = first; i < at_; ++i)
      if (is(i, "static")) replace(i, i + 1, "");
    const std::string guard =
        "[[gnu::used]] static thread_local char assay_shared_guard_" + std::to_string(guards_++) + "[256]; ";
    if (first == at_) return replace(at_, at_ + 1, guard + "static thread_local");
    insertions_.insert_or_assign(begin_of(first), guard);
    replace(at_, at_ + 1, "static thread_local");
  }

  /// extern __shared__ alignas(16) unsigned char name[]; attributes stand anywhere before the name.
  void rewrite_dynamic(std::size_t first) {
    std::string type;
    std::size_t name = tokens_.size(), i = first;
    for (; i < tokens_.size() && !is(i, ";"); ++i) {
      if (is(i, "extern") || is(i, "__shared__")) continue;
      if (is(i, "alignas") || is(i, "__attribute__")) {
        i = closing(i + 1);
      } else if (is(i, "[") && is(i + 1, "[")) {
        i = closing(i);
      } else if (is(i, "[")) {
        if (!is(i + 1, "]")) fail(i, "an extern __shared__ array with an extent is not known to HIP");
        ++i;
      } else {
        if (is_word(i) && (is(i + 1, "[") || is(i + 1, ";")) && !is(i + 2, "[")) {
          name = i;
          continue;
        }
        type += (type.empty() ? "" : " ") + std::string(tokens_[i].text);
      }
    }
    if (name == tokens_.size() || type.empty() || i == tokens_.size())
      fail(at_, "an extern __shared__ declaration that is not 'extern __shared__ TYPE NAME[];'");
    const std::string called(tokens_[name].text);
    const bool in_function = !in_function_.empty() && in_function_.back();
    replace(first, i,
            in_function
                ? type + "* const " + called + " = reinterpret_cast<" + type + "*>(::assay::cpu::dynamic_lds())"
                : "[[maybe_unused]] static constexpr ::assay::cpu::dynamic_lds_of<" + type + "> " + called + "{}");
  }

  /// "<<<" that is no operator<< with template arguments.
  bool is_launch(std::size_t i) const {
    return is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && touches(i) && touches(i + 1) && i > 0 &&
           !is(i - 1, "operator");
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

  /// First token of the kernel's name, which ends before `past`: a::b<c>::d<e, f>, (*pointer), object.member.
  std::size_t kernel_begin(std::size_t past) const {
    std::size_t i = past;
    for (bool is_chain = true; is_chain;) {
      if (i > 0 && is(i - 1, ")")) return opening(i - 1);
      if (i > 0 && is(i - 1, ">")) i = opening_angle(i - 1);
      if (i == 0 || !is_word(i - 1)) break;
      --i;
      if (i > 0 && is(i - 1, "template")) --i;
      const bool is_joined = i > 0 && (is(i - 1, "::") || is(i - 1, ".") || is(i - 1, "->"));
      is_chain = is_joined && i > 1 && (is_word(i - 2) || is(i - 2, ">"));
      if (is_joined) --i;
    }
    if (i == past || is(i, "<")) fail(past, "'<<<' without a kernel before it");
    return i;
  }

  void rewrite_launch() {
    const std::size_t open = at_, kernel = kernel_begin(open);
    std::vector<std::string> given{""};
    std::size_t i = open + 3;
    for (std::size_t from = i;; ++i) {
      if (i + 3 >= tokens_.size()) fail(open, "'<<<' without '>>>('");
      if (is(i, "(") || is(i, "[") || is(i, "{")) i = closing(i);
      const bool ends =
          is(i, ">") && is(i + 1, ">") && is(i + 2, ">") && touches(i) && touches(i + 1) && is(i + 3, "(");
      if (!ends && !is(i, ",")) continue;
      given.back() = source(from, i);
      if (ends) break;
      given.emplace_back();
      from = i + 1;
    }
    if (given.size() < 2 || given.size() > 4) fail(open, "'<<<' takes two to four arguments");
    if (given.size() < 3) given.emplace_back("0");
    if (given.size() < 4) given.emplace_back("nullptr");
    const std::size_t call = i + 3, end = closing(call);
    std::string name;
    for (std::size_t part = kernel; part < open; ++part) {
      if (tokens_[part].kind == token_kind::literal) continue;
      name +=
          std::string(is_word(part) && part > kernel && is_word(part - 1) ? " " : "") + std::string(tokens_[part].text);
    }
    std::string text = "::assay::cpu::launch_kernel(\"" + name + "\", " + std::string(source(kernel, open));
    // A line marker stays at the start of its line.
    for (const std::string& argument : given) text += (argument.starts_with('#') ? ",\n" : ", ") + argument;
    // The call's arguments may hold launches of their own, in lambdas: they stay as they are, for this pass to see.
    replace(kernel, call + 1, text + (call + 1 < end ? ", " : ""));
    at_ = call;
  }

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
  std::size_t at_ = 0;
  std::vector<bool> in_function_;
  int guards_ = 0;
  std::map<std::size_t, std::pair<std::size_t, std::string>> changes_;  // by where they begin: where they end, new text
  std::map<std::size_t, std::string> insertions_;
};

}  // namespace

std::string rewritten(std::string_view preprocessed) {
  return pass(preprocessed).run();
}

}  // namespace assay::source_pass
