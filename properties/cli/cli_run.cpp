#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <ostream>

#include <boost/json.hpp>

#include "properties/cli/cli.hpp"
#include "properties/data/difference.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/html/report_page.hpp"
#include "properties/suite/comparison.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sarif.hpp"
#include "properties/suite/shard.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/terminal.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using libraries = std::vector<std::shared_ptr<library>>;

struct run_arguments {
  several_libraries from;
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
  std::int64_t waves = 0;
  double limit_seconds = 60;
  double shrink_seconds = 20;
  bool accept_blunt = false;
  bool stop_at_failure = false;
  std::string json;
  std::string junit;
  std::string html;
  std::string sarif;
  std::string findings = "out/findings";
};

/// What the libraries' kernels take. Throws environment_error where one of them takes no case, usage_error where two
/// libraries state different things of one kernel.
void take_supports(const libraries& libs, suite_options& options) {
  for (const auto& lib : libs) {
    for (const auto& [kernel, takes] : lib->supports)
      if (const auto [at, is_new] = options.supports.emplace(kernel, takes);
          !is_new && support_to_json(at->second) != support_to_json(takes))
        throw usage_error(fmt::format("{} and {} state different things of what {} takes: run them one by one",
                                      libs.front()->path(), lib->path(), kernel));
    options.has_predicate = options.has_predicate || lib->has_predicate();
    options.others.push_back(lib.get());
    const library_traits traits = traits_of(*lib);
    options.traits.has_attention = options.traits.has_attention && traits.has_attention;
    options.traits.has_schedules = options.traits.has_schedules && traits.has_schedules;
    for (const std::string& kernel : drawable(options.kernels))
      if (lib->declares(kernel))
        if (const std::string why = impossible_support(kernel, lib->support_of(kernel)); !why.empty())
          throw environment_error(fmt::format("{}: {}", lib->path(), why));
  }
}

/// The kernels that all libraries have, or those that are asked for. Throws usage_error.
std::vector<std::string> kernels_of(const run_arguments& given, const libraries& libs) {
  std::vector<std::string> kernels = given.kernels.empty() ? libs.front()->kernels() : given.kernels;
  for (const auto& lib : libs)
    if (given.kernels.empty())
      std::erase_if(kernels, [&](const std::string& kernel) { return !lib->has(kernel); });
    else
      for (const std::string& kernel : given.kernels)
        if (!lib->has(kernel))
          throw usage_error(
              fmt::format("--kernel: {} has no kernel '{}' (see: assay list kernels)", lib->path(), kernel));
  if (drawable(kernels).empty())
    throw usage_error(fmt::format("{}: cases cannot be generated for its kernels, only for: {}", libs.front()->path(),
                                  fmt::join(kernels_of_the_space(), ", ")));
  return kernels;
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

suite_options to_options(const run_arguments& given, const shard_choice& part, const libraries& libs) {
  suite_options options;
  options.kernels = kernels_of(given, libs);
  options.types = given.types;
  take_supports(libs, options);
  check_types(given.types, options);
  options.waves = given.waves;
  for (const std::string& kernel : drawable(options.kernels))
    if (const assay_support s = support_in(options, kernel); s.no_wave_32 != 0 && s.no_wave_64 != 0)
      throw usage_error(fmt::format("--waves {}: {} takes no such waves", given.waves, kernel));
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
  options.shard = part.shard;
  options.shards = part.shards;
  options.limit_seconds = given.limit_seconds;
  options.budget.seconds = given.shrink_seconds;
  options.workspace_budget_bytes = given.workspace_budget_bytes;
  options.findings = given.findings;
  options.accept_blunt = given.accept_blunt;
  options.stops_at_failure = given.stop_at_failure;
  options.progress = true;
  return options;
}

void require_places(const run_arguments& given, const suite_options& options) {
  require_place("--json", given.json);
  require_place("--junit", given.junit);
  require_place("--html", given.html);
  require_place("--sarif", given.sarif);
  require_place("--findings", options.findings / "finding");
}

/// Of the terminal that the report goes to, or 0.
std::size_t columns_of(const cli_context& context) {
  return &context.out == &std::cout ? columns_of_stdout() : 0;
}

std::string heading(const library& lib, const suite_options& options) {
  return heading_text(lib.path(), lib.platform(), lib.devices(), options.seed);
}

/// The pictures of the findings, where a report needs them: a page, or the JSON of a shard, of which merge-reports
/// makes the page of the whole run on a machine that may not have the library.
std::vector<finding_pictures> draw(const run_arguments& given, const library& lib, const suite_options& options,
                                   const std::vector<reported_finding>& findings) {
  if (given.html.empty() && (given.json.empty() || options.shards == 1)) return {};
  progress shown(options.progress);
  if (!findings.empty()) shown.show("drawing the findings");
  std::vector<finding_pictures> pictures = html::picture_findings(lib, findings, options.limit_seconds);
  shown.clear();
  return pictures;
}

std::string json_of(const library& lib, const suite_options& options, const suite_result& result,
                    const std::vector<finding_pictures>& pictures = {}) {
  page_extras extras{lib.devices(), {}};
  if (options.shards > 1)
    for (std::size_t i = 0; i < pictures.size(); ++i) extras.pictures.emplace(result.findings[i].index, pictures[i]);
  return report_json(lib.path(), lib.platform(), options, result, extras);
}

int run_one(const run_arguments& given, library& lib, const suite_options& options, const cli_context& context) {
  context.out << heading(lib, options) << "\n\n" << std::flush;
  const suite_result result = run_suite(lib, options);
  context.out << report_text(options, result, columns_of(context)) << std::flush;
  int status = exit_status(options, result);
  const std::vector<reported_finding> findings = reported_findings(options, result);
  const std::vector<finding_pictures> pictures = draw(given, lib, options, findings);
  if (!given.json.empty()) status = write_report(context, given.json, json_of(lib, options, result, pictures), status);
  if (!given.junit.empty()) status = write_report(context, given.junit, report_junit(options, result), status);
  if (given.html.empty() && given.sarif.empty()) return status;
  const source_finder sources = source_finder::for_library(lib.path());
  if (!given.sarif.empty())
    status = write_report(context, given.sarif, report_sarif(lib.path(), findings, sources), status);
  if (given.html.empty()) return status;
  const std::string page = html::run_page(heading(lib, options), options, result, findings, sources, pictures);
  return write_report(context, given.html, page, status);
}

/// The cases that all libraries ran, compared. Writes those of the findings, and says how to run them again.
library_comparison compare(const libraries& libs, const suite_options& options, const std::string& arguments,
                           const cli_context& context) {
  case_numbers numbers(options, std::chrono::steady_clock::now());
  const auto name = [&](const std::string& request) {
    return fmt::format("case {} of seed {}", request, options.seed);
  };
  const auto read = [&](const std::string& request) {
    const std::int64_t index = case_numbers::parse(request);
    std::string why;
    const std::int64_t draw = options.has_predicate ? first_supported_draw(*libs.front(), options, index, why) : 0;
    return suite_case(options, index, draw);
  };
  const library_comparison made =
      compare_libraries(libs, options.jobs, options.limit_seconds, {[&] { return numbers.next(); }, name, read});
  context.out << comparison_text(made);
  for (const compared_case& f : first_findings(made)) {
    const std::string text = to_json(f.stored);
    const fs::path file = options.findings / fmt::format("difference-{:08x}.json", fingerprint(text));
    try {
      write_by_rename(file, text);
      context.out << replay_line(arguments, file) << "\n";
    } catch (const environment_error& e) {
      context.out << e.what() << "\n";
    }
  }
  context.out << std::flush;
  return made;
}

/// Each library on the same cases, then their comparison. The worst status of all.
int run_several(const run_arguments& given, const std::vector<library_options>& from, const libraries& libs,
                suite_options options, const cli_context& context) {
  boost::json::array reports;
  int status = exit_verified;
  for (std::size_t i = 0; i < libs.size(); ++i) {
    options.library_arguments = from[i].text();
    if (from.size() > 1 && from[i].path.empty() && from[i].platform == "cpu")
      options.library_arguments += " --platform cpu";
    context.out << heading(*libs[i], options) << "\n\n" << std::flush;
    const suite_result result = run_suite(*libs[i], options);
    context.out << report_text(options, result, columns_of(context)) << "\n" << std::flush;
    status = std::max(status, exit_status(options, result));
    reports.push_back(boost::json::parse(json_of(*libs[i], options, result)));
    // The next ones run the cases that the first one had time for.
    if (i == 0 && options.seconds > 0) options.cases = cases_of_run(options, result.total.total()), options.seconds = 0;
  }
  const library_comparison made = compare(libs, options, given.from.text_of_all(), context);
  if (!made.findings.empty() || !comparison_shortfall(made).empty()) status = std::max<int>(status, exit_defect);
  if (given.json.empty()) return status;
  const boost::json::object report{
      {"version", 1}, {"platforms", std::move(reports)}, {"comparison", comparison_json(made)}};
  return write_report(context, given.json, boost::json::serialize(report) + "\n", status);
}

int run(const run_arguments& given, const cli_context& context) {
  const std::vector<library_options> from = given.from.each();
  for (const auto& [option, file] :
       {std::pair("--junit", given.junit), std::pair("--html", given.html), std::pair("--sarif", given.sarif)})
    if (from.size() > 1 && !file.empty()) throw usage_error(fmt::format("{}: not with several libraries", option));
  if (from.size() > 1 && !given.json.empty() && given.shard != "1/1")
    throw usage_error("--json: not with --shard and several libraries, whose reports do not merge");
  libraries libs;
  libs.reserve(from.size());
  for (const library_options& one : from) libs.push_back(one.open(context));
  const shard_choice part = choose_shard(given.shard);
  suite_options options = to_options(given, part, libs);
  require_places(given, options);
  context.out << shard_line(part);
  for (const auto& lib : libs) lib->measures_teeth = true;
  if (libs.size() > 1) return run_several(given, from, libs, options, context);
  options.others.clear();
  options.library_arguments = from.front().text();
  return run_one(given, *libs.front(), options, context);
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
  command
      ->add_option("--jobs", given->jobs,
                   "Number of worker processes. On GPUs each takes one device in turn: those that the driver shows, or "
                   "that ASSAY_DEVICES names, as in 0,2")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  auto* shard = command
                    ->add_option("--shard", given->shard,
                                 "i/n: run the i-th of n disjoint parts. auto: the part of this task of a Slurm array, "
                                 "completion of a Kubernetes indexed Job, or job of a GitHub matrix (examples/scale)")
                    ->capture_default_str();
  command
      ->add_option("--workspace-budget", given->workspace_budget_bytes,
                   "Bytes for the split workspaces of a case. Default: the library chooses")
      ->check(whole_number(1, INT64_MAX));
  command
      ->add_option(
          "--waves", given->waves,
          "Only cases whose waves have so many lanes on the cpu platform: 32, as on NVIDIA's GPUs and RDNA, or "
          "64, as on CDNA. Default: both")
      ->check(CLI::IsMember(std::vector<std::int64_t>{32, 64}));
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
  command->add_option("--html", given->html,
                      "Write the report to this file as one HTML page, with pictures of the findings. Missing folders "
                      "are created");
  command->add_option("--sarif", given->sarif,
                      "Write the findings to this file as SARIF, for code scanning. Missing folders are created");
  command->add_option("--findings", given->findings, "Folder for the shrunk failing cases")->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
