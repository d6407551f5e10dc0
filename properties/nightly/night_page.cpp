#include "properties/nightly/night_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/case/case.hpp"
#include "properties/html/markup.hpp"
#include "properties/html/nights.hpp"
#include "properties/html/page.hpp"
#include "properties/system/counted.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_nights = 60;
constexpr std::size_t most_findings = 200;  ///< of a list

std::string findings_list(const std::string& title, const std::vector<night_finding>& findings) {
  if (findings.empty()) return {};
  std::string page = fmt::format("<h3>{} ({})</h3>\n<ul>\n", html::text(title), findings.size());
  for (std::size_t i = 0; i < std::min(findings.size(), most_findings); ++i) {
    const night_finding& f = findings[i];
    page += fmt::format("<li>{}: <strong>{}</strong>: {}{}</li>\n", html::text(f.stage, 60), html::text(f.origin, 100),
                        html::text(f.what, 1000), f.replay.empty() ? "" : html::command(f.replay));
  }
  return page + "</ul>\n";
}

std::vector<night_finding> findings_of(const night& n) {
  std::vector<night_finding> all;
  for (const night_stage& s : n.stages) all.insert(all.end(), s.findings.begin(), s.findings.end());
  return all;
}

std::string stages_table(const night& now) {
  html::table rows("Stages of the night", {"stage", "result", "findings", "seconds", "command"}, 2, 2);
  for (const night_stage& s : now.stages) {
    const std::string result = html::text(status_text(s.status));
    rows.row({html::text(s.name), s.status == 0 ? result : "<strong class=\"fail\">" + result + "</strong>",
              html::whole(std::ssize(s.findings)), fmt::format("{:.1f}", s.seconds),
              html::text(fmt::format("{}", fmt::join(s.arguments, " ")), 300)});
  }
  return rows.finish();
}

/// "+3.1%"; what rounds to nothing has no sign.
std::string change_text(double relative) {
  const std::string text = fmt::format("{:+.1f}%", 100 * relative);
  return text == "+0.0%" || text == "-0.0%" ? "0.0%" : text;
}

std::string changes_table(const comparison& c) {
  html::table rows("Numbers since the night before", {"stage", "number", "before", "now", "change"}, 2);
  for (const number_change& n : c.numbers)
    rows.row({html::text(n.stage, 60), html::text(n.name, 60), html::number(n.before), html::number(n.now),
              change_text(n.relative())});
  return rows.empty() ? "" : rows.finish();
}

std::vector<html::number_history> histories(const night& now, const std::vector<night>& earlier) {
  std::vector<html::number_history> all;
  for (const night_stage& s : now.stages)
    for (const auto& [name, value] : s.numbers) {
      html::number_history h{s.name, name, {}};
      for (const night& n : earlier)
        for (const night_stage& old : n.stages)
          if (const auto at = old.numbers.find(name); old.name == s.name && at != old.numbers.end())
            h.values.push_back(at->second);
      h.values.push_back(value);
      all.push_back(std::move(h));
    }
  return all;
}

/// `findings`: in the order of the page.
html::page_top top_of(const night& now, const std::vector<night_finding>& findings) {
  html::page_top top;
  const std::int64_t failed = std::ranges::count_if(now.stages, [](const night_stage& s) { return s.status != 0; });
  top.verdict = now.is_clean() ? html::mood::pass : html::mood::fail;
  top.word = now.is_clean() ? "VERIFIED" : "DEFECT";
  top.sentence = now.is_clean() ? fmt::format("{}, no defect", counted(std::ssize(now.stages), "stage"))
                                : fmt::format("{} of {} failed", failed, counted(std::ssize(now.stages), "stage"));
  top.about = fmt::format("Night of {}, {:g} minutes planned, seed {}.", now.started, now.minutes, now.seed);
  top.title = "Assay: night, " + top.word;
  const auto can_replay = std::ranges::find_if(findings, [](const night_finding& f) { return !f.replay.empty(); });
  if (can_replay != findings.end()) top.next = "Replay the first finding.", top.next_command = can_replay->replay;
  return top;
}

}  // namespace

std::vector<night> nights_in(const fs::path& folder) {
  std::vector<night> nights;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path file = at->path() / "night.json";
    std::error_code unknown;
    if (!fs::is_regular_file(file, unknown)) continue;
    try {
      nights.push_back(night_from_json(read_file(file), file.string()));
    } catch (const case_error&) {  // another version's, or half a file
      continue;
    }
  }
  std::ranges::sort(nights, {}, &night::started);
  if (nights.size() > most_nights) nights.erase(nights.begin(), nights.end() - most_nights);
  return nights;
}

std::string night_page(const night& now, const night* before, const std::vector<night>& earlier) {
  std::vector<night_finding> findings = findings_of(now);
  std::string listed = findings_list("Findings", findings), changes;
  if (before != nullptr) {
    const comparison c = compare(*before, now);
    findings = c.appeared;
    findings.insert(findings.end(), c.stayed.begin(), c.stayed.end());
    listed = findings_list("New", c.appeared) + findings_list("Still there", c.stayed) + findings_list("Gone", c.gone);
    changes = changes_table(c);
  }
  html::page made(top_of(now, findings));
  made.section("findings", "Findings", listed);
  made.section("stages", "Stages", stages_table(now));
  made.section("history", "Over the nights", html::history_table(histories(now, earlier)));
  made.section("changes", "Since the night before", changes);
  return made.finish();
}

}  // namespace assay
