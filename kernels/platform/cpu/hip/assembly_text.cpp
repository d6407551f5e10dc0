#include "hip/assembly_text.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace assay::cpu {

void fail_assembly(const std::string& instruction) {
  throw std::invalid_argument("inline assembly '" + instruction + "' is not known on the cpu platform");
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '{' || text[i] == '[')) ++depth;
    if (i < text.size() && (text[i] == '}' || text[i] == ']')) --depth;
    if (i < text.size() && (text[i] != ',' || depth != 0)) continue;
    if (std::string part = trimmed(text.substr(from, i - from)); !part.empty()) parts.push_back(std::move(part));
    from = i + 1;
  }
  return parts;
}

std::vector<instruction> parse_assembly(std::string_view text) {
  std::vector<instruction> all;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ';' && text[i] != '\n') continue;
    std::string line = trimmed(text.substr(from, i - from));
    // A list may run over lines: it ends with a comma, or is open.
    if (i < text.size() && text[i] == '\n' && !line.empty()) {
      const auto opened = std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}');
      if (line.back() == ',' || (opened > 0 && line != "{")) continue;
      const std::size_t next = text.find_first_not_of(" \t\n", i);
      if (line.find(' ') == std::string::npos && next != std::string_view::npos && text[next] == '{') continue;
    }
    from = i + 1;
    if (const std::size_t comment = line.find("//"); comment != std::string::npos)
      line = trimmed(line.substr(0, comment));
    while (!line.empty() &&
           (line == "{" || line == "}" || (line.front() == '{' && line.find('}') == std::string::npos)))
      line = trimmed(std::string_view(line).substr(1));
    if (line.empty() || line == "}") continue;
    instruction one;
    if (line.front() == '@') {
      const std::size_t end = line.find_first_of(" \t");
      if (end == std::string::npos) fail_assembly(line);
      one.guard = line.substr(1, end - 1);
      line = trimmed(std::string_view(line).substr(end));
    }
    const std::size_t end = std::min(line.find_first_of(" \t\n{["), line.size());
    one.name = line.substr(0, end);
    one.arguments = list_of(std::string_view(line).substr(end));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace assay::cpu
