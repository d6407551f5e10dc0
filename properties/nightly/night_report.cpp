#include "properties/nightly/night_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/system/xml.hpp"

namespace assay {
namespace {

std::string numbers_of(const night_stage& s) {
  std::vector<std::string> words;
  words.reserve(s.numbers.size());
  for (const auto& [name, value] : s.numbers) words.push_back(fmt::format("{} {:.6g}", name, value));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Escapes what would end a cell or a row of a table.
std::string cell(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string list(const std::string& title, const std::vector<night_finding>& findings) {
  if (findings.empty()) return {};
  std::string text = fmt::format("\n### {} ({})\n\n", title, findings.size());
  for (const night_finding& f : findings) {
    text += fmt::format("- {}: {}: {}\n", f.stage, f.origin, f.what);
    if (!f.replay.empty()) text += fmt::format("  `{}`\n", f.replay);
  }
  return text;
}

std::string changes(const comparison& c, const night& before) {
  std::string text = fmt::format("\n## Since {}\n", before.started);
  text += list("New findings", c.appeared) + list("Still there", c.stayed) + list("Gone", c.gone);
  if (c.appeared.empty() && c.stayed.empty() && c.gone.empty()) text += "\nNeither night has findings.\n";
  if (c.numbers.empty()) return text;
  text += "\n| stage | number | before | now | change |\n|---|---|---:|---:|---:|\n";
  for (const number_change& n : c.numbers)
    text +=
        fmt::format("| {} | {} | {:.6g} | {:.6g} | {:+.1f}% |\n", n.stage, n.name, n.before, n.now, 100 * n.relative());
  return text;
}

}  // namespace

std::string night_markdown(const night& now, const night* before) {
  std::string text = fmt::format("# Night of {}: {}\n\n{} minutes planned, seed {}.\n\n", now.started,
                                 now.is_clean() ? "verified" : "DEFECT", now.minutes, now.seed);
  if (now.platform != "cpu") text += fmt::format("Of the {} kernels, beside the cpu kernels.\n\n", now.platform);
  text += "| stage | result | seconds | numbers |\n|---|---|---:|---|\n";
  for (const night_stage& s : now.stages)
    text += s.left_out.empty() ? fmt::format("| {} | {} | {:.1f} | {} |\n", s.name, status_text(s.status), s.seconds,
                                             cell(numbers_of(s)))
                               : fmt::format("| {} | left out: {} | | |\n", s.name, cell(s.left_out));
  if (before != nullptr) return text + changes(compare(*before, now), *before);
  std::vector<night_finding> all;
  for (const night_stage& s : now.stages) all.insert(all.end(), s.findings.begin(), s.findings.end());
  return text + list("Findings", all) + "\nThis is the first night: there is no earlier night to compare with.\n";
}

std::string night_junit(const night& now) {
  std::string body;
  std::size_t failures = 0, skipped = 0;
  double seconds = 0;
  for (const night_stage& s : now.stages) {
    seconds += s.seconds;
    body +=
        fmt::format("    <testcase classname=\"nightly\" name=\"{}\" time=\"{:.3f}\">\n", xml_text(s.name), s.seconds);
    if (s.status != 0) {
      ++failures;
      std::string found;
      for (const night_finding& f : s.findings) found += fmt::format("{}: {}\n{}\n", f.origin, f.what, f.replay);
      body +=
          fmt::format("      <failure message=\"{}\">{}</failure>\n", xml_text(status_text(s.status)), xml_text(found));
    }
    if (!s.left_out.empty()) {
      ++skipped;
      body += fmt::format("      <skipped message=\"{}\"/>\n    </testcase>\n", xml_text(s.left_out));
      continue;
    }
    const bool is_assay = s.arguments.empty() || !s.arguments.front().starts_with("assay");
    body += fmt::format("      <system-out>{}{}; {}</system-out>\n    </testcase>\n", is_assay ? "assay " : "",
                        xml_text(fmt::format("{}", fmt::join(s.arguments, " "))), xml_text(numbers_of(s)));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\">\n  <testsuite name=\"nightly\" "
      "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n{}  </testsuite>\n</testsuites>\n",
      now.stages.size(), failures, skipped, seconds, body);
}

}  // namespace assay
