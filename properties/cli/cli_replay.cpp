#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <map>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/run/accuracy.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/suite.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/worker.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

struct replay_arguments {
  library_options from;
  std::vector<std::string> paths;
  std::vector<std::string> properties;
  int jobs = default_jobs();
  double limit_seconds = 60;
  bool accuracy = false;
  fs::path json;
};

/// A case and what is to be checked on it.
struct replayed {
  fs::path file;
  attention_case what;
  std::vector<const property*> selected;
  std::vector<verdict> verdicts;  ///< of `selected`, in order
  std::size_t missing = 0;
  double seconds = 0;
};

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  if (files.empty()) throw usage_error(fmt::format("{}: holds no .json file", path.string()));
  return files;
}

/// What is checked without --property: the enclosure; the property that a finding's `why` begins with; and everything
/// on a file that is named itself, since then somebody looks at that one case.
std::vector<const property*> default_properties(const attention_case& c, bool named) {
  std::vector<const property*> selected;
  for (const property& p : properties())
    if (applies(p, c.kernel) && (named || &p == &properties().front() || c.why.starts_with(std::string(p.name) + ":")))
      selected.push_back(&p);
  return selected;
}

/// A case of a kernel that the library lacks cannot be replayed. Naming one is a mistake; a folder may hold cases of
/// other kernels, which are counted in `skipped` by their kernel.
std::vector<replayed> load(const replay_arguments& given, const library& lib, std::map<std::string, int>& skipped) {
  std::vector<replayed> all;
  for (const fs::path path : given.paths)
    for (const fs::path& file : files_in(path)) {
      replayed r{file, load_case(file), {}, {}};
      const bool is_named = !fs::is_directory(path);
      if (lib.find(r.what.kernel) == nullptr) {
        if (is_named)
          throw usage_error(fmt::format("{}: kernel: {} has no kernel '{}' (see: assay list kernels)", file.string(),
                                        lib.path(), r.what.kernel));
        ++skipped[r.what.kernel];
        continue;
      }
      r.selected =
          given.properties.empty() ? default_properties(r.what, is_named) : select_properties(given.properties);
      r.verdicts.resize(r.selected.size());
      r.missing = r.selected.size();
      all.push_back(std::move(r));
    }
  if (all.empty())
    throw usage_error(fmt::format("no case is for a kernel of {} ({})", lib.path(), fmt::join(lib.kernels(), ", ")));
  return all;
}

/// "case property", both by number.
std::pair<std::size_t, std::size_t> parse(const std::string& request) {
  std::pair<std::size_t, std::size_t> at;
  const char* end = request.data() + request.size();
  const char* rest = std::from_chars(request.data(), end, at.first).ptr;
  std::from_chars(rest + 1, end, at.second);
  return at;
}

outcome worst(const replayed& r) {
  outcome all = outcome::pass;
  for (std::size_t i = 0; i < r.selected.size(); ++i) {
    const outcome one = r.verdicts[i].result;
    if (one == outcome::fail) return one;
    // That some property has nothing to work on says nothing; that the kernel was not run says all.
    const bool counts = i == 0 || one != outcome::discard;
    if (counts && one != outcome::pass) all = one;
  }
  return all;
}

void print(std::ostream& out, const replayed& r) {
  const outcome all = worst(r);
  out << fmt::format("{:<9} {:>8.3f} s  {}\n", all == outcome::fail ? "FAIL" : name_of(all), r.seconds,
                     r.file.string());
  for (std::size_t i = 0; i < r.selected.size(); ++i) {
    const verdict& v = r.verdicts[i];
    if (v.result == outcome::fail)
      out << fmt::format("  {}: {}\n  {}: {}\n", r.selected[i]->name, r.selected[i]->sentence, v.origin, v.what);
    else if (v.result != outcome::pass && v.result == all)
      out << fmt::format("  {}: {}\n", r.selected[i]->name, v.what);
  }
  if (!r.verdicts.front().accuracy.empty()) out << "  " << r.verdicts.front().accuracy << "\n";
  out << std::flush;
}

/// The failures as findings, with the keys that they have in a run's report.
std::string replay_json(const replay_arguments& given, const suite_result& result, const std::vector<replayed>& all) {
  json::array findings;
  for (const replayed& r : all)
    for (std::size_t i = 0; i < r.selected.size(); ++i) {
      const verdict& v = r.verdicts[i];
      if (v.result != outcome::fail) continue;
      findings.push_back(json::object{{"kernel", r.what.kernel},
                                      {"property", r.selected[i]->name},
                                      {"origin", v.origin},
                                      {"what", v.what},
                                      {"file", r.file.string()},
                                      {"replay", fmt::format("./assay replay{} --property {} {}", given.from.text(),
                                                             r.selected[i]->name, r.file.string())}});
    }
  const counts& n = result.total;
  return json::serialize(json::object{
             {"version", 1},
             {"verified", exit_status(result) == 0},
             {"total", {{"pass", n.pass}, {"fail", n.fail}, {"discard", n.discard}, {"undecided", n.undecided}}},
             {"seconds", result.seconds},
             {"findings", std::move(findings)}}) +
         "\n";
}

/// The verdict of the enclosure, and how far the outputs are from exact.
verdict judge_with_accuracy(const library& lib, const attention_case& c) {
  detailed_run run = run_in_detail(lib, c);
  if (!run.bounds.tensors.empty())
    run.result.accuracy = accuracy_text(measure_accuracy(run.given, run.ran, run.result));
  return std::move(run.result);
}

int replay(const replay_arguments& given, const cli_context& context) {
  const auto start = std::chrono::steady_clock::now();
  require_place("--json", given.json);
  const auto lib = given.from.open(context);
  std::map<std::string, int> skipped;
  std::vector<replayed> all = load(given, *lib, skipped);
  for (const auto& [kernel, cases] : skipped)
    context.out << fmt::format("{} cases of {} left out: {} has no such kernel\n", cases, kernel, lib->path());
  std::size_t next_case = 0;
  std::size_t next_property = 0;
  const auto next = [&]() -> std::optional<std::string> {
    if (next_case == all.size()) return std::nullopt;
    std::string request = fmt::format("{} {}", next_case, next_property);
    if (++next_property == all[next_case].selected.size()) {
      next_property = 0;
      ++next_case;
    }
    return request;
  };
  const auto serve = [&](const std::string& request) {
    const auto [c, p] = parse(request);
    if (given.accuracy && all[c].selected[p] == &properties().front())
      return verdict_to_json(judge_with_accuracy(*lib, all[c].what));
    return verdict_to_json(check_property(*lib, *all[c].selected[p], all[c].what));
  };
  counts total;
  std::size_t printed = 0;
  progress shown;
  run_workers(given.jobs, given.limit_seconds, serve, next, [&](const work_result& worked) {
    const auto [c, p] = parse(worked.request);
    all[c].verdicts[p] = verdict_of(worked);
    all[c].seconds += worked.seconds;
    --all[c].missing;
    for (; printed < all.size() && all[printed].missing == 0; ++printed) {
      shown.clear();
      print(context.out, all[printed]);
      const outcome came = worst(all[printed]);
      ++(came == outcome::pass      ? total.pass
         : came == outcome::fail    ? total.fail
         : came == outcome::discard ? total.discard
                                    : total.undecided);
    }
    shown.show(fmt::format("{}/{} cases", printed, all.size()));
  });
  shown.clear();
  suite_result result;
  result.total = total;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  context.out << fmt::format("{} cases in {:.1f} s: {} pass, {} fail, {} discard, {} undecided\n", total.total(),
                             result.seconds, total.pass, total.fail, total.discard, total.undecided);
  if (!given.json.empty()) write_by_rename(given.json, replay_json(given, result, all));
  const std::string missing = shortfall(result);
  if (total.fail == 0 && !missing.empty()) context.out << "NOT VERIFIED: " << missing << "\n";
  return exit_status(result);
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
  command->add_option("--jobs", given->jobs, "Number of worker processes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which a check counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->add_option("--json", given->json, "Write the report to this file as JSON. Missing folders are created");
  command->callback([given, &context, &status] { status = replay(*given, context); });
}

}  // namespace assay
