#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/nightly/compute_sanitizer.hpp"
#include "properties/nightly/fault_matrix.hpp"
#include "properties/nightly/fault_places.hpp"
#include "properties/nightly/peer_table.hpp"
#include "properties/system/child_process.hpp"
#include "properties/system/counted.hpp"
#include "properties/system/progress.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct faults_arguments {
  std::vector<std::string> names;
  std::string patches = ASSAY_FAULT_PATCHES;
  std::string libraries = ASSAY_FAULT_LIBRARIES;
  std::string sources = ASSAY_FAULT_SOURCES;
  std::string findings = "out/faults";
  std::uint64_t seed = 1;
  int jobs = default_jobs();
  double shrink_seconds = 5;
  bool peers = false;
  bool markdown = false;
  std::int64_t cases = 40;
  std::string json;
  std::string contract = "declared";
  std::string platform = "cpu";
  bool sanitizer = false;
  std::string corpus = "corpus";
};

std::vector<fault> selected(const faults_arguments& given) {
  std::vector<fault> all = read_faults(given.patches);
  for (const std::string& name : given.names)
    if (std::ranges::find(all, name, &fault::name) == all.end())
      throw usage_error(fmt::format("no fault '{}' (see: assay list faults)", name));
  if (!given.names.empty())
    std::erase_if(all, [&](const fault& f) { return std::ranges::find(given.names, f.name) == given.names.end(); });
  return all;
}

fs::path library_file(const faults_arguments& given, const fault& planted) {
  const bool is_cpu = given.platform == "cpu";
  fs::path file =
      fs::path(given.libraries) / fmt::format("fault_{}{}.so", planted.name, is_cpu ? "" : "_" + given.platform);
  if (!fs::exists(file))
    throw environment_error(fmt::format("{}: the faulty library is not built ({})", file.string(),
                                        is_cpu ? "./assay builds it" : "see: kernels/README.md"));
  return file;
}

/// Of faults for a device: nothing checks loads and stores there. Leaves out faults that only such checks see.
std::vector<fault> shown_on(const std::string& platform, std::vector<fault> all, const cli_context& context) {
  if (platform == "cpu") return all;
  const std::size_t before = all.size();
  std::erase_if(all, [](const fault& f) { return f.caught_by.empty(); });
  if (all.size() < before)
    context.out << fmt::format("left out: {} that only the cpu platform's checker of loads and stores sees\n",
                               counted(static_cast<std::int64_t>(before - all.size()), "fault"));
  for (fault& one : all) one.checker.clear();
  return all;
}

int peers(const faults_arguments& given, const cli_context& context) {
  const std::vector<fault> planted = selected(given);
  for (const fault& one : planted) library_file(given, one);  // before the work, not in the middle of it
  progress shown;
  const peer_table table = compare_with_peers(
      planted, [&](const fault& one) { return library::load(library_file(given, one).string()); },
      {.cases = given.cases, .seed = given.seed, .jobs = given.jobs},
      [&](const std::string& name) { shown.show("peers: " + name); });
  shown.clear();
  context.out << (given.markdown ? peer_table_markdown(table) : peer_table_text(table));
  context.out << std::flush;
  const int status = accepts_clean(table) ? exit_verified : exit_defect;
  return given.json.empty() ? status : write_report(context, given.json, peer_table_json(table), status);
}

/// The sound kernels on the whole corpus, then each fault on the smallest cases of its kernel and types.
int sanitizer(const faults_arguments& given, const cli_context& context) {
  if (given.platform != "nvidia") throw usage_error("--compute-sanitizer: is for --platform nvidia");
  const fs::path tool = find_compute_sanitizer();
  if (tool.empty()) throw environment_error("--compute-sanitizer: there is no compute-sanitizer on PATH");
  const std::vector<fault> planted = selected(given);
  for (const fault& one : planted) library_file(given, one);  // before the work, not in the middle of it
  library_options sound;
  sound.platform = given.platform;
  const auto good = sound.open(context);
  const sanitizer_options options{tool, own_program(), fs::path(given.findings)};
  std::vector<sanitized_library> all;
  progress shown;
  const auto run = [&](const std::string& name, const fs::path& library, const std::vector<fs::path>& cases) {
    if (cases.empty()) throw case_error(fmt::format("--corpus: {} has no case for {}", given.corpus, name));
    all.push_back(run_tools(name, library, cases, options,
                            [&](const std::string& by) { shown.show(fmt::format("{}: {}", by, name)); }));
  };
  run("none", good->path(), sanitized_cases(given.corpus, "", "", SIZE_MAX));
  for (const fault& one : planted)
    run(one.name, library_file(given, one),
        sanitized_cases(given.corpus, one.kernel, one.types, static_cast<std::size_t>(given.cases)));
  shown.clear();
  context.out << sanitizer_text(all) << std::flush;
  const int status = is_clean(all) ? exit_verified : exit_defect;
  return given.json.empty() ? status : write_report(context, given.json, sanitizer_json(all), status);
}

int faults(const faults_arguments& given, const cli_context& context) {
  require_place("--json", given.json);
  if (given.peers) return peers(given, context);
  if (given.sanitizer) return sanitizer(given, context);
  suite_options options;
  options.seed = given.seed;
  options.jobs = given.jobs;
  options.budget.seconds = given.shrink_seconds;
  std::vector<fault_row> rows;
  progress shown;
  const std::vector<fault> planted_there = shown_on(given.platform, selected(given), context);
  if (planted_there.empty())
    throw usage_error(fmt::format("--platform: {} can show none of these faults", given.platform));
  for (const fault& planted : planted_there) {
    const fs::path file = library_file(given, planted);
    shown.show(fmt::format("{} ({} done)", planted.name, rows.size()));
    options.findings = fs::path(given.findings) / planted.name;
    options.library_arguments = " --library " + file.string();
    const auto places = planted.checker.empty()
                            ? std::vector<std::string>{}
                            : expected_places(planted, fs::path(given.patches) / (planted.name + ".patch"),
                                              fs::path(given.sources) / planted.name);
    const auto faulty = library::load(file.string());
    faulty->judged_by = contract_uses().at(given.contract);
    if (rows.empty()) faulty->devices();
    rows.push_back(try_fault(*faulty, planted, places, options));
  }
  shown.clear();
  context.out << fault_matrix_text(rows) << std::flush;
  const int status = std::ranges::all_of(rows, &fault_row::is_caught) ? exit_verified : exit_defect;
  return given.json.empty() ? status : write_report(context, given.json, fault_matrix_json(rows, options), status);
}

}  // namespace

void add_faults(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<faults_arguments>();
  CLI::App* command =
      app.add_subcommand("faults", "Run the suite on faulty kernels and show which properties catch each fault");
  command->add_option("names", given->names, "Only these faults (see: assay list faults)");
  command->add_option("--patches", given->patches, "Folder of the patches")->capture_default_str();
  command->add_option("--libraries", given->libraries, "Folder of the faulty libraries")->capture_default_str();
  command->add_option("--sources", given->sources, "Folder of the patched sources")->capture_default_str();
  command->add_option("--findings", given->findings, "Folder for the shrunk failing cases")->capture_default_str();
  command->add_option("--seed", given->seed, "Seed of the cases")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  command->add_option("--jobs", given->jobs, "Number of worker processes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--shrink", given->shrink_seconds,
                   "Seconds to spend on shrinking each kind of failure. 0: do not shrink")
      ->check(seconds_from_zero())
      ->capture_default_str();
  command
      ->add_option(
          "--platform", given->platform,
          "Run the faulty kernels for this platform, where they are built. On a device a fault is caught if any "
          "check catches it")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "nvidia", "amd"}))
      ->capture_default_str();
  command->add_option("--json", given->json, "Write the matrix to this file as JSON. Missing folders are created");
  command
      ->add_option("--contract", given->contract,
                   "Judge by: declared, the kernels' contracts; open, their types in any order of operations; none, as "
                   "if they declared nothing. With open and none a fault is caught if any check catches it")
      ->check(CLI::IsMember(std::vector<std::string>{"declared", "open", "none"}))
      ->capture_default_str();
  CLI::Option* peers = command->add_flag("--peers", given->peers,
                                         "Compare how rules of other projects' tests and ours judge the faults");
  CLI::Option* sanitizer =
      command->add_flag("--compute-sanitizer", given->sanitizer,
                        "With --platform nvidia: show which tool of NVIDIA's compute-sanitizer (memcheck, racecheck, "
                        "initcheck, synccheck) sees which fault, on cases of the corpus. Their logs go to --findings");
  sanitizer->excludes(peers);
  command->add_option("--corpus", given->corpus, "With --compute-sanitizer: the cases to run")
      ->capture_default_str()
      ->needs(sanitizer);
  CLI::Option* cases = command->add_option("--cases", given->cases,
                                           "With --peers: cases of each kind for each library. With "
                                           "--compute-sanitizer: at most so many cases for each fault. Default: 40, 8");
  cases->check(whole_number(1, 1'000'000));
  command->add_flag("--markdown", given->markdown, "With --peers: a table in Markdown")->needs(peers);
  command->footer(
      "A patch names the checks that must catch its fault. Where the checker of loads and stores must catch it, the "
      "report must point to the line that the patch names or adds. Exit status 1: a check missed a fault. With "
      "--peers: our "
      "own judge flagged a clean kernel. With --compute-sanitizer: a tool complains about kernels without a fault, or "
      "did not work.");
  command->callback([given, cases, &context, &status] {
    if (cases->count() > 0 && !given->peers && !given->sanitizer)
      throw usage_error("--cases: needs --peers or --compute-sanitizer");
    if (cases->count() == 0 && given->sanitizer) given->cases = 8;
    status = faults(*given, context);
  });
}

}  // namespace assay
