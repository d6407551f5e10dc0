#include "properties/run/accepted_defects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "properties/case/case.hpp"

namespace assay {
namespace {

struct named_kind {
  const char* name;
  std::int32_t kind;
};
constexpr named_kind kinds[] = {
    {"data-race", ASSAY_DATA_RACE}, {"unwritten-read", ASSAY_UNWRITTEN_READ}, {"out-of-bounds", ASSAY_OUT_OF_BOUNDS}};

std::int32_t kind_named(const std::string& name, const std::string& at) {
  for (const named_kind& k : kinds)
    if (name == k.name) return k.kind;
  throw case_error(
      fmt::format("{}: no kind '{}' can be accepted (data-race, unwritten-read, out-of-bounds)", at, name));
}

bool is_place(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < text.size() && text.find('/') == std::string::npos &&
         text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

/// "paging.hpp:68, from a.hpp:120" of a message that has "store of 4 bytes (paging.hpp:68, from a.hpp:120)": the access
/// that is reported. Names before it may have brackets of their own, and the other side of a race follows.
std::string_view access_in(std::string_view message) {
  const std::size_t start = std::min(message.find(" bytes ("), message.find(" byte ("));
  if (start == std::string_view::npos) return {};
  const std::size_t open = message.find('(', start);
  return message.substr(open, message.find(')', open) - open);
}

/// Whether the text has the place as a whole: "a.hpp:12" is not in "(aa.hpp:12" or "(a.hpp:120".
bool names(std::string_view message, const std::string& place) {
  for (std::size_t at = message.find(place); at != std::string_view::npos; at = message.find(place, at + 1)) {
    const bool begins = at == 0 || message[at - 1] == '(' || message[at - 1] == ' ';
    const std::size_t end = at + place.size();
    if (begins && (end == message.size() || std::isdigit(static_cast<unsigned char>(message[end])) == 0)) return true;
  }
  return false;
}

}  // namespace

accepted_defects::accepted_defects(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string at = fmt::format("{}:{}", file, ++number);
    std::istringstream words(line);
    std::string kind, place, reason;
    if (!(words >> kind) || kind.front() == '#') continue;
    if (!(words >> place) || !is_place(place))
      throw case_error(fmt::format("{}: after the kind comes a place as in paging.hpp:68, not '{}'", at, place));
    if (!(words >> reason)) throw case_error(fmt::format("{}: it has no reason", at));
    entries_.push_back({kind_named(kind, at), place, line});
  }
}

bool accepted_defects::accepts(const assay_defect& defect) {
  for (entry& e : entries_)
    if (e.kind == defect.kind && names(access_in(defect.message), e.place)) return ++e.times, true;
  return false;
}

std::map<std::string, std::int64_t> accepted_defects::take_counts() {
  std::map<std::string, std::int64_t> counts;
  for (entry& e : entries_) counts[e.line] += e.times, e.times = 0;
  return counts;
}

}  // namespace assay
