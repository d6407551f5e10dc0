#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/suite/merge_reports.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

struct merge_arguments {
  std::vector<std::string> files;
  std::string json;
  std::string junit;
};

int merge(const merge_arguments& given, const cli_context& context) {
  require_place("--json", given.json);
  require_place("--junit", given.junit);
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
  command->callback([given, &context, &status] { status = merge(*given, context); });
}

}  // namespace assay
