#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/html/report_page.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/comparison.hpp"
#include "properties/suite/replay_cases.hpp"
#include "properties/suite/sarif.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/counted.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct replay_arguments {
  several_libraries from;
  std::vector<std::string> paths;
  std::vector<std::string> properties;
  int jobs = default_jobs();
  double limit_seconds = 60;
  bool accuracy = false;
  fs::path json;
  fs::path html;
  fs::path sarif;
};

void print(std::ostream& out, const replayed_case& r) {
  const outcome worst = r.result();
  out << fmt::format("{:<9} {:>8.3f} s  {}\n", worst == outcome::fail ? "FAIL" : name_of(worst), r.seconds,
                     r.file.string());
  std::map<std::string, std::vector<std::string>> repeated;  // other properties that show the same failure
  for (std::size_t i = 0; i < r.selected.size(); ++i) {
    const verdict& v = r.verdicts[i];
    std::string failure = fmt::format("  {}: {}\n", v.origin, v.what);
    if (!v.first_load.empty()) failure += fmt::format("  {}\n", v.first_load);
    if (v.result == outcome::fail && repeated.contains(failure))
      repeated[failure].push_back(r.selected[i]->name);
    else if (v.result == outcome::fail)
      out << fmt::format("  {}: {}\n{}{}", r.selected[i]->name, r.selected[i]->sentence, failure,
                         v.hint.empty() ? "" : "  hint: " + v.hint + "\n"),
          repeated[failure];
    else if (v.result != outcome::pass && v.result == worst)
      out << fmt::format("  {}: {}\n", r.selected[i]->name, v.what);
  }
  for (const auto& [failure, names] : repeated)
    if (!names.empty())
      out << fmt::format("  Checks of {} end with the same failure: {}\n", counted(std::ssize(names), "other property"),
                         fmt::join(names, ", "));
  if (!r.verdicts.front().accuracy.empty()) out << "  " << r.verdicts.front().accuracy << "\n";
  out << std::flush;
}

using replayed_cases = std::vector<replayed_case>;

replayed_cases read(const replay_arguments& given, const library& lib, const replay_options& options,
                    const cli_context& context) {
  std::map<std::string, int> skipped;
  replayed_cases cases = read_replays(given.paths, lib, options, skipped);
  for (const auto& [kernel, count] : skipped)
    context.out << fmt::format("skipped {} of {}: {} does not have this kernel\n", counted(count, "case"), kernel,
                               lib.path());
  return cases;
}

/// The reports that show each finding: as a page, and for code scanning.
int write_findings(const replay_arguments& given, const std::string& library_arguments, const library& lib,
                   const suite_result& result, const replayed_cases& cases, const cli_context& context, int status) {
  if (given.html.empty() && given.sarif.empty()) return status;
  const std::vector<reported_finding> findings = reported_findings(library_arguments, cases);
  const source_finder sources = source_finder::for_library(lib.path());
  if (!given.sarif.empty())
    status = write_report(context, given.sarif, report_sarif(lib.path(), findings, sources), status);
  if (given.html.empty()) return status;
  const std::string page =
      html::replay_page(fmt::format("{} kernels of {}", lib.platform(), lib.path()), result, cases, findings, sources,
                        html::picture_findings(lib, findings, given.limit_seconds));
  return write_report(context, given.html, page, status);
}

/// Replays on one library, and prints what came of it. `json` receives the report.
int replay_one(const replay_arguments& given, const library_options& from, const library& lib, replayed_cases& cases,
               const replay_options& options, const cli_context& context, std::string& json) {
  const suite_result result = replay(lib, cases, options, [&](const replayed_case& r) { print(context.out, r); });
  const counts& n = result.total;
  context.out << fmt::format("{} in {:.1f} s: {} pass, {} fail, {} discard, {} undecided\n", counted(n.total(), "case"),
                             result.seconds, n.pass, n.fail, n.discard, n.undecided);
  const std::string missing = shortfall(result);
  if (n.fail == 0 && !missing.empty()) context.out << "NOT VERIFIED: " << missing << "\n";
  context.out << std::flush;
  json = replay_json(from.text(), result, cases);
  return write_findings(given, from.text(), lib, result, cases, context, exit_status(result));
}

/// Of the cases for kernels that all libraries have.
library_comparison compare(const std::vector<std::shared_ptr<library>>& libs, const replayed_cases& cases,
                           const replay_options& options) {
  std::size_t at = 0;
  const auto next = [&]() -> std::optional<std::string> {
    const auto lacks = [&](const auto& lib) { return !lib->has(cases[at].stored.kernel); };
    while (at < cases.size() && std::ranges::any_of(libs, lacks)) ++at;
    if (at == cases.size()) return std::nullopt;
    return std::to_string(at++);
  };
  const auto of = [&](const std::string& request) -> const replayed_case& {
    return cases[static_cast<std::size_t>(case_numbers::parse(request))];
  };
  return compare_libraries(libs, options.jobs, options.limit_seconds,
                           {next, [&](const std::string& request) { return of(request).file.string(); },
                            [&](const std::string& request) { return of(request).stored; }});
}

int run(const replay_arguments& given, const cli_context& context) {
  require_place("--json", given.json);
  require_place("--html", given.html);
  require_place("--sarif", given.sarif);
  const std::vector<library_options> from = given.from.each();
  for (const auto& [option, file] : {std::pair("--html", given.html), std::pair("--sarif", given.sarif)})
    if (from.size() > 1 && !file.empty()) throw usage_error(fmt::format("{}: not with several libraries", option));
  std::vector<std::shared_ptr<library>> libs;
  libs.reserve(from.size());
  for (const library_options& one : from) libs.push_back(one.open(context));
  replay_options options{{}, given.jobs, given.limit_seconds, given.accuracy, true};
  if (!given.properties.empty()) options.selected = select_properties(given.properties);
  std::vector<std::string> reports(libs.size());
  replayed_cases cases;
  int status = exit_verified;
  for (std::size_t i = 0; i < libs.size(); ++i) {
    cases = read(given, *libs[i], options, context);
    if (libs.size() > 1) context.out << fmt::format("{} kernels of {}:\n", libs[i]->platform(), libs[i]->path());
    status = std::max(status, replay_one(given, from[i], *libs[i], cases, options, context, reports[i]));
  }
  if (libs.size() == 1) return given.json.empty() ? status : write_report(context, given.json, reports.front(), status);
  const library_comparison made = compare(libs, cases, options);
  context.out << comparison_text(made) << std::flush;
  if (!made.findings.empty() || !comparison_shortfall(made).empty()) status = std::max<int>(status, exit_defect);
  if (given.json.empty()) return status;
  boost::json::array parsed;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    boost::json::value one = boost::json::parse(reports[i]);
    one.as_object()["platform"] = libs[i]->platform();
    parsed.push_back(std::move(one));
  }
  const boost::json::object report{
      {"version", 1}, {"platforms", std::move(parsed)}, {"comparison", comparison_json(made)}};
  return write_report(context, given.json, boost::json::serialize(report) + "\n", status);
}

}  // namespace

void add_replay(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<replay_arguments>();
  given->paths = {"corpus"};
  CLI::App* command = app.add_subcommand("replay", "Check stored cases");
  command->footer(
      "A file that you name is checked with all properties. A file in a folder is checked with output_enclosed; a "
      "finding in a folder also with the property that failed. --property replaces these choices. Exit status: see "
      "assay --help.");
  command->add_option("paths", given->paths, "Case files, or folders of case files")->capture_default_str();
  given->from.add_to(*command);
  command->add_option("--property", given->properties, "Check this property, or all of them ('all'). May be repeated")
      ->allow_extra_args(false);  // what follows is a path
  command->add_flag("--accuracy", given->accuracy, "Also print the distance of the outputs to exact attention");
  command
      ->add_option("--jobs", given->jobs,
                   "Number of worker processes. On GPUs each takes one device in turn: those that the driver shows, or "
                   "that ASSAY_DEVICES names, as in 0,2")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which a check counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->add_option("--json", given->json, "Write the report to this file as JSON. Missing folders are created");
  command->add_option("--html", given->html,
                      "Write the report to this file as one HTML page, with pictures of the findings. Missing folders "
                      "are created");
  command->add_option("--sarif", given->sarif,
                      "Write the findings to this file as SARIF, for code scanning. Missing folders are created");
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
