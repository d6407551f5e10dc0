#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "properties/cli/cli.hpp"
#include "properties/html/report_page.hpp"
#include "properties/suite/merge_reports.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/counted.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

struct merge_arguments {
  std::vector<std::string> files;
  std::string json;
  std::string junit;
  std::string html;
};

/// The page of the whole run. Its pictures are those that the shards drew: no kernel runs here.
std::string page_of(const suite_report& merged, std::int64_t shards) {
  std::vector<reported_finding> findings;
  try {
    findings = reported_findings(merged.options, merged.result);
  } catch (const std::invalid_argument& e) {
    throw case_error(fmt::format("{}: findings: their cases cannot be drawn again: {}", merged.library, e.what()));
  }
  std::vector<finding_pictures> pictures;
  for (std::size_t i = 0; i < std::min(findings.size(), html::most_pictured); ++i) {
    const auto drawn = merged.extras.pictures.find(merged.result.findings[i].index);
    finding_pictures none;
    none.smallest.none = "The report of this finding's shard holds no pictures: it is of an older version.";
    pictures.push_back(drawn != merged.extras.pictures.end() ? drawn->second : none);
  }
  const std::string heading =
      heading_text(merged.library, merged.platform, merged.extras.devices, merged.options.seed) +
      fmt::format(", merged from {}", counted(shards, "report"));
  return html::run_page(heading, merged.options, merged.result, findings, source_finder::for_library(merged.library),
                        pictures);
}

int merge(const merge_arguments& given, const cli_context& context) {
  require_place("--json", given.json);
  require_place("--junit", given.junit);
  require_place("--html", given.html);
  std::vector<suite_report> shards;
  shards.reserve(given.files.size());
  for (const std::string& file : given.files) shards.push_back(read_report(read_file(file), file));
  const suite_report merged = merge_reports(shards);
  context.out << report_text(merged.options, merged.result) << std::flush;
  int status = exit_status(merged.options, merged.result);
  if (!given.json.empty())
    status = write_report(context, given.json,
                          report_json(merged.library, merged.platform, merged.options, merged.result), status);
  if (!given.junit.empty())
    status = write_report(context, given.junit, report_junit(merged.options, merged.result), status);
  if (given.html.empty()) return status;
  if (!merged.without_pictures.empty())
    context.out << fmt::format("{}: without pictures of {}, which an older version wrote\n", given.html,
                               merged.without_pictures)
                << std::flush;
  status = write_report(context, given.html, page_of(merged, std::ssize(shards)), status);
  return status;
}

}  // namespace

void add_merge_reports(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<merge_arguments>();
  CLI::App* command = app.add_subcommand("merge-reports", "Merge the reports of a run's shards");
  command->footer(
      "Reads the files that 'assay run --shard i/n --json FILE' wrote for i = 1 to n. The exit status is that of the "
      "whole "
      "run.");
  command->add_option("reports", given->files, "The JSON reports of all shards of one run")->required();
  command->add_option("--json", given->json,
                      "Write the merged report to this file as JSON. Missing folders are created");
  command->add_option("--junit", given->junit,
                      "Write the merged report to this file as JUnit XML. Missing folders are created");
  command->add_option("--html", given->html,
                      "Write the merged report to this file as one HTML page, with the pictures that the shards drew. "
                      "Missing folders are created");
  command->callback([given, &context, &status] { status = merge(*given, context); });
}

}  // namespace assay
