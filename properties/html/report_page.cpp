#include "properties/html/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/html/markup.hpp"
#include "properties/html/page.hpp"

namespace assay::html {

std::string findings_section(const std::vector<reported_finding>& findings, const source_finder& sources,
                             const std::vector<finding_pictures>& pictures, std::size_t room) {
  constexpr std::size_t most_named = 200;
  constexpr std::size_t bytes_of_name = 1400;  // of one that has no room: each byte escaped
  const std::size_t room_for_names = std::min(findings.size(), most_named) * bytes_of_name;
  std::string page;
  std::vector<std::string> named;
  bool is_full = false;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const std::size_t left = room > page.size() + room_for_names ? room - page.size() - room_for_names : 0;
    std::string one;
    if (!is_full) one = finding_section(i + 1, findings[i], sources, i < pictures.size() ? &pictures[i] : nullptr);
    if (one.size() > left && i < pictures.size()) one = finding_section(i + 1, findings[i], sources, nullptr);
    is_full = is_full || one.size() > left;
    if (!is_full)
      page += one;
    else if (named.size() < most_named)
      named.push_back(fmt::format("<li id=\"finding-{}\">{} {}</li>\n", i + 1, text(finding_title(findings[i]), 100),
                                  text(findings[i].file.string(), 100)));
  }
  if (findings.size() > pictures.size() && !pictures.empty())
    page += fmt::format(
        "<p class=\"soft\">Pictures are drawn of the first {} findings at most. For others: ./assay explain "
        "--html FILE CASE.</p>\n",
        pictures.size());
  if (named.empty()) return page;
  page += "<h3>More findings</h3>\n<p>The page has no room for them in full. The JSON report has all.</p>\n<ul>\n";
  for (const std::string& line : named) page += line;
  return page + "</ul>\n";
}

namespace {

mood mood_of(outcome result) {
  return result == outcome::pass ? mood::pass : result == outcome::fail ? mood::fail : mood::open;
}

std::string word_of(outcome result) {
  switch (result) {
    case outcome::pass: return "PASS";
    case outcome::fail: return "DEFECT";
    case outcome::discard: return "DISCARDED";
    case outcome::undecided: break;
  }
  return "UNDECIDED";
}

}  // namespace

std::string case_page(const case_report& report, const source_finder& sources) {
  const verdict& v = report.result;
  page_top top;
  top.title = "Assay: " + report.f.file.string();
  top.verdict = mood_of(v.result);
  top.word = word_of(v.result);
  top.sentence = v.result == outcome::pass ? "Each output element lies in its enclosure."
                                           : fmt::format("{}: {}", v.origin, v.what);
  top.about = report.heading;
  if (!report.f.replay.empty()) {
    top.next = "Check the case with all properties.";
    top.next_command = report.f.replay;
  }
  page made(top);
  if (v.result == outcome::fail) made.section("finding", "The failure", finding_section(1, report.f, sources, nullptr));
  made.section("story", "Where the element comes from",
               report.story.empty() ? ""
                                    : fmt::format("<pre class=\"wraps\" tabindex=\"0\" aria-label=\"The story of the "
                                                  "element\"><code>{}</code></pre>\n",
                                                  text(report.story, 100'000)));
  made.section("pictures", "Pictures", pictures_section(report.pictures));
  return made.finish();
}

}  // namespace assay::html
