#include "properties/nightly/stages.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "properties/case/case.hpp"
#include "properties/system/child_process.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

/// A run on two platforms gives its seconds to the first one's cases. The second one's, and their comparison, where
/// nothing checks loads and stores, take about as long again.
constexpr double share_of_first_platform = 0.5;

std::vector<std::string> with_seconds(std::vector<std::string> arguments, double seconds) {
  for (std::string& a : arguments) {
    if (a == "{seconds}") a = fmt::format("{:.0f}", std::max(1.0, seconds));
    if (a == "{seconds of the first}") a = fmt::format("{:.0f}", std::max(1.0, share_of_first_platform * seconds));
  }
  return arguments;
}

/// Added to a stage's time for its last case, shrinking and the report.
constexpr double grace_seconds = 600;

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

night run_night(const night_options& given, const fs::path& program, const fs::path& work,
                const std::function<void(const stage_plan&)>& begin) {
  const auto start = clock::now();
  night_options options = given;
  if (options.mutants == 0 && fs::exists(program.parent_path() / mutants_program))
    options.mutants = static_cast<std::int64_t>(options.minutes);
  night n{fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          options.minutes,
          options.seed,
          {},
          options.platform};
  fs::create_directories(work);
  const std::vector<stage_plan> plan = plan_night(options, work);
  double shares = 0;
  for (const stage_plan& p : plan) shares += p.left_out.empty() ? p.share : 0;
  for (const stage_plan& p : plan) {
    if (!p.left_out.empty()) {
      night_stage& stage = n.stages.emplace_back();
      stage.name = p.name;
      stage.left_out = p.left_out;
      continue;
    }
    begin(p);
    const double left = 60 * options.minutes - std::chrono::duration<double>(clock::now() - start).count();
    const double given = p.share > 0 ? left * p.share / shares : 60 * options.minutes;
    shares -= p.share;
    night_stage stage;
    stage.name = p.name;
    stage.arguments = with_seconds(p.arguments, given);
    stage.log = fs::path(p.report).replace_extension(".log").string();
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
