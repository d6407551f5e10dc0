#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "properties/html/markup.hpp"
#include "properties/html/page.hpp"
#include "properties/html/report_page.hpp"
#include "properties/html/run_tables.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/scope.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/counted.hpp"

namespace assay::html {
namespace {

/// "DEFECT: 3 of 100 cases failed" as its word and the rest.
void set_verdict(page_top& top, const std::string& line) {
  const std::size_t colon = line.find(": ");
  const bool has_word = colon < 24;  // npos is larger
  top.word = has_word ? line.substr(0, colon) : "";
  top.sentence = has_word ? line.substr(colon + 2) : line;
  std::ranges::transform(top.word, top.word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
}

void add_lines(std::vector<std::string>& to, const std::string& lines) {
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);)
    if (line.starts_with("  ")) to.push_back("Missing: " + line.substr(2));
}

void set_next(page_top& top, const std::vector<reported_finding>& findings) {
  top.next = fmt::format("Replay the first finding. The section Findings has {}.",
                         findings.size() == 1 ? "it" : fmt::format("all {}", findings.size()));
  top.next_command = findings.front().replay;
}

/// What to do about a run without a defect that is not verified.
void set_what_is_missing(page_top& top, const suite_result& result, const std::string& run) {
  const counts& n = result.total;
  const auto is_too_many = [&](std::int64_t count) {
    return static_cast<double>(count) > max_discard_share * static_cast<double>(n.total());
  };
  if (is_too_many(n.discard) || is_too_many(n.undecided)) {
    top.next = "See under Remarks why cases were discarded or undecided. More cases do not help before that is mended.";
    return;
  }
  top.next = n.total() == 0 ? "No case ran. Give the run more time, or a number of cases."
                            : "Run more cases, of all properties and types.";
  top.next_command = fmt::format("{} --cases {}", run, std::max<std::int64_t>(2000, 2 * n.total()));
}

/// The first screen of a run.
page_top top_of(const std::string& heading, const suite_options& options, const suite_result& result,
                const std::vector<reported_finding>& findings) {
  page_top top;
  set_verdict(top, verdict_line(options, result));
  top.about = fmt::format("{}, {} in {:.1f} s.", heading, counted(result.total.total(), "case"), result.seconds);
  const std::string run = "./assay run" + options.library_arguments;
  if (result.total.fail > 0) {
    top.verdict = mood::fail;
    if (!findings.empty()) set_next(top, findings);
  } else if (exit_status(options, result) != 0) {
    top.verdict = mood::open;
    if (result.total.total() > 0) add_lines(top.points, missing_text(options, result));
    set_what_is_missing(top, result, run);
  } else {
    top.verdict = mood::pass;
    for (const std::string& line : verified_for(options, result)) top.points.push_back("Verified for: " + line);
    top.points.emplace_back("It means that the checked cases passed. It is not a proof for all cases.");
    top.next = "Another seed draws other cases, here of all kernels and types.";
    top.next_command = fmt::format("{} --seed {}", run, options.seed + 1);
  }
  top.title = fmt::format("Assay: {}", top.word.empty() ? top.sentence : top.word);
  return top;
}

}  // namespace

std::string run_page(const std::string& heading, const suite_options& options, const suite_result& result,
                     const std::vector<reported_finding>& findings, const source_finder& sources,
                     const std::vector<finding_pictures>& pictures) {
  page made(top_of(heading, options, result, findings));
  constexpr std::size_t room_for_tables = 400'000;
  made.section(
      "findings", "Findings",
      findings_section(findings, sources, pictures, made.room() > room_for_tables ? made.room() - room_for_tables : 0));
  made.section("cases", "What ran", count_tables(options, result));
  made.section("teeth", "Teeth: what the verdict is worth", teeth_tables(result));
  made.section("remarks", "Remarks", remarks(options, result));
  made.section("coverage", "Coverage", coverage_tables(options, result));
  made.section("slowest", "Slowest cases", slowest_table(result));
  made.section("effort", "Effort", effort_table(options, result));
  return made.finish();
}

std::string replay_page(const std::string& heading, const suite_result& result, const std::vector<replayed_case>& cases,
                        const std::vector<reported_finding>& findings, const source_finder& sources,
                        const std::vector<finding_pictures>& pictures) {
  constexpr std::size_t most_rows = 1000;
  page_top top;
  const counts& n = result.total;
  const std::string missing = shortfall(result);
  top.verdict = n.fail > 0 ? mood::fail : missing.empty() ? mood::pass : mood::open;
  top.word = n.fail > 0 ? "DEFECT" : missing.empty() ? "VERIFIED" : "NOT VERIFIED";
  top.sentence = n.fail > 0        ? fmt::format("{} of {} failed.", n.fail, counted(n.total(), "stored case"))
                 : missing.empty() ? counted(n.total(), "stored case") + ", no defect."
                                   : missing;
  top.about = fmt::format("{}, {:.1f} s.", heading, result.seconds);
  top.title = "Assay: replay, " + top.word;
  if (!findings.empty()) set_next(top, findings);
  page made(top);
  made.section("findings", "Findings", findings_section(findings, sources, pictures, made.room() * 3 / 4));
  table rows("Stored cases", {"file", "verdict", "checks", "seconds"}, 2);
  for (std::size_t i = 0; i < std::min(cases.size(), most_rows); ++i) {
    const replayed_case& r = cases[i];
    rows.row({text(r.file.string(), 200), r.result() == outcome::fail ? "FAIL" : name_of(r.result()),
              whole(std::ssize(r.selected)), fmt::format("{:.3f}", r.seconds)});
  }
  std::string body = rows.finish();
  if (cases.size() > most_rows)
    body +=
        fmt::format("<p>The first {} of {}. The JSON report has the others' failures.</p>\n", most_rows, cases.size());
  made.section("cases", "Stored cases", body);
  return made.finish();
}

}  // namespace assay::html
