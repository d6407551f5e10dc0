#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <limits>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/terminal.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

struct run_arguments {
  library_options from;
  std::vector<std::string> kernels;
  std::vector<std::string> types;
  std::vector<std::string> properties;
  std::int64_t cases = 2000;
  double seconds = 0;
  std::uint64_t seed = 0;
  CLI::Option* seed_given = nullptr;
  int jobs = default_jobs();
  std::string shard = "1/1";
  std::int64_t workspace_budget_bytes = 0;
  double limit_seconds = 60;
  double shrink_seconds = 20;
  bool accept_blunt = false;
  bool stop_at_failure = false;
  std::string json;
  std::string junit;
  std::string findings = "out/findings";
};

/// "i/n" with 1 <= i <= n.
void parse_shard(const std::string& text, suite_options& options) {
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, options.shard);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, options.shards) : first;
  if (!slash || second.ec != std::errc{} || second.ptr != end || options.shard < 1 || options.shard > options.shards)
    throw usage_error(fmt::format("--shard: '{}' is not i/n with 1 <= i <= n", text));
}

/// What the library's kernels take. Throws environment_error where one of them takes no case.
void take_supports(const library& lib, suite_options& options) {
  options.supports = lib.supports;
  options.has_predicate = lib.has_predicate();
  options.traits = traits_of(lib);
  for (const std::string& kernel : drawable(options.kernels))
    if (lib.declares(kernel))
      if (const std::string why = impossible_support(kernel, lib.support_of(kernel)); !why.empty())
        throw environment_error(fmt::format("{}: {}", lib.path(), why));
}

/// Types that some kernel may have: those of the space, and what the library declares beyond. Throws usage_error.
void check_types(const std::vector<std::string>& types, const suite_options& options) {
  std::vector<std::string> all = types_of_the_space();
  for (const std::string& kernel : drawable(options.kernels))
    for (const std::string& name : names_of_supported_types(kernel, support_of(options.supports, kernel)))
      if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  for (const std::string& type : types)
    if (std::ranges::find(all, type) == all.end())
      throw usage_error(fmt::format("--types: '{}' is none of {}", type, fmt::join(all, ", ")));
}

suite_options to_options(const run_arguments& given, const library& lib) {
  suite_options options;
  options.kernels = given.kernels.empty() ? lib.kernels() : given.kernels;
  for (const std::string& kernel : given.kernels)
    if (!lib.has(kernel))
      throw usage_error(fmt::format("--kernel: {} has no kernel '{}' (see: assay list kernels)", lib.path(), kernel));
  if (drawable(options.kernels).empty())
    throw usage_error(fmt::format("{}: cases cannot be generated for its kernels, only for: {}", lib.path(),
                                  fmt::join(kernels_of_the_space(), ", ")));
  options.types = given.types;
  take_supports(lib, options);
  check_types(given.types, options);
  for (const property* p : select_properties(given.properties)) {
    const bool applies_to_any = std::ranges::any_of(options.kernels, [&](const auto& k) { return applies(*p, k); });
    if (can_be_checked(*p, options)) options.selected.push_back(p);
    if (applies_to_any) options.left_out.push_back(p);  // by some kernels, or all: left_out_lines() tells
  }
  if (options.selected.empty())
    throw usage_error(fmt::format("none of the selected properties applies to {}{}{}",
                                  fmt::join(options.kernels, " or "), given.types.empty() ? "" : " with types ",
                                  fmt::join(given.types, " or ")));
  options.cases = given.cases;
  options.seconds = given.seconds;
  options.seed = given.seed_given->count() > 0 ? given.seed : seed_of_the_moment();
  options.jobs = given.jobs;
  parse_shard(given.shard, options);
  options.limit_seconds = given.limit_seconds;
  options.budget.seconds = given.shrink_seconds;
  options.workspace_budget_bytes = given.workspace_budget_bytes;
  options.findings = given.findings;
  options.accept_blunt = given.accept_blunt;
  options.stops_at_failure = given.stop_at_failure;
  options.library_arguments = given.from.text();
  options.progress = true;
  return options;
}

int run(const run_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  const suite_options options = to_options(given, *lib);
  lib->measures_teeth = true;
  require_place("--json", given.json);
  require_place("--junit", given.junit);
  require_place("--findings", options.findings / "finding");
  context.out << fmt::format("{} kernels of {}, seed {}\n\n", lib->platform(), lib->path(), options.seed) << std::flush;
  const suite_result result = run_suite(*lib, options);
  const std::size_t columns = &context.out == &std::cout ? columns_of_stdout() : 0;
  context.out << report_text(options, result, columns) << std::flush;
  int status = exit_status(options, result);
  if (!given.json.empty()) status = write_report(context, given.json, report_json(*lib, options, result), status);
  if (!given.junit.empty()) status = write_report(context, given.junit, report_junit(options, result), status);
  return status;
}

}  // namespace

void add_run(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<run_arguments>();
  CLI::App* command = app.add_subcommand("run", "Check the properties on generated cases (start here)");
  given->from.add_to(*command);
  command->add_option("--kernel", given->kernels, "Check only this kernel (see: assay list kernels). May be repeated");
  command->add_option("--types", given->types, "Check only these element types: Q, Q/K or Q:OUTPUT. May be repeated");
  command->add_option("--property", given->properties,
                      "Check only this property (see: assay list properties). May be repeated");
  auto* cases = command->add_option("--cases", given->cases, "Number of cases; with --shard, of all shards together")
                    ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
                    ->capture_default_str();
  command->add_option("--seconds", given->seconds, "Run for this time instead of a number of cases")
      ->check(seconds_above_zero())
      ->excludes(cases);
  given->seed_given =
      command
          ->add_option("--seed", given->seed,
                       "Seed of the run: the same seed gives the same cases. Default: the clock; the run prints it")
          ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  command->add_option("--jobs", given->jobs, "Number of worker processes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  auto* shard =
      command->add_option("--shard", given->shard, "i/n: run the i-th of n disjoint parts")->capture_default_str();
  command
      ->add_option("--workspace-budget", given->workspace_budget_bytes,
                   "Bytes for the split workspaces of a case. Default: the library chooses")
      ->check(whole_number(1, INT64_MAX));
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which a case counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command
      ->add_option("--shrink", given->shrink_seconds,
                   "Seconds to spend on shrinking each kind of failure. 0: do not shrink")
      ->check(seconds_from_zero())
      ->capture_default_str();
  command->add_flag("--accept-blunt", given->accept_blunt,
                    "Accept a run without a defect that reached too little, or would miss standard faults");
  command
      ->add_flag("--stop-at-failure", given->stop_at_failure,
                 "Begin no further case after one has failed. Cases that other processes began are counted")
      ->excludes(shard);
  command->add_option("--json", given->json, "Write the report to this file as JSON. Missing folders are created");
  command->add_option("--junit", given->junit,
                      "Write the report to this file as JUnit XML. Missing folders are created");
  command->add_option("--findings", given->findings, "Folder for the shrunk failing cases")->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
