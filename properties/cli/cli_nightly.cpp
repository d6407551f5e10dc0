#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <ostream>

#include "properties/campaign/target.hpp"
#include "properties/cli/cli.hpp"
#include "properties/nightly/compute_sanitizer.hpp"
#include "properties/nightly/night_page.hpp"
#include "properties/nightly/night_report.hpp"
#include "properties/nightly/stages.hpp"
#include "properties/suite/shard.hpp"
#include "properties/system/child_process.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Another seed every night, which the report names.
std::uint64_t seed_of_the_day() {
  return std::stoull(fmt::format("{:%Y%m%d}", fmt::gmtime(std::time(nullptr))));
}

struct nightly_arguments {
  night_options options;
  std::string shard = "1/1";
  fs::path page;  ///< for the HTML report beside those of the folder; may be empty
};

/// What the night will need, before it and not in its middle.
void demand_all(const night_options& options, const cli_context& context) {
  require_place("--dir", options.folder / "latest.json");
  if (options.platform != "cpu") {
    library_options device;
    device.platform = options.platform;
    device.open(context);
  }
  for (const stage_plan& p : plan_night(options, options.folder))
    if (p.left_out.empty() && p.arguments.front() == "fuzz")
      campaign::find_target(p.name, campaign::target_folders({}));
}

int nightly(const nightly_arguments& given, const cli_context& context) {
  require_place("--html", given.page);
  night_options options = given.options;
  const shard_choice part = choose_shard(given.shard);
  options.shard = part.shard;
  options.shards = part.shards;
  if (options.platform == "nvidia") options.sanitizer = find_compute_sanitizer().string();
  if (options.targets.empty()) options.targets = campaign::target_names();
  for (const std::string& name : options.targets) campaign::target_named(name);
  demand_all(options, context);
  const fs::path latest = options.folder / "latest.json";
  std::optional<night> before;
  if (fs::exists(latest)) {
    try {
      before = night_from_json(read_file(latest), latest.string());
    } catch (const case_error& e) {  // another version's, or half a file: this night is worth having all the same
      context.err << e.what() << "; this night is compared with nothing\n";
    }
  }

  const fs::path work = options.folder / fmt::format("{:%Y-%m-%dT%H-%M-%SZ}", fmt::gmtime(std::time(nullptr)));
  context.out << shard_line(part)
              << fmt::format("seed {}, {} minutes, into {}\n", options.seed, options.minutes, work.string())
              << std::flush;
  progress shown;
  const night now =
      run_night(options, own_program(), work, [&](const stage_plan& p) { shown.show("nightly: " + p.name); });
  shown.clear();
  const std::vector<night> earlier = nights_in(options.folder);
  const std::string html = night_page(now, before ? &*before : nullptr, earlier);
  const std::string markdown = night_markdown(now, before ? &*before : nullptr);
  for (const fs::path& folder : {work, options.folder}) {
    const std::string name = folder == work ? "night" : "latest";
    write_by_rename(folder / (name + ".md"), markdown);
    write_by_rename(folder / (name + ".html"), html);
    write_by_rename(folder / (name + ".xml"), night_junit(now));
    write_by_rename(folder / (name + ".json"), to_json(now));  // last: the next night compares itself with it
  }
  context.out << markdown;
  const int status = now.is_clean() ? exit_verified : exit_defect;
  return given.page.empty() ? status : write_report(context, given.page, html, status);
}

}  // namespace

void add_nightly(CLI::App& app, const cli_context& context, int& status) {
  auto arguments = std::make_shared<nightly_arguments>();
  night_options* const given = &arguments->options;
  given->seed = seed_of_the_day();
  given->jobs = default_jobs();
  CLI::App* command = app.add_subcommand("nightly", "Run everything for a night, and compare with the last night");
  command
      ->add_option("--minutes", given->minutes,
                   "Minutes for the whole night. The corpus, the faults and the benchmark run first")
      ->check(seconds_above_zero())  // a number; the range lets nan pass
      ->check(CLI::Range(0.1, 24.0 * 60))
      ->capture_default_str();
  command->add_option("--seed", given->seed, "Seed of the night. Default: the date")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  command->add_option("--jobs", given->jobs, "Number of worker processes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--dir", given->folder,
                   "Folder for reports, findings and campaign state. latest.json there is the last night")
      ->capture_default_str();
  command->add_option("--html", arguments->page,
                      "Write the report to this file as one HTML page, too; latest.html in the folder is the same");
  command->add_option("--corpus", given->corpus, "The corpus to replay")->capture_default_str();
  command->add_option("--target", given->targets, "Fuzz only this target. May be repeated");
  command
      ->add_option("--platform", given->platform,
                   "Verify the kernels for this GPU beside the cpu kernels: nvidia or amd. Stages that have no meaning "
                   "there are left out, and the report says so")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "nvidia", "amd"}))
      ->capture_default_str();
  command
      ->add_option("--shard", arguments->shard,
                   "i/n: the i-th of n machines. It has a part of the properties' cases; of the other stages and the "
                   "targets each is one machine's. auto: see assay run --help. Give each machine a --dir of its own")
      ->capture_default_str();
  command->footer(
      "A night replays the corpus and old findings, runs the suite on the faults, measures, runs the properties, and "
      "fuzzes each target for the time that is left. Exit status 1: a stage failed; the report names it.");
  command->callback([arguments, &context, &status] { status = nightly(*arguments, context); });
}

}  // namespace assay
