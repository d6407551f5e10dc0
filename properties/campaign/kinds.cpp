#include "properties/campaign/kinds.hpp"

#include <fmt/format.h>

#include <cctype>
#include <regex>

#include "properties/system/write_file.hpp"

namespace assay::campaign {

bool is_vague(const complaint& failure) {
  return failure.origin == "hang" || failure.origin == "out of memory" || failure.origin == "crash";
}

std::string kind_of(const complaint& failure) {
  // How a process ended, and within which limit, depends on the build that ran it.
  if (is_vague(failure)) return failure.origin;
  // A number does not begin inside a name or after the ':' of a source line.
  static const std::regex number(R"((^|[^A-Za-z0-9_.:])(-?(0x[0-9a-f]+|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?|inf|nan)\b))");
  std::string text = failure.what;
  // Neighbouring matches share a character: the second pass takes what the first one skipped.
  for (int pass = 0; pass < 2; ++pass) text = std::regex_replace(text, number, "$1N");
  return failure.origin + ": " + text;
}

std::string name_of_kind(const complaint& failure) {
  std::string slug;
  for (const char c : failure.origin) slug += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return fmt::format("{}-{:08x}", slug, fingerprint(kind_of(failure)));
}

}  // namespace assay::campaign
