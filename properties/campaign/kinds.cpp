#include "properties/campaign/kinds.hpp"

#include <fmt/format.h>

#include <cctype>
#include <regex>

#include "properties/system/write_file.hpp"

namespace assay::campaign {

bool is_vague(const complaint& is) {
  return is.origin == "hang" || is.origin == "out of memory" || is.origin == "crash";
}

std::string kind_of(const complaint& is) {
  // How a process ended, and within which limit, is a matter of the build that ran it.
  if (is_vague(is)) return is.origin;
  // A number begins where no name does, and not after the ':' of a source line.
  static const std::regex number(R"((^|[^A-Za-z0-9_.:])(-?(0x[0-9a-f]+|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?|inf|nan)\b))");
  std::string text = is.what;
  // Matches share the character before them: a second pass takes what the first one stepped over.
  for (int pass = 0; pass < 2; ++pass) text = std::regex_replace(text, number, "$1N");
  return is.origin + ": " + text;
}

std::string name_of_kind(const complaint& is) {
  std::string slug;
  for (const char c : is.origin) slug += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return fmt::format("{}-{:08x}", slug, fingerprint(kind_of(is)));
}

}  // namespace assay::campaign
