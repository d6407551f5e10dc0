#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <ostream>

#include "properties/campaign/campaign_report.hpp"
#include "properties/campaign/supervise.hpp"
#include "properties/cli/cli.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct fuzz_arguments {
  library_options from;
  std::string target;
  std::string targets;
  std::string dir;
  std::string dictionary;
  std::vector<std::string> seeds{"corpus"};
  bool empty = false;
  std::uint64_t seed = 0;
  CLI::Option* seed_given = nullptr;
  campaign::options options;
  std::string json;
};

campaign::options to_options(const fuzz_arguments& given) {
  campaign::options options = given.options;
  options.fuzzed = campaign::find_target(given.target, campaign::target_folders(given.targets));
  options.library = given.from.path;
  options.library_arguments = given.from.text();
  options.checks = {!given.from.unchecked, given.from.lockstep_waves};
  options.seed = given.seed_given->count() > 0 ? given.seed : seed_of_the_moment();
  options.folder = given.dir.empty() ? fs::path("build") / "campaigns" / given.target : fs::path(given.dir);
  const fs::path own = fs::path("fuzz") / (given.target + ".dict");
  options.dictionary = given.dictionary.empty() && fs::exists(own) ? own : fs::path(given.dictionary);
  if (!options.dictionary.empty()) read_file(options.dictionary);  // now, not when the processes start
  for (const std::string& place : given.seeds) {
    if (given.empty) break;
    if (!fs::exists(place)) throw usage_error(fmt::format("--seeds: {}: there is no such file or folder", place));
    options.seeds.emplace_back(place);
  }
  options.progress = true;
  return options;
}

/// A library without the target's kernel would have every input discarded.
void require_kernel(const campaign::target& t, const library& lib) {
  const auto has = [&](const std::string& kernel) { return lib.has(kernel); };
  if (t.kernel.empty() ? std::ranges::any_of(kernels_of_the_space(), has) : has(t.kernel)) return;
  throw usage_error(
      fmt::format("{}: {} has no kernel '{}' (it has: {})", t.name, lib.path(),
                  t.kernel.empty() ? fmt::format("{}", fmt::join(kernels_of_the_space(), "' or '")) : t.kernel,
                  fmt::join(lib.kernels(), ", ")));
}

/// The libraries that judge: the one whose coverage chooses the cases and, if it was another that was asked for, that
/// one.
struct judging {
  std::shared_ptr<library> guide;
  std::shared_ptr<library> beside;
};

/// A GPU's kernels show no coverage: the cpu kernels choose the cases, and are judged too.
judging open_libraries(const fuzz_arguments& given, const cli_context& context) {
  const auto asked = given.from.open(context);
  if (asked->tensors_on() == kDLCPU) return {asked, nullptr};
  library_options cpu = given.from;
  cpu.path.clear();
  cpu.platform = "cpu";
  return {cpu.open(context), asked};
}

/// Has the options judge by both.
void take_beside(const judging& libs, const fuzz_arguments& given, campaign::options& options) {
  if (options.fuzzed.kernel.empty())
    throw usage_error(fmt::format("{}: runs on the cpu platform alone; {} is a library for {}", options.fuzzed.name,
                                  libs.beside->path(), libs.beside->platform()));
  options.beside = libs.beside;
  options.beside_arguments = options.library_arguments;
  library_options cpu = given.from;
  cpu.path.clear();
  cpu.platform.clear();
  options.library_arguments = cpu.text();
  options.library.clear();
  // Findings of both libraries, by platform: a campaign of the cpu kernels alone has a folder of its own.
  if (given.dir.empty()) options.folder += "_" + libs.beside->platform();
}

std::string heading(const campaign::options& options, const judging& libs) {
  std::string by = libs.guide->path();
  if (libs.beside)
    by = fmt::format("the {} kernels of {}, whose coverage chooses, and the {} kernels of {} on {}",
                     libs.guide->platform(), by, libs.beside->platform(), libs.beside->path(), libs.beside->devices());
  return fmt::format("{} on {}, seed {}, state in {}\n", options.fuzzed.name, by, options.seed,
                     options.folder.string());
}

int fuzz(const fuzz_arguments& given, const cli_context& context) {
  const judging libs = open_libraries(given, context);
  campaign::options options = to_options(given);
  require_kernel(options.fuzzed, *libs.guide);
  if (libs.beside) {
    require_kernel(options.fuzzed, *libs.beside);
    take_beside(libs, given, options);
  }
  require_place("--json", given.json);
  context.out << heading(options, libs) << std::flush;
  const campaign::result came = campaign::run(options, *libs.guide, [&](const campaign::finding& f) {
    context.out << campaign::finding_line(f) << "\n" << std::flush;
  });
  context.out << "\n" << campaign::report_text(options, came) << std::flush;
  const int status = campaign::exit_status(came);
  return given.json.empty() ? status : write_report(context, given.json, campaign::report_json(options, came), status);
}

}  // namespace

void add_fuzz(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<fuzz_arguments>();
  given->options.jobs = default_jobs();
  CLI::App* command = app.add_subcommand("fuzz", "Search for failing cases with libFuzzer (a campaign)");
  command->footer(
      "A campaign continues from the state in its folder. It minimizes and confirms each kind of failure as soon as it "
      "finds one. After Ctrl-C it prints its summary and ends. Exit status: see assay --help.");
  command->add_option("target", given->target, "The fuzz target (see: assay list targets)")->required();
  given->from.add_to(*command);
  command->remove_option(command->get_option("--accept"));  // fuzz targets judge in processes of their own
  command->get_option("--platform")
      ->description(
          "Judge each case by the kernels of Assay for this platform: cpu (default), nvidia or amd, on a GPU. There "
          "the "
          "cpu kernels are judged first, and their coverage chooses the cases. So with a --library for a GPU");
  command
      ->add_option("--seconds", given->options.seconds, "Campaign seconds. Triage of the last findings may run longer")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->add_option("--jobs", given->options.jobs, "Number of worker processes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  given->seed_given =
      command
          ->add_option("--seed", given->seed, "Seed of the random numbers. Default: the clock; the campaign prints it")
          ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  command->add_option("--dir", given->dir, "Folder of the state. Default: build/campaigns/TARGET");
  auto* seeds =
      command->add_option("--seeds", given->seeds, "Cases to start from, or folders of cases. May be repeated")
          ->capture_default_str()
          ->allow_extra_args(false);  // what follows is the target
  command->add_flag("--empty", given->empty, "Start without cases")->excludes(seeds);
  command->add_option("--dictionary", given->dictionary,
                      "File of words for the fuzzer. Default: fuzz/TARGET.dict, if it exists");
  command->add_option("--max-len", given->options.max_len, "Largest input in bytes")
      ->check(whole_number(1, 1U << 20U))
      ->capture_default_str();
  command->add_option("--limit", given->options.limit_seconds, "Seconds after which an input counts as hung")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->add_option("--memory", given->options.rss_limit_mib, "Memory limit of each process in MiB")
      ->check(whole_number(64, 1U << 20U))
      ->capture_default_str();
  command->add_option("--shrink", given->options.budget.seconds, "Seconds to spend on minimizing each kind of failure")
      ->check(seconds_from_zero())
      ->capture_default_str();
  command->add_option("--targets", given->targets, "Folder of the target programs. Default: the fuzz build");
  command->add_option("--json", given->json, "Write the report to this file as JSON. Missing folders are created");
  command->callback([given, &context, &status] { status = fuzz(*given, context); });
}

}  // namespace assay
