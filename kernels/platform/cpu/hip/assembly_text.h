/// The text of inline assembly, as instructions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cpu {

/// One instruction: "@p" or "@!p", the name's parts, and arguments as written.
struct instruction {
  std::string guard;
  std::string name;
  std::vector<std::string> arguments;

  bool starts_with(std::string_view start) const { return std::string_view(name).starts_with(start); }
  bool has(std::string_view part) const {
    const std::size_t at = name.find(part);
    const std::size_t end = at + part.size();
    return at != std::string::npos && (end == name.size() || name[end] == '.' || name[end] == ':');
  }
};

std::string trimmed(std::string_view text);

/// Splits at commas outside of braces and brackets.
std::vector<std::string> list_of(std::string_view text);

/// The instructions of a statement, in order. A brace at the start or end of a line is a scope, not a list.
std::vector<instruction> parse_assembly(std::string_view text);

/// Ends the launch: std::invalid_argument.
[[noreturn]] void fail_assembly(const std::string& what);

}  // namespace assay::cpu
