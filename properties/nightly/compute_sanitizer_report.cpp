#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "properties/nightly/compute_sanitizer.hpp"
#include "properties/system/counted.hpp"

namespace assay {
namespace {

namespace json = boost::json;

std::string cell(const tool_report& t) {
  if (!t.worked) return "failed";
  return t.errors > 0 ? std::to_string(t.errors) : "-";
}

/// The first complaint, and whose.
std::string complaint(const sanitized_library& l) {
  for (const bool of_failure : {false, true})
    for (std::size_t i = 0; i < l.tools.size(); ++i)
      if (l.tools[i].worked != of_failure && (of_failure || l.tools[i].errors > 0))
        return fmt::format("{}{}: {}", sanitizer_tools[i], of_failure ? " failed" : "", l.tools[i].first);
  return {};
}

/// Faults that some tool sees.
std::int64_t seen_of(const std::vector<sanitized_library>& all) {
  return std::ranges::count_if(all, [](const sanitized_library& l) { return l.name != "none" && l.is_seen(); });
}

std::int64_t faults_of(const std::vector<sanitized_library>& all) {
  return std::ranges::count_if(all, [](const sanitized_library& l) { return l.name != "none"; });
}

json::array findings_of(const std::vector<sanitized_library>& all) {
  json::array findings;
  for (const sanitized_library& l : all)
    for (std::size_t i = 0; i < l.tools.size(); ++i) {
      const tool_report& t = l.tools[i];
      if (t.worked && (l.name != "none" || t.errors == 0)) continue;
      findings.push_back(
          {{"origin", sanitizer_tools[i]},
           {"what", fmt::format("fault {}: {}{}", l.name, t.worked ? "" : "the tool failed: ", t.first)}});
    }
  return findings;
}

}  // namespace

std::string sanitizer_text(const std::vector<sanitized_library>& all) {
  std::size_t width = 12;
  for (const sanitized_library& l : all) width = std::max(width, l.name.size());
  std::string text = fmt::format("{:<{}} {:>5}", "fault", width, "cases");
  for (const char* tool : sanitizer_tools) text += fmt::format(" {:>9}", tool);
  text += "  first complaint\n";
  for (const sanitized_library& l : all) {
    text += fmt::format("{:<{}} {:>5}", l.name, width, l.cases);
    for (const tool_report& t : l.tools) text += fmt::format(" {:>9}", cell(t));
    const std::string said = complaint(l);
    text += (said.empty() ? "" : "  " + said) + "\n";
  }
  text += fmt::format("\nthe tools see {} of {}\n", seen_of(all), counted(faults_of(all), "fault"));
  const auto sound = std::ranges::find(all, "none", &sanitized_library::name);
  if (sound != all.end() && sound->is_seen()) text += "DEFECT: a tool complains about the kernels without a fault\n";
  if (!std::ranges::all_of(all, &sanitized_library::worked)) text += "NOT VERIFIED: a tool did not work\n";
  return text;
}

std::string sanitizer_json(const std::vector<sanitized_library>& all) {
  json::array libraries;
  for (const sanitized_library& l : all) {
    json::object tools;
    for (std::size_t i = 0; i < l.tools.size(); ++i)
      tools[sanitizer_tools[i]] = {
          {"worked", l.tools[i].worked}, {"errors", l.tools[i].errors}, {"first", l.tools[i].first}};
    libraries.push_back({{"fault", l.name}, {"cases", l.cases}, {"seen", l.is_seen()}, {"tools", std::move(tools)}});
  }
  return json::serialize(json::object{{"version", 1},
                                      {"libraries", std::move(libraries)},
                                      {"faults_seen", seen_of(all)},
                                      {"verified", is_clean(all)},
                                      {"findings", findings_of(all)}}) +
         "\n";
}

}  // namespace assay
