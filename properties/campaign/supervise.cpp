#include "properties/campaign/supervise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <thread>

#include "properties/campaign/corpus_folder.hpp"
#include "properties/campaign/judges.hpp"
#include "properties/campaign/target_counters.hpp"
#include "properties/campaign/triage.hpp"
#include "properties/system/folder_lock.hpp"
#include "properties/system/interrupts.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

/// A place for one process at a time, and what its earlier processes did.
struct slot {
  int number = 0;
  int generation = 0;
  std::unique_ptr<target_process> running;
  std::string prefix;       ///< of its artifacts' names
  bool is_hung = false;     ///< killed, because it ran for too long
  bool is_stopped = false;  ///< killed, because the campaign ends
  std::int64_t executions_before = 0;
};

/// An input to examine.
struct pending {
  fs::path artifact;
  std::optional<complaint> reported;
};

class supervisor {
 public:
  supervisor(const options& given, const library& lib, result& into, const std::function<void(const finding&)>& found)
      : options_(given),
        at_(given.folder),
        result_(into),
        found_(found),
        triage_(given, lib, into),
        shown_(given.progress),
        slots_(static_cast<std::size_t>(given.jobs)) {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].number = static_cast<int>(i);
  }

  void run() {
    for (const fs::path& artifact : failures_in_artifacts())
      examine({artifact, std::nullopt});  // left by a campaign that was killed
    start_ = clock::now();
    constexpr auto tick = std::chrono::milliseconds(20);
    while (step()) std::this_thread::sleep_for(tick);
    shown_.clear();
    result_.seconds = seconds();
    note_growth(true);
    result_.unseen = static_cast<std::int64_t>(failures_in_artifacts().size());
  }

 private:
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
  bool is_stopped() const { return interrupts::seen() || !result_.ended_early.empty(); }

  /// libFuzzer counts whole seconds and takes 0 for no limit. Each slot runs at least one process, however short the
  /// time.
  bool may_start(const slot& s) const {
    return !is_stopped() && (s.generation == 0 || options_.seconds - seconds() >= 1);
  }

  static std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }

  /// Artifacts with this prefix, sorted. Removes slow units, which are not failures.
  std::vector<fs::path> failures_in_artifacts(std::string_view prefix = "") const {
    std::vector<fs::path> files = files_in(at_.artifacts);
    std::erase_if(files, [&](const fs::path& file) {
      const std::string name = file.filename().string();
      if (!name.starts_with(prefix)) return true;
      return name.find("slow-unit-") != std::string::npos && fs::remove(file);
    });
    return files;
  }

  /// Whether there is more to do.
  bool step() {
    bool busy = false;
    for (slot& s : slots_) {
      if (s.running && !s.running->poll()) take_end(s);
      if (s.running) end_if_due(s);
      if (!s.running && may_start(s)) start(s);
      busy = busy || s.running;
    }
    note_growth(false);
    show();
    if (todo_.empty()) return busy;
    const pending next = todo_.front();
    todo_.pop_front();
    examine(next);
    return busy || !todo_.empty();
  }

  /// Kills the process if the campaign is stopped or the process hangs. One whose time is up ends by itself.
  void end_if_due(slot& s) const {
    s.is_stopped = is_stopped();
    s.is_hung = !s.is_stopped && seconds() > options_.seconds + patience_seconds(options_);
    if (s.is_stopped || s.is_hung) s.running->kill();
  }

  void start(slot& s) {
    s.prefix = fmt::format("{}.{}.", s.number, s.generation);
    // libFuzzer's seed has 32 bits, and 0 stands for the clock. Every process of a campaign has another seed.
    const std::string draws = fmt::format("{} {} {}", options_.seed, s.number, s.generation++);
    std::vector<std::string> arguments{
        at_.corpus.string() + "/",
        fmt::format("-artifact_prefix={}/{}", at_.artifacts.string(), s.prefix),
        fmt::format("-seed={}", std::max(1U, fingerprint(draws))),
        fmt::format("-max_total_time={:.0f}", std::max(1.0, std::floor(options_.seconds - seconds()))),
        fmt::format("-max_len={}", options_.max_len),
        "-reload=1",
        "-entropic_scale_per_exec_time=1",  // cases differ a thousandfold in size
        "-print_final_stats=1",
        "-detect_leaks=0",  // kernels cannot leak, and the check after each input halves the speed
    };
    if (!options_.dictionary.empty()) arguments.push_back("-dict=" + options_.dictionary.string());
    command what = target_command(options_, arguments, log_of(s));
    fs::remove(counters_of(s));
    what.environment.push_back(fmt::format("ASSAY_FUZZ_JOB={}", s.number));  // takes the device of its number
    what.environment.push_back("ASSAY_FUZZ_COUNTERS=" + fs::absolute(counters_of(s)).string());
    s.running = std::make_unique<target_process>(what);
    ++result_.processes;
  }

  void take_end(slot& s) {
    const fuzzer_log& log = s.running->log();
    s.executions_before += log.executions;
    result_.process_seconds += s.running->seconds();
    add_counters(counters_of(s), result_.counters);
    int aside = 0;
    std::size_t artifacts = 0;
    for (const fs::path& file : failures_in_artifacts(s.prefix)) {
      aside += put_aside(at_, read_file(file));
      todo_.push_back({file, log.complaint});
      ++artifacts;
    }
    began_ = began_ || log.loaded;
    const bool failed = !s.running->succeeded() && !s.is_stopped && !interrupts::seen();
    judge_start(s, failed, aside, artifacts);
    // Loading the corpus has no time limit: a process that hangs there is not a finding.
    if (failed && artifacts == 0 && (log.loaded || log.complaint || !s.is_hung)) take_lost(s);
    s.running.reset();
  }

  /// Ends a campaign whose processes fail before they have loaded the corpus. Throws if the target does not run at all.
  void judge_start(const slot& s, bool failed, int aside, std::size_t artifacts) {
    const fuzzer_log& log = s.running->log();
    const bool stuck = failed && !log.loaded && aside == 0;
    if (stuck && artifacts == 0 && !log.complaint && !s.is_hung && !began_ && result_.findings.empty())
      throw environment_error(
          fmt::format("{} {}: {}", options_.fuzzed.binary.string(), s.running->end(), log.last_line));
    stuck_ = stuck ? stuck_ + 1 : 0;
    constexpr int patience = 3;
    if (stuck_ >= patience * options_.jobs)
      result_.ended_early = artifacts > 0 ? "every process fails on the empty input, which runs first"
                                          : "every process ends while it loads the corpus, and leaves no input";
  }

  /// Keeps the log of a process that failed and left no input (out of memory, disk or stack): the next process would
  /// overwrite it.
  void take_lost(const slot& s) {
    const fuzzer_log& log = s.running->log();
    complaint failure{"crash", s.running->end() + " and left no input"};
    if (s.is_hung) failure = {"hang", fmt::format("killed after {:.0f} s; left no input", s.running->seconds())};
    if (const finding* f = triage_.take_lost(log.complaint.value_or(failure), log_of(s))) announce(*f);
  }

  fs::path log_of(const slot& s) const { return at_.logs / fmt::format("job{}.txt", s.number); }

  fs::path counters_of(const slot& s) const { return at_.logs / fmt::format("job{}.counters", s.number); }

  void announce(const finding& f) {
    shown_.clear();
    found_(f);
  }

  void examine(const pending& p) {
    shown_.show(fmt::format("examining {}", p.artifact.filename().string()));
    if (const finding* f = triage_.examine(p.artifact, p.reported)) announce(*f);
  }

  growth now() const {
    growth g = best_;
    g.seconds = seconds();
    g.executions = 0;
    for (const slot& s : slots_) {
      g.executions += s.executions_before;
      if (!s.running) continue;
      const fuzzer_log& log = s.running->log();
      g.executions += log.executions;
      g.coverage = std::max(g.coverage, log.coverage);
      g.features = std::max(g.features, log.features);
      g.corpus = std::max(g.corpus, log.corpus);
    }
    return g;
  }

  /// Points at 1, 2, 4, ... seconds and at the end.
  void note_growth(bool at_end) {
    best_ = now();
    if (!at_end && best_.seconds < next_point_) return;
    while (next_point_ <= best_.seconds) next_point_ *= 2;
    result_.points.push_back(best_);
  }

  void show() {
    shown_.show(fmt::format("{:.0f} executions/s, {} edges, {} features, {} corpus entries, {} findings",
                            static_cast<double>(best_.executions) / std::max(1.0, best_.seconds), best_.coverage,
                            best_.features, best_.corpus, result_.findings.size()));
  }

  const options& options_;
  folders at_;
  result& result_;
  const std::function<void(const finding&)>& found_;
  triage triage_;
  progress shown_;
  std::vector<slot> slots_;
  std::deque<pending> todo_;
  growth best_;
  double next_point_ = 1;
  int stuck_ = 0;
  bool began_ = false;  ///< some process has loaded the corpus
  clock::time_point start_ = clock::now();
};

}  // namespace

result run(const options& given, const library& lib, const std::function<void(const finding&)>& found) {
  const folders at(given.folder);
  std::error_code error;
  for (const fs::path& folder : {at.corpus, at.failing, at.artifacts, at.findings, at.logs})
    if (fs::create_directories(folder, error); error)
      throw environment_error(fmt::format("{}: cannot be created: {}", folder.string(), error.message()));
  const folder_lock alone(given.folder);
  const interrupts noted;
  result done;
  readmit(given, lib);
  plant_seeds(given, done);
  supervisor(given, lib, done, found).run();
  return done;
}

}  // namespace assay::campaign
