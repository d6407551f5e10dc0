#include "properties/campaign/campaign_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

namespace assay::campaign {
namespace {

namespace json = boost::json;

std::int64_t executions(const result& came) {
  return came.points.empty() ? 0 : came.points.back().executions;
}

double per_second(const result& came) {
  return static_cast<double>(executions(came)) / std::max(1e-9, came.seconds);
}

/// Per second of a process: a core each, where there are as many cores as jobs.
double per_second_and_process(const result& came) {
  return static_cast<double>(executions(came)) / std::max(1e-9, came.process_seconds);
}

std::int64_t of_now(const result& came) {
  return std::ranges::count_if(came.findings, [](const finding& f) { return !f.passes; });
}

std::string finding_text(const finding& f) {
  std::string text = finding_line(f) + "\n";
  if (f.is_old)
    return text +
           fmt::format("  of a campaign before, {}; {} more input{} failed like this\n",
                       f.passes  ? "which passes now"
                       : f.flaky ? "until its file is removed"
                                 : "which does not pass",
                       f.alike, f.alike == 1 ? "" : "s") +
           (f.replay.empty() ? f.shape : f.replay + "\n");
  text += fmt::format("  after {:.1f} s; {} input{} failed like this; {} steps of minimization\n", f.after_seconds,
                      f.alike, f.alike == 1 ? "" : "s", f.steps);
  text += f.shape + (f.shape.ends_with('\n') ? "" : "\n");
  return f.replay.empty() ? text : text + f.replay + "\n";
}

std::string verdict_line(const result& came) {
  if (const auto found = of_now(came); found > 0)
    return fmt::format("DEFECT: inputs failed in {} way{}", found, found == 1 ? "" : "s");
  if (const std::string lacks = shortfall(came); !lacks.empty()) return "NOT VERIFIED: " + lacks;
  return fmt::format("no defect in {} executions", executions(came));
}

}  // namespace

std::string finding_line(const finding& f) {
  return fmt::format("FINDING {}{}: {}: {}", f.flaky ? "(flaky) " : "", f.file.string(), f.is.origin, f.is.what);
}

std::string shortfall(const result& came) {
  if (came.unseen > 0)
    return fmt::format("{} input{} that ended a process {} not looked into", came.unseen, came.unseen == 1 ? "" : "s",
                       came.unseen == 1 ? "was" : "were");
  if (executions(came) == 0) return "nothing was executed";
  const auto count = [&](const char* name) {
    const auto at = came.counters.find(name);
    return at == came.counters.end() ? std::int64_t{0} : at->second;
  };
  const std::int64_t runs = count("runs"), decided = count("decided");
  if (runs > 0 && !(static_cast<double>(decided) >= min_decided_share * static_cast<double>(runs)))
    return fmt::format("{} of {} runs were decided, fewer than {:.0f}%; {} were discarded, {} undecided", decided, runs,
                       100 * min_decided_share, count("discarded"), count("undecided"));
  return {};
}

std::string report_text(const options& given, const result& came) {
  std::string text =
      fmt::format("{:>8} {:>12} {:>8} {:>9} {:>8}\n", "seconds", "executions", "edges", "features", "corpus");
  for (const growth& g : came.points)
    text +=
        fmt::format("{:>8.0f} {:>12} {:>8} {:>9} {:>8}\n", g.seconds, g.executions, g.coverage, g.features, g.corpus);
  if (!came.counters.empty()) text += "\n";
  for (const auto& [name, hits] : came.counters) text += fmt::format("{:>12} {}\n", hits, name);
  text += "\n";
  for (const finding& f : came.findings) text += finding_text(f) + "\n";
  if (of_now(came) > 0 && came.unseen > 0) text += fmt::format("NOT VERIFIED: {}\n", shortfall(came));
  if (!came.ended_early.empty()) text += fmt::format("ended early: {}\n", came.ended_early);
  text += fmt::format(
      "{} executions in {:.1f} s ({:.1f}/s, {:.1f}/s per process) by {} processes, {} at a time; {} "
      "seeds, {} too long\n",
      executions(came), came.seconds, static_cast<double>(executions(came)) / std::max(1e-9, came.seconds),
      per_second_and_process(came), came.processes, given.jobs, came.seeds, came.seeds_outside);
  return text + fmt::format("{} (seed {}, state in {})\n", verdict_line(came), given.seed, given.folder.string());
}

std::string report_json(const options& given, const result& came) {
  json::array findings;
  json::array passing;
  for (const finding& f : came.findings)
    (f.passes ? passing : findings)
        .push_back({{"name", f.name},
                    {"origin", f.is.origin},
                    {"what", f.is.what},
                    {"file", f.file.string()},
                    {"replay", f.replay},
                    {"flaky", f.flaky},
                    {"of_before", f.is_old},
                    {"alike", f.alike},
                    {"steps", f.steps},
                    {"after_seconds", f.after_seconds}});
  json::array points;
  for (const growth& g : came.points)
    points.push_back({{"seconds", g.seconds},
                      {"executions", g.executions},
                      {"edges", g.coverage},
                      {"features", g.features},
                      {"corpus", g.corpus}});
  json::object counters;
  for (const auto& [name, hits] : came.counters) counters[name] = hits;
  const growth last = came.points.empty() ? growth{} : came.points.back();
  const json::object report{{"version", 1},
                            {"target", given.fuzzed.name},
                            {"library", given.library},
                            {"seed", given.seed},
                            {"jobs", given.jobs},
                            {"folder", given.folder.string()},
                            {"seconds", came.seconds},
                            {"process_seconds", came.process_seconds},
                            {"processes", came.processes},
                            {"seeds", came.seeds},
                            {"executions", executions(came)},
                            {"executions_per_second", per_second(came)},
                            {"executions_per_second_and_process", per_second_and_process(came)},
                            {"edges", last.coverage},
                            {"features", last.features},
                            {"corpus", last.corpus},
                            {"ended_early", came.ended_early},
                            {"not_looked_into", came.unseen},
                            {"shortfall", shortfall(came)},
                            {"points", std::move(points)},
                            {"counters", std::move(counters)},
                            {"findings", std::move(findings)},
                            {"passing_now", std::move(passing)}};
  return json::serialize(report) + "\n";
}

int exit_status(const result& came) {
  return of_now(came) > 0 || !shortfall(came).empty() ? 1 : 0;
}

}  // namespace assay::campaign
