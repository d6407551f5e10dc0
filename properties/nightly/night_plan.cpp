#include <fmt/format.h>

#include <algorithm>

#include "properties/campaign/target.hpp"
#include "properties/nightly/stages.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The name of a stage's files.
std::string file_stem(std::string name) {
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// Plans a night's stages, of which one after the other is added.
class planner {
 public:
  planner(const night_options& options, const fs::path& work)
      : o_(options), work_(work), jobs_(fmt::format("{}", options.jobs)), seed_(fmt::format("{}", options.seed)) {}

  std::vector<stage_plan> plan() {
    add("corpus", {"replay", o_.corpus.string(), "--jobs", jobs_}, both());
    if (fs::exists(old_findings()) && !fs::is_empty(old_findings()))
      add(old_findings_stage, {"replay", old_findings().string(), "--jobs", jobs_}, both());
    // With its default seed, for which the patches state how many cases a fault needs.
    stage_plan& faults = add("faults", {"faults", "--jobs", jobs_, "--findings", (work_ / "faults").string()}, it());
    if (o_.platform == "amd") faults.left_out = "the build makes no faulty kernels for AMD's GPUs";
    add_mutants();
    add("bench", {"bench"}, it());
    add_sanitizer();
    deal();
    add_properties();
    for (const std::string& target : o_.targets) add_campaign(target);
    return std::move(plan_);
  }

 private:
  bool is_cpu() const { return o_.platform == "cpu"; }
  fs::path old_findings() const { return o_.folder / "findings"; }
  /// What chooses the kernels: of the platform, or of it beside the cpu platform.
  std::vector<std::string> it() const {
    return is_cpu() ? std::vector<std::string>{} : std::vector<std::string>{"--platform", o_.platform};
  }
  std::vector<std::string> both() const {
    return is_cpu() ? std::vector<std::string>{} : std::vector<std::string>{"--platform", "cpu," + o_.platform};
  }

  stage_plan& add(const std::string& name, std::vector<std::string> arguments, const std::vector<std::string>& of) {
    const fs::path report = work_ / (file_stem(name) + ".json");
    arguments.insert(arguments.end(), of.begin(), of.end());
    arguments.insert(arguments.end(), {"--json", report.string()});
    return plan_.emplace_back(stage_plan{.name = name, .arguments = std::move(arguments), .report = report});
  }

  void add_mutants() {
    if (o_.mutants <= 0) return;
    stage_plan& made = add("mutants",
                           {mutants_program, "--sample", fmt::format("{}", o_.mutants), "--seed", seed_, "--jobs",
                            jobs_, "--work", (work_ / "mutants").string()},
                           {});
    if (!is_cpu()) made.left_out = "mutants are made of the cpu kernels";
  }

  void add_sanitizer() {
    if (is_cpu()) return;
    stage_plan& made = add("compute-sanitizer",
                           {"faults", "--compute-sanitizer", "--corpus", o_.corpus.string(), "--findings",
                            (work_ / "compute-sanitizer").string()},
                           it());
    if (o_.platform != "nvidia")
      made.left_out = "it is for NVIDIA's GPUs";
    else if (o_.sanitizer.empty())
      made.left_out = "skipped: no compute-sanitizer on PATH";
  }

  void add_properties() {
    // A report of two platforms is no JUnit XML.
    std::vector<std::string> arguments{"run",    "--seconds",  is_cpu() ? "{seconds}" : "{seconds of the first}",
                                       "--seed", seed_,        "--jobs",
                                       jobs_,    "--findings", old_findings().string()};
    if (o_.shards > 1) arguments.insert(arguments.end(), {"--shard", fmt::format("{}/{}", o_.shard, o_.shards)});
    stage_plan& made = add("properties", std::move(arguments), both());
    if (is_cpu()) made.arguments.insert(made.arguments.end(), {"--junit", (work_ / "properties.xml").string()});
    // Half of the time for cases drawn evenly, half for cases that coverage guides.
    std::int64_t campaigns = 0;
    for (std::size_t i = 0; i < o_.targets.size(); ++i)
      campaigns += is_mine(i) && reason(o_.targets[i]).empty() ? 1 : 0;
    made.share = static_cast<double>(std::max<std::int64_t>(1, campaigns));
  }

  /// Why the target is not fuzzed; empty if it is.
  std::string reason(const std::string& target) const {
    if (is_cpu()) return {};
    const bool judges_cases = !campaign::target_named(target).kernel.empty();
    return judges_cases ? "" : "it runs on the cpu platform alone";
  }

  void add_campaign(const std::string& target) {
    const std::string state = is_cpu() ? target : target + "_" + o_.platform;
    stage_plan& made = add(target,
                           {"fuzz", target, "--seconds", "{seconds}", "--seed", seed_, "--jobs", jobs_, "--dir",
                            (o_.folder / "campaigns" / state).string()},
                           it());
    made.left_out = reason(target);
    if (made.left_out.empty() && !is_mine(campaigns_)) made.left_out = elsewhere(campaigns_);
    ++campaigns_;
    made.share = 1;
  }

  bool is_mine(std::size_t number) const { return static_cast<std::int64_t>(number) % o_.shards == o_.shard - 1; }
  std::string elsewhere(std::size_t number) const {
    return fmt::format("shard {}/{} has it", static_cast<std::int64_t>(number) % o_.shards + 1, o_.shards);
  }

  /// Gives each of the stages so far to one machine, in turn. Old findings are each machine's own.
  void deal() {
    std::size_t number = 0;
    for (stage_plan& p : plan_) {
      if (!p.left_out.empty() || p.name == old_findings_stage) continue;
      if (!is_mine(number)) p.left_out = elsewhere(number);
      ++number;
    }
  }

  const night_options& o_;
  fs::path work_;
  std::string jobs_, seed_;
  std::vector<stage_plan> plan_;
  std::size_t campaigns_ = 0;
};

}  // namespace

std::vector<stage_plan> plan_night(const night_options& options, const fs::path& work) {
  return planner(options, work).plan();
}

}  // namespace assay
