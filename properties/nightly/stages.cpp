#include "properties/nightly/stages.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include "properties/case/case.hpp"
#include "properties/system/child_process.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

/// Numbers of reports that nights compare, and their names in the comparison.
constexpr std::pair<const char*, const char*> compared[] = {
    {"/total/pass", "cases passed"},
    {"/cases_per_second", "cases/s"},
    {"/suite/cases_per_second", "suite cases/s"},
    {"/tiny/cases_per_second", "tiny cases/s"},
    {"/caught", "faults caught"},
    {"/mutation_score", "mutation score"},
    {"/executions", "executions"},
    {"/executions_per_second_and_process", "executions/s"},
};

std::string text(const json::object& o, const char* key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->as_string()) : std::string();
}

/// The growth of a campaign at its last point.
void read_growth(const json::value& report, night_stage& stage) {
  boost::system::error_code error;
  const json::value* points = report.find_pointer("/points", error);
  if (points == nullptr || !points->is_array() || points->as_array().empty()) return;
  const json::value& last = points->as_array().back();
  for (const char* name : {"edges", "features", "corpus"})
    if (const json::value* v = last.is_object() ? last.as_object().if_contains(name) : nullptr;
        v != nullptr && v->is_number())
      stage.numbers[name] = v->to_number<double>();
}

std::vector<std::string> with_seconds(std::vector<std::string> arguments, double seconds) {
  for (std::string& a : arguments)
    if (a == "{seconds}") a = fmt::format("{:.0f}", std::max(1.0, seconds));
  return arguments;
}

/// The name of a stage's files.
std::string file_stem(std::string name) {
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// Added to a stage's time for its last case, shrinking and the report.
constexpr double grace_seconds = 600;

/// Faults that the report of `faults` lists as not caught.
void read_faults_missed(const json::object& report, night_stage& stage) {
  const json::value* faults = report.if_contains("faults");
  if (faults == nullptr || !faults->is_array()) return;
  for (const json::value& v : faults->as_array()) {
    const json::object* fault = v.if_object();
    const json::value* caught = fault != nullptr ? fault->if_contains("caught") : nullptr;
    if (caught != nullptr && caught->is_bool() && !caught->as_bool())
      stage.findings.push_back(
          {stage.name, "", "fault not caught", text(*fault, "fault"), "", "./assay faults " + text(*fault, "fault")});
  }
}

/// Runs the stage's command, given `seconds`.
void run_stage(const stage_plan& p, double seconds, const fs::path& program, night_stage& stage) {
  command what{{program.string()}, {}, stage.log};
  what.arguments.insert(what.arguments.end(), stage.arguments.begin(), stage.arguments.end());
  if (stage.arguments.front() == mutants_program) {
    what.arguments.erase(what.arguments.begin());
    what.arguments.front() = (program.parent_path() / mutants_program).string();
  }
  const child_end end = run_child(what, std::max(1.0, seconds) + grace_seconds);
  stage.status = end.status;
  stage.seconds = end.seconds;
  if (fs::exists(p.report)) {
    read_report(p.report, stage);
    stage.reported = true;
  } else if (stage.status == 0) {  // it may have verified nothing
    throw case_error("the stage wrote no report");
  }
}

}  // namespace

std::vector<stage_plan> plan_night(const night_options& o, const fs::path& work) {
  const std::string seed = fmt::format("{}", o.seed), jobs = fmt::format("{}", o.jobs);
  const auto report = [&](const std::string& name) { return (work / (file_stem(name) + ".json")).string(); };
  const fs::path old_findings = o.folder / "findings";
  std::vector<stage_plan> plan{
      {"corpus", {"replay", o.corpus.string(), "--jobs", jobs, "--json", report("corpus")}, report("corpus"), 0},
      {"faults",
       // With its default seed, for which the patches state how many cases a fault needs.
       {"faults", "--jobs", jobs, "--findings", (work / "faults").string(), "--json", report("faults")},
       report("faults"),
       0},
      {"bench", {"bench", "--json", report("bench")}, report("bench"), 0},
      {"properties",
       {"run", "--seconds", "{seconds}", "--seed", seed, "--jobs", jobs, "--findings", old_findings.string(), "--json",
        report("properties"), "--junit", (work / "properties.xml").string()},
       report("properties"),
       // Half of the time for cases drawn evenly, half for cases that coverage guides.
       std::max<double>(1, static_cast<double>(o.targets.size()))},
  };
  if (o.mutants > 0)
    plan.insert(plan.begin() + 2, {"mutants",
                                   {mutants_program, "--sample", fmt::format("{}", o.mutants), "--seed", seed, "--jobs",
                                    jobs, "--work", (work / "mutants").string(), "--json", report("mutants")},
                                   report("mutants"),
                                   0});
  if (fs::exists(old_findings) && !fs::is_empty(old_findings))
    plan.insert(plan.begin() + 1,
                {old_findings_stage,
                 {"replay", old_findings.string(), "--jobs", jobs, "--json", report(old_findings_stage)},
                 report(old_findings_stage),
                 0});
  for (const std::string& target : o.targets)
    plan.push_back({target,
                    {"fuzz", target, "--seconds", "{seconds}", "--seed", seed, "--jobs", jobs, "--dir",
                     (o.folder / "campaigns" / target).string(), "--json", report(target)},
                    report(target),
                    1});
  return plan;
}

void read_report(const fs::path& report, night_stage& stage) {
  const std::string written = read_file(report);
  boost::system::error_code error;
  const json::value parsed = json::parse(written, error);
  if (error || !parsed.is_object()) throw case_error(report.string() + ": must be a JSON object");
  for (const auto& [pointer, name] : compared)
    if (const json::value* v = parsed.find_pointer(pointer, error); v != nullptr && v->is_number())
      stage.numbers[name] = v->to_number<double>();
  read_growth(parsed, stage);
  if (const json::value* found = parsed.as_object().if_contains("findings"); found != nullptr && found->is_array())
    for (const json::value& v : found->as_array())
      if (const json::object* f = v.if_object()) {
        const bool is_reproduced = !text(*f, "origin").empty();
        stage.findings.push_back({stage.name, text(*f, "kernel"), text(*f, is_reproduced ? "origin" : "failed_as"),
                                  is_reproduced ? text(*f, "what") : text(*f, "seen") + ", but not when repeated",
                                  text(*f, "file"), text(*f, "replay")});
      }
  read_faults_missed(parsed.as_object(), stage);
}

night run_night(const night_options& given, const fs::path& program, const fs::path& work,
                const std::function<void(const stage_plan&)>& begin) {
  const auto start = clock::now();
  night_options options = given;
  if (options.mutants == 0 && fs::exists(program.parent_path() / mutants_program))
    options.mutants = static_cast<std::int64_t>(options.minutes);
  night n{fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), options.minutes, options.seed, {}};
  fs::create_directories(work);
  const std::vector<stage_plan> plan = plan_night(options, work);
  double shares = 0;
  for (const stage_plan& p : plan) shares += p.share;
  for (const stage_plan& p : plan) {
    begin(p);
    const double left = 60 * options.minutes - std::chrono::duration<double>(clock::now() - start).count();
    const double given = p.share > 0 ? left * p.share / shares : 60 * options.minutes;
    shares -= p.share;
    night_stage stage;
    stage.name = p.name;
    stage.arguments = with_seconds(p.arguments, given);
    stage.log = (work / (file_stem(p.name) + ".log")).string();
    try {
      run_stage(p, given, program, stage);
    } catch (const std::exception& e) {  // the other stages still count
      stage.status = std::max(stage.status, 1);
      stage.findings.push_back({p.name, "", "report", e.what(), "", ""});
    }
    if (stage.status != 0 && stage.findings.empty())
      stage.findings.push_back({p.name, "", "status", status_text(stage.status), "", ""});
    n.stages.push_back(std::move(stage));
  }
  return n;
}

}  // namespace assay
