#include "tests/mutants/mutate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "tests/mutants/source_tokens.hpp"

namespace assay::mutants {
namespace {

using words = std::map<std::string_view, std::string_view>;

const words comparisons = {{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}, {"==", "!="}, {"!=", "=="}};
const words arithmetic = {{"+", "-"},   {"-", "+"},   {"*", "/"},   {"/", "*"},     {"%", "/"},    {"<<", ">>"},
                          {">>", "<<"}, {"&", "|"},   {"|", "&"},   {"+=", "-="},   {"-=", "+="},  {"*=", "/="},
                          {"/=", "*="}, {"&=", "|="}, {"|=", "&="}, {"<<=", ">>="}, {">>=", "<<="}};
const words logic = {{"&&", "||"}, {"||", "&&"}};
const words bounds = {{"min", "max"},       {"max", "min"},     {"min_of", "max_of"},
                      {"max_of", "min_of"}, {"fminf", "fmaxf"}, {"fmaxf", "fminf"}};
const words narrower = {{"int64_t", "int32_t"}, {"uint64_t", "uint32_t"}, {"double", "float"}};
const words booleans = {{"true", "false"}, {"false", "true"}};

/// Calls whose arguments may be swapped without effect, and operators that look like calls.
const std::set<std::string_view> symmetric = {"min",   "max",    "min_of", "max_of", "fminf",         "fmaxf",
                                              "if",    "for",    "while",  "switch", "sizeof",        "alignas",
                                              "catch", "return", "refuse", "clamp",  "static_assert", "decltype"};
const std::set<std::string_view> statement_keywords = {
    "return", "if",     "for",   "while",  "do",       "switch",   "case",          "default", "using", "namespace",
    "struct", "class",  "enum",  "static", "const",    "template", "typename",      "else",    "auto",  "constexpr",
    "inline", "extern", "union", "public", "private",  "friend",   "throw",         "delete",  "new",   "goto",
    "break",  "int",    "bool",  "float",  "continue", "void",     "static_assert", "double",  "char",  "unsigned"};
const std::set<std::string_view> barriers = {
    "__syncthreads", "__syncwarp",   "__threadfence", "__threadfence_block", "__builtin_amdgcn_s_barrier",
    "wave_fence",    "wave_barrier", "fence"};

class mutator {
 public:
  mutator(const std::string& path, std::string_view source)
      : path_(path), source_(source), tokens_(tokens_of(source)), skipped_(tokens_.size(), false) {}

  std::vector<mutant> run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) skip_from(i);
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (!skipped_[i]) at_token(i);
    std::ranges::sort(made_, {}, [](const mutant& m) { return std::tie(m.at, m.length, m.replacement); });
    return std::move(made_);
  }

 private:
  std::string_view text(std::size_t i) const { return i < tokens_.size() ? tokens_[i].spelling : std::string_view(); }
  bool is(std::size_t i, token_kind kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }

  /// The token that closes the bracket at `open`; the number of tokens if none does.
  std::size_t closing(std::size_t open) const {
    const std::string_view opener = text(open), closer = opener == "("   ? ")"
                                                         : opener == "[" ? "]"
                                                         : opener == "{" ? "}"
                                                                         : ">";
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (text(i) == opener) ++depth;
      if (text(i) == closer && --depth == 0) return i;
      if (closer == ">" && text(i) == ">>" && (depth -= 2) <= 0) return i;
    }
    return tokens_.size();
  }

  void skip(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last && i < tokens_.size(); ++i) skipped_[i] = true;
  }

  void skip_to(std::size_t first, std::string_view end) {
    std::size_t last = first;
    while (last < tokens_.size() && text(last) != end) ++last;
    skip(first, last);
  }

  void skip_from(std::size_t i) {
    if (text(i) == "template" && text(i + 1) == "<")
      skip(i, closing(i + 1));
    else if (text(i) == "static_assert" || text(i) == "refuse" || text(i) == "__launch_bounds__" ||
             text(i) == "alignas") {
      if (text(i + 1) == "(") skip(i, closing(i + 1));
    } else if (text(i) == "using" || text(i) == "namespace") {
      skip_to(i, text(i) == "using" ? ";" : "{");
    } else if (text(i) == "enum") {
      std::size_t open = i;
      while (open < tokens_.size() && text(open) != "{" && text(open) != ";") ++open;
      skip(i, text(open) == "{" ? closing(open) : open);
    } else if (text(i) == "[" && text(i + 1) == "[") {
      skip(i, closing(i));
    } else if (text(i) == "operator") {
      skip(i, i + 1);
    }
  }

  void add(const char* operation, std::size_t first, std::size_t last, const std::string& replacement) {
    const std::size_t at = tokens_[first].at, end = tokens_[last].at + tokens_[last].spelling.size();
    if (tokens_[first].line != tokens_[last].line) return;
    mutant m{path_, tokens_[first].line, operation, at, end - at, replacement, {}, {}};
    const auto line_at = [](std::string_view all, std::size_t place) {
      const std::size_t begin = place == 0 ? 0 : all.rfind('\n', place - 1) + 1;
      std::string_view line = all.substr(begin, all.find('\n', place) - begin);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      return std::string(line.substr(0, line.find_last_not_of(' ') + 1));
    };
    m.before = line_at(source_, at);
    m.after = line_at(mutated_text(source_, m), at);
    made_.push_back(std::move(m));
  }

  void at_token(std::size_t i) {
    const token& t = tokens_[i];
    if (t.kind == token_kind::number) constants(i);
    if (t.kind == token_kind::punctuation) operators(i);
    if (t.kind == token_kind::identifier) names(i);
    if (begins_statement(i)) statement(i);
  }

  bool is_binary(std::size_t i) const {
    if (i == 0 || !tokens_[i].after_space || !tokens_[i].before_space) return false;
    const bool ends_operand = is(i - 1, token_kind::number) || text(i - 1) == ")" || text(i - 1) == "]" ||
                              text(i - 1) == "}" ||
                              (is(i - 1, token_kind::identifier) && !statement_keywords.contains(text(i - 1)));
    return ends_operand;
  }

  void operators(std::size_t i) {
    if (!is_binary(i)) return;
    for (const auto& [operation, table] : {std::pair<const char*, const words*>{"comparison", &comparisons},
                                           {"arithmetic", &arithmetic},
                                           {"logic", &logic}})
      if (const auto found = table->find(text(i)); found != table->end())
        add(operation, i, i, std::string(found->second));
  }

  void constants(std::size_t i) {
    std::string digits;
    for (const char c : text(i))
      if (c != '\'') digits += c;
    const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
    const bool is_floating =
        is_hex ? digits.find_first_of("pP.") != std::string::npos : digits.find_first_of(".eE") != std::string::npos;
    const std::string whole(text(i));
    if (is_floating) {
      const bool is_zero = digits.find_first_of("123456789") == std::string::npos;
      return add("constant", i, i, is_zero ? "1.0F" : "(1.01F * " + whole + ")");
    }
    unsigned long long value = 0;
    const char* first = digits.data() + (is_hex ? 2 : 0);
    const auto [end, error] = std::from_chars(first, digits.data() + digits.size(), value, is_hex ? 16 : 10);
    if (error != std::errc{}) return;
    const std::string suffix(end, static_cast<std::size_t>(digits.data() + digits.size() - end));
    const auto spelled = [&](unsigned long long n) {
      return (is_hex ? fmt::format("0x{:X}", n) : fmt::format("{}", n)) + suffix;
    };
    add("constant", i, i, spelled(value + 1));
    if (value > 0) add("constant", i, i, spelled(value - 1));
  }

  void names(std::size_t i) {
    if (const auto found = booleans.find(text(i)); found != booleans.end())
      add("constant", i, i, std::string(found->second));
    if (const auto found = narrower.find(text(i)); found != narrower.end())
      add("narrowed type", i, i, std::string(found->second));
    if (const auto found = bounds.find(text(i)); found != bounds.end() && calls(i))
      add("other bound", i, i, std::string(found->second));
    if (text(i) == "if" && text(i + 1) == "(") negate(i + 1);
    if (calls(i) && !symmetric.contains(text(i))) swap_arguments(bracket_of_call(i));
  }

  /// The bracket after a name and maybe its template arguments; something else where nothing is called.
  std::size_t bracket_of_call(std::size_t i) const {
    return text(i + 1) == "<" && !tokens_[i + 1].after_space ? closing(i + 1) + 1 : i + 1;
  }

  bool calls(std::size_t i) const { return text(bracket_of_call(i)) == "("; }

  void negate(std::size_t open) {
    std::size_t first = open + 1;
    const std::size_t close = closing(open);
    for (std::size_t i = first; i < close; ++i)  // if (initialiser; condition)
      if (text(i) == ";") first = i + 1;
    if (first >= close) return;
    const std::size_t begin = tokens_[first].at, end = tokens_[close - 1].at + tokens_[close - 1].spelling.size();
    add("negated condition", first, close - 1, "!(" + std::string(source_.substr(begin, end - begin)) + ")");
  }

  /// The first tokens of the arguments between brackets, and the closing bracket. Empty for what is no call: parameters
  /// have a name after their type.
  std::vector<std::size_t> arguments(std::size_t open) const {
    const std::size_t close = closing(open);
    std::vector<std::size_t> starts{open + 1};
    int depth = 0;
    for (std::size_t i = open + 1; i < close; ++i) {
      if (text(i) == "(" || text(i) == "[" || text(i) == "{") ++depth;
      if (text(i) == ")" || text(i) == "]" || text(i) == "}") --depth;
      if (depth > 0) continue;
      const bool declares = is(i + 1, token_kind::identifier) && i + 1 < close &&
                            (is(i, token_kind::identifier) || text(i) == "*" || text(i) == "&" || text(i) == ">") &&
                            !(is_binary(i));
      if (declares || text(i) == ";") return {};
      if (text(i) == "<" && !is_binary(i)) i = closing(i);
      if (text(i) == ",") starts.push_back(i + 1);
    }
    starts.push_back(close + 1);
    return starts;
  }

  void swap_arguments(std::size_t open) {
    const std::vector<std::size_t> starts = arguments(open);
    for (std::size_t n = 0; n + 2 < starts.size(); ++n) {
      const std::size_t middle = starts[n + 1], last = starts[n + 2] - 2;
      if (last >= tokens_.size() || middle < 2 || starts[n] > middle - 2 || middle > last) continue;
      const auto between = [&](std::size_t first, std::size_t until) {
        return std::string(
            source_.substr(tokens_[first].at, tokens_[until].at + tokens_[until].spelling.size() - tokens_[first].at));
      };
      const std::string left = between(starts[n], middle - 2), right = between(middle, last);
      if (left != right) add("swapped arguments", starts[n], last, right + ", " + left);
    }
  }

  bool begins_statement(std::size_t i) const {
    if (i == 0) return false;
    const std::string_view before = text(i - 1);
    return before == ";" || before == "{" || before == "}" || before == ")" || before == "else" || before == ":";
  }

  void statement(std::size_t i) {
    std::size_t end = i;
    while (end < tokens_.size() && text(end) != ";" && text(end) != "{" && text(end) != "}") {
      if (text(end) == "(" || text(end) == "[") end = closing(end);
      ++end;
    }
    if (text(end) != ";" || end == i) return;
    const bool is_jump = text(i) == "break" || text(i) == "continue" || text(i) == "return";
    if (is_jump && end == i + 1) return add("dropped jump", i, i, "");
    if (!is_expression(i, end)) return;
    const bool is_barrier = std::ranges::any_of(barriers, [&](std::string_view name) {
      for (std::size_t k = i; k < end; ++k)
        if (text(k) == name) return true;
      return false;
    });
    add(is_barrier ? "dropped barrier" : "dropped statement", i, end - 1, "");
  }

  /// A call or an assignment, not a declaration: names, brackets, dots and so on, then the end or an assignment.
  bool is_expression(std::size_t i, std::size_t end) const {
    if (text(i) == "++" || text(i) == "--") return true;
    if (!is(i, token_kind::identifier) || statement_keywords.contains(text(i))) return false;
    bool expects_name = true, is_call = false;
    for (std::size_t k = i; k < end; ++k) {
      const std::string_view t = text(k);
      if (t == "=" || arithmetic_assignment(t)) return !expects_name;
      if (t == "::" || t == "." || t == "->") {
        expects_name = true;
      } else if (t == "(" || t == "[") {
        is_call = t == "(";
        k = closing(k);
        expects_name = false;
      } else if (t == "<" && !is_binary(k)) {
        k = closing(k);
      } else if (t == "++" || t == "--") {
        return k + 1 == end;
      } else if (is(k, token_kind::identifier) && expects_name) {
        expects_name = false;
        is_call = false;
      } else {
        return false;  // two names in a row: a declaration
      }
    }
    return is_call;
  }

  static bool arithmetic_assignment(std::string_view t) {
    return t.size() >= 2 && t.back() == '=' && t != "==" && t != "!=" && t != "<=" && t != ">=";
  }

  const std::string& path_;
  std::string_view source_;
  std::vector<token> tokens_;
  std::vector<bool> skipped_;
  std::vector<mutant> made_;
};

}  // namespace

std::vector<mutant> mutants_of(const std::string& path, std::string_view source) {
  return mutator(path, source).run();
}

std::string mutated_text(std::string_view source, const mutant& change) {
  std::string text(source);
  return text.replace(change.at, change.length, change.replacement);
}

std::string patch_text(std::string_view source, const mutant& change) {
  const std::string mutated = mutated_text(source, change);
  const auto line_of = [&](std::string_view all) {
    const std::size_t begin = change.at == 0 ? 0 : source.rfind('\n', change.at - 1) + 1;
    return std::string(all.substr(begin, all.find('\n', begin) - begin));
  };
  const std::string place = std::to_string(change.line);
  return "--- a/" + change.path + "\n+++ b/" + change.path + "\n@@ -" + place + " +" + place + " @@\n-" +
         line_of(source) + "\n+" + line_of(mutated) + "\n";
}

}  // namespace assay::mutants
