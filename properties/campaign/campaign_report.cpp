#include "properties/campaign/campaign_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "properties/campaign/target_counters.hpp"

namespace assay::campaign {
namespace {

namespace json = boost::json;

std::int64_t executions(const result& done) {
  return done.points.empty() ? 0 : done.points.back().executions;
}

double per_second(const result& done) {
  return static_cast<double>(executions(done)) / std::max(1e-9, done.seconds);
}

/// Per second of process time; a process has a core of its own unless there are more jobs than cores.
double per_second_and_process(const result& done) {
  return static_cast<double>(executions(done)) / std::max(1e-9, done.process_seconds);
}

std::int64_t of_now(const result& done) {
  return std::ranges::count_if(done.findings, [](const finding& f) { return !f.passes; });
}

std::string finding_text(const finding& f) {
  std::string text = finding_line(f) + "\n";
  if (f.is_old)
    return text +
           fmt::format("  found by an earlier campaign; {}; {} more input{} failed like this\n",
                       f.passes  ? "passes now"
                       : f.flaky ? "kept until its file is removed"
                                 : "still fails",
                       f.alike, f.alike == 1 ? "" : "s") +
           (f.replay.empty() ? f.shape : f.replay + "\n");
  text += fmt::format("  after {:.1f} s; {} input{} failed like this; {} steps of minimization\n", f.after_seconds,
                      f.alike, f.alike == 1 ? "" : "s", f.steps);
  text += f.shape + (f.shape.ends_with('\n') ? "" : "\n");
  return f.replay.empty() ? text : text + f.replay + "\n";
}

std::string verdict_line(const result& done) {
  if (const auto found = of_now(done); found > 0)
    return fmt::format("DEFECT: inputs failed in {} way{}", found, found == 1 ? "" : "s");
  if (const std::string missing = shortfall(done); !missing.empty()) return "NOT VERIFIED: " + missing;
  return fmt::format("no defect in {} executions", executions(done));
}

}  // namespace

std::string finding_line(const finding& f) {
  return fmt::format("FINDING {}{}: {}: {}", f.flaky ? "(flaky) " : "", f.file.string(), f.complaint.origin,
                     f.complaint.what);
}

std::string shortfall(const result& done) {
  if (done.unseen > 0)
    return fmt::format("{} input{} that ended a process {} not examined", done.unseen, done.unseen == 1 ? "" : "s",
                       done.unseen == 1 ? "was" : "were");
  if (executions(done) == 0) return "nothing was executed";
  const auto count = [&](const char* name) {
    const auto at = done.counters.find(name);
    return at == done.counters.end() ? std::int64_t{0} : at->second;
  };
  std::vector<side> sides = sides_of(done.counters);
  if (sides.empty()) sides = {{"", count("runs"), count("decided"), count("discarded"), count("undecided")}};
  for (const side& s : sides)
    if (s.runs > 0 && !(static_cast<double>(s.decided) >= min_decided_share * static_cast<double>(s.runs)))
      return fmt::format("{}{} of {} runs were decided, fewer than {:.0f}%; {} were discarded, {} undecided",
                         s.platform.empty() ? "" : s.platform + ": ", s.decided, s.runs, 100 * min_decided_share,
                         s.discarded, s.undecided);
  return {};
}

std::string report_text(const options& given, const result& done) {
  std::string text =
      fmt::format("{:>8} {:>12} {:>8} {:>9} {:>8}\n", "seconds", "executions", "edges", "features", "corpus");
  for (const growth& g : done.points)
    text +=
        fmt::format("{:>8.0f} {:>12} {:>8} {:>9} {:>8}\n", g.seconds, g.executions, g.coverage, g.features, g.corpus);
  if (!done.counters.empty()) text += "\n";
  for (const auto& [name, hits] : done.counters)
    if (name.find(':') == std::string::npos) text += fmt::format("{:>12} {}\n", hits, name);
  text += "\n";
  for (const finding& f : done.findings) text += finding_text(f) + "\n";
  if (of_now(done) > 0 && done.unseen > 0) text += fmt::format("NOT VERIFIED: {}\n", shortfall(done));
  if (!done.ended_early.empty()) text += fmt::format("ended early: {}\n", done.ended_early);
  text += fmt::format(
      "{} executions in {:.1f} s ({:.1f}/s, {:.1f}/s per process) by {} processes, {} at a time; {} "
      "seeds, {} too long\n",
      executions(done), done.seconds, static_cast<double>(executions(done)) / std::max(1e-9, done.seconds),
      per_second_and_process(done), done.processes, given.jobs, done.seeds, done.seeds_outside);
  for (const side& s : sides_of(done.counters))
    text += fmt::format("{}: {} runs, {} decided, {:.1f} executions/s of the time that it took\n", s.platform, s.runs,
                        s.decided, s.per_second());
  return text + fmt::format("{} (seed {}, state in {})\n", verdict_line(done), given.seed, given.folder.string());
}

std::string report_json(const options& given, const result& done) {
  json::array findings;
  json::array passing;
  for (const finding& f : done.findings)
    (f.passes ? passing : findings)
        .push_back({{"name", f.name},
                    {"origin", f.complaint.origin},
                    {"what", f.complaint.what},
                    {"file", f.file.string()},
                    {"replay", f.replay},
                    {"flaky", f.flaky},
                    {"of_before", f.is_old},
                    {"alike", f.alike},
                    {"steps", f.steps},
                    {"after_seconds", f.after_seconds}});
  json::array points;
  for (const growth& g : done.points)
    points.push_back({{"seconds", g.seconds},
                      {"executions", g.executions},
                      {"edges", g.coverage},
                      {"features", g.features},
                      {"corpus", g.corpus}});
  json::object counters;
  for (const auto& [name, hits] : done.counters) counters[name] = hits;
  json::array platforms;
  for (const side& s : sides_of(done.counters))
    platforms.push_back({{"platform", s.platform},
                         {"runs", s.runs},
                         {"decided", s.decided},
                         {"seconds", s.seconds},
                         {"executions_per_second", s.per_second()}});
  const growth last = done.points.empty() ? growth{} : done.points.back();
  const json::object report{{"version", 1},
                            {"target", given.fuzzed.name},
                            {"library", given.library},
                            {"seed", given.seed},
                            {"jobs", given.jobs},
                            {"folder", given.folder.string()},
                            {"seconds", done.seconds},
                            {"process_seconds", done.process_seconds},
                            {"processes", done.processes},
                            {"seeds", done.seeds},
                            {"executions", executions(done)},
                            {"executions_per_second", per_second(done)},
                            {"executions_per_second_and_process", per_second_and_process(done)},
                            {"edges", last.coverage},
                            {"features", last.features},
                            {"corpus", last.corpus},
                            {"ended_early", done.ended_early},
                            {"not_looked_into", done.unseen},
                            {"shortfall", shortfall(done)},
                            {"points", std::move(points)},
                            {"counters", std::move(counters)},
                            {"by_platform", std::move(platforms)},
                            {"findings", std::move(findings)},
                            {"passing_now", std::move(passing)}};
  return json::serialize(report) + "\n";
}

int exit_status(const result& done) {
  return of_now(done) > 0 || !shortfall(done).empty() ? 1 : 0;
}

}  // namespace assay::campaign
