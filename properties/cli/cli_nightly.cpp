#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <ostream>

#include "properties/campaign/target.hpp"
#include "properties/cli/cli.hpp"
#include "properties/nightly/night_page.hpp"
#include "properties/nightly/night_report.hpp"
#include "properties/nightly/stages.hpp"
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

/// `page`: a file for the HTML report beside those of the folder; may be empty.
int nightly(night_options options, const fs::path& page, const cli_context& context) {
  require_place("--html", page);
  require_place("--dir", options.folder / "latest.json");
  if (options.targets.empty()) options.targets = campaign::target_names();
  for (const std::string& name : options.targets)
    campaign::find_target(name, campaign::target_folders({}));  // before the night, not in the middle of it
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
  context.out << fmt::format("seed {}, {} minutes, into {}\n", options.seed, options.minutes, work.string())
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
  return page.empty() ? status : write_report(context, page, html, status);
}

}  // namespace

void add_nightly(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<night_options>();
  auto page = std::make_shared<fs::path>();
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
  command->add_option("--html", *page,
                      "Write the report to this file as one HTML page, too; latest.html in the folder is the same");
  command->add_option("--corpus", given->corpus, "The corpus to replay")->capture_default_str();
  command->add_option("--target", given->targets, "Fuzz only this target. May be repeated");
  command->footer(
      "A night replays the corpus and old findings, runs the suite on the faults, measures, runs the properties, and "
      "fuzzes each target for the time that is left. Exit status 1: a stage failed; the report names it.");
  command->callback([given, page, &context, &status] { status = nightly(*given, *page, context); });
}

}  // namespace assay
