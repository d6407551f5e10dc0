/// The rules about text: lengths of functions, banned words.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/layering.hpp"

namespace assay::layering {
namespace {

/// A source with spaces in place of comments, literals and preprocessor lines, so that braces are braces.
class plain_text {
 public:
  explicit plain_text(const source& s) {
    bool in_directive = false;
    for (const std::string& line : s.lines) {
      in_directive = in_directive || (state_ == state::code && line.find_first_not_of(" \t") == line.find('#') &&
                                      line.find('#') != std::string::npos);
      if (!in_directive) add(line);
      text_ += '\n';
      in_directive = in_directive && line.ends_with('\\');
    }
  }
  const std::string& text() const { return text_; }

 private:
  enum class state { code, comment, raw_string };

  void add(const std::string& line) {
    for (std::size_t i = 0; i < line.size();) i = state_ == state::code ? add_code(line, i) : skip_to_end(line, i);
  }

  /// Appends what stands at `i`; returns where the next thing stands.
  std::size_t add_code(const std::string& line, std::size_t i) {
    const auto at = [&](const char* what) { return line.compare(i, std::string(what).size(), what) == 0; };
    if (at("//")) return line.size();
    if (at("/*")) return enter(state::comment, "*/", i + 2);
    if (at("R\"")) {
      const std::size_t open = line.find('(', i);
      return enter(state::raw_string, ")" + line.substr(i + 2, open - i - 2) + "\"", open + 1);
    }
    const bool in_number = line[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(line[i - 1]));
    if (line[i] == '"' || (line[i] == '\'' && !in_number)) {
      std::size_t end = i + 1;
      while (end < line.size() && line[end] != line[i]) end += line[end] == '\\' ? 2 : 1;
      text_ += '_';
      return end + 1;
    }
    text_ += line[i];
    return i + 1;
  }

  std::size_t enter(state next, std::string end, std::size_t i) {
    state_ = next;
    end_ = std::move(end);
    return i;
  }

  std::size_t skip_to_end(const std::string& line, std::size_t i) {
    const std::size_t found = line.find(end_, i);
    if (found == std::string::npos) return line.size();
    state_ = state::code;
    return found + end_.size();
  }

  state state_ = state::code;
  std::string end_;
  std::string text_;
};

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

enum class scope { open, function, closed };  // open: of a namespace or a class, where functions may begin

/// Without the parameters after `template`, in which `class` says nothing.
std::string without_template(std::string head) {
  const std::size_t at = head.find("template");
  const std::size_t begin = at == std::string::npos ? at : head.find('<', at);
  if (begin == std::string::npos) return head;
  int depth = 0;
  std::size_t end = begin;
  for (; end < head.size(); ++end) {
    depth += head[end] == '<' ? 1 : head[end] == '>' ? -1 : 0;
    if (depth == 0) break;
  }
  return head.erase(at, end - at);
}

/// What a brace opens, by the text between it and the statement before.
scope scope_after(const std::string& full_head, scope outer) {
  if (outer != scope::open) return scope::closed;
  const std::string head = without_template(full_head);
  const std::size_t last = head.find_last_not_of(" \n");
  if (last == std::string::npos || head[last] == '=' || has_word(head, "enum")) return scope::closed;
  for (const char* word : {"namespace", "struct", "class", "union"})
    if (has_word(head, word)) return scope::open;
  if (head.find('(') != std::string::npos) return scope::function;
  return has_word(head, "extern") ? scope::open : scope::closed;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::vector<function_length> functions_of(const source& s) {
  struct level {
    scope kind;
    std::size_t line;
  };
  std::vector<function_length> found;
  std::vector<level> open;
  std::string head;
  std::size_t line = 1;
  const plain_text plain(s);
  for (const char c : plain.text()) {
    if (c == '\n') ++line;
    if (c == '{') open.push_back({scope_after(head, open.empty() ? scope::open : open.back().kind), line});
    if (c == '}' && !open.empty()) {
      if (open.back().kind == scope::function) found.push_back({s.path, open.back().line, line - open.back().line + 1});
      open.pop_back();
    }
    if (c == '{' || c == '}' || c == ';')
      head.clear();
    else
      head += c;
  }
  return found;
}

word_rules read_word_rules(const std::filesystem::path& file) {
  word_rules rules;
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string rule, first, second;
    words >> rule >> first;
    if (rule == "ban") rules.banned.push_back(first);
    if (rule == "ceiling" && words >> second) words >> rules.ceilings[{first, second}];
    if (rule == "allow" && words >> second) rules.allowed.emplace_back(first, second);
  }
  return rules;
}

std::map<std::pair<std::string, std::string>, int> count_words(const std::vector<source>& texts,
                                                               const word_rules& rules) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const source& s : texts)
    for (const std::string& word : rules.banned) {
      if (std::ranges::find(rules.allowed, std::pair(s.path, word)) != rules.allowed.end()) continue;
      const auto lines = std::ranges::count_if(s.lines, [&](const auto& l) { return has_word(lower(l), word); });
      if (lines > 0) counts[{area_of(s.path), word}] += static_cast<int>(lines);
    }
  return counts;
}

std::vector<std::string> broken_ceilings(const std::vector<source>& texts, const word_rules& rules) {
  std::vector<std::string> broken;
  for (const auto& [what, count] : count_words(texts, rules)) {
    const auto ceiling = rules.ceilings.find(what);
    const int most = ceiling == rules.ceilings.end() ? 0 : ceiling->second;
    if (count > most)
      broken.push_back(what.first + " has '" + what.second + "' in " + std::to_string(count) + " lines, at most " +
                       std::to_string(most) + " are allowed");
  }
  return broken;
}

}  // namespace assay::layering
