#include "properties/suite/replay_cases.hpp"
#include "properties/suite/sufficiency.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <charconv>
#include <chrono>

#include "properties/run/accuracy.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/hint.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/report.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/worker.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// "case property", both by number.
std::pair<std::size_t, std::size_t> parse(const std::string& request) {
  std::pair<std::size_t, std::size_t> at;
  const char* end = request.data() + request.size();
  const char* rest = std::from_chars(request.data(), end, at.first).ptr;
  std::from_chars(rest + 1, end, at.second);
  return at;
}

/// Requests for all properties of all cases, one after the other.
class requests {
 public:
  explicit requests(const std::vector<replayed_case>& cases) : cases_(cases) {}

  std::optional<std::string> next() {
    if (case_ == cases_.size()) return std::nullopt;
    std::string request = fmt::format("{} {}", case_, property_);
    if (++property_ == cases_[case_].selected.size()) {
      property_ = 0;
      ++case_;
    }
    return request;
  }

 private:
  const std::vector<replayed_case>& cases_;
  std::size_t case_ = 0;
  std::size_t property_ = 0;
};

/// The verdict of the enclosure, and the distance of the outputs to exact attention.
verdict judge_with_accuracy(const library& lib, const attention_case& c) {
  detailed_run run = run_in_detail(lib, c);
  if (!run.bounds.tensors.empty())
    run.result.accuracy = accuracy_text(measure_accuracy(run.given, run.ran, run.result));
  return std::move(run.result);
}

/// Of a device whose process ended: whether the case does it again, in a process of its own.
std::string what_it_does_again(const worker::serve_function& serve, double limit_seconds, const work_result& worked,
                               const verdict& first) {
  const verdict second = verdict_of(isolated(serve, limit_seconds).ask(worked.request));
  return second.result == first.result && second.origin == first.origin ? "; again in a fresh process"
                                                                        : "; not again in a fresh process: it is flaky";
}

}  // namespace

outcome replayed_case::result() const {
  outcome worst = outcome::pass;
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const outcome one = verdicts[i].result;
    if (one == outcome::fail) return one;
    const bool counts = i == 0 || one != outcome::discard;
    if (counts && one != outcome::pass) worst = one;
  }
  return worst;
}

std::vector<const property*> default_properties(const attention_case& c, bool is_named) {
  std::vector<const property*> selected;
  for (const property& p : properties())
    if (applies(p, c.kernel) &&
        (is_named || &p == &enclosure_property() || c.why.starts_with(std::string(p.name) + ":")))
      selected.push_back(&p);
  return selected;
}

std::vector<replayed_case> read_replays(const std::vector<std::string>& places, const library& lib,
                                        const replay_options& options, std::map<std::string, int>& skipped) {
  std::vector<replayed_case> cases;
  for (const fs::path place : places) {
    const std::vector<fs::path> files = files_below(place, ".json");
    if (files.empty()) throw case_error(fmt::format("{}: holds no .json file", place.string()));
    for (const fs::path& file : files) {
      replayed_case r{file, from_json(read_file(file), file.string()), {}, {}};
      const bool is_named = !fs::is_directory(place);
      if (!lib.has(r.stored.kernel)) {
        if (is_named)
          throw case_error(fmt::format("{}: kernel: {} has no kernel '{}' (see: assay list kernels)", file.string(),
                                       lib.path(), r.stored.kernel));
        ++skipped[r.stored.kernel];
        continue;
      }
      r.selected = options.selected.empty() ? default_properties(r.stored, is_named) : options.selected;
      r.verdicts.resize(r.selected.size());
      r.missing = r.selected.size();
      cases.push_back(std::move(r));
    }
  }
  if (cases.empty())
    throw case_error(fmt::format("no case is for a kernel of {} ({})", lib.path(), fmt::join(lib.kernels(), ", ")));
  return cases;
}

suite_result replay(const library& lib, std::vector<replayed_case>& cases, const replay_options& options,
                    const std::function<void(const replayed_case&)>& done) {
  const auto start = std::chrono::steady_clock::now();
  suite_result result;
  requests all(cases);
  progress shown(options.progress);
  const auto serve = [&](const std::string& request) {
    const auto [c, p] = parse(request);
    if (options.accuracy && cases[c].selected[p] == &enclosure_property())
      return verdict_to_json(judge_with_accuracy(lib, cases[c].stored));
    verdict v = check_property(lib, *cases[c].selected[p], cases[c].stored);
    // Within the case's own limit of time.
    constexpr double quick_seconds = 3;
    if (v.kernel_seconds + v.oracle_seconds < quick_seconds) v.hint = hint_for(lib, cases[c].stored, v);
    tell_first_load(lib, cases[c].stored, v);
    return verdict_to_json(v);
  };
  std::size_t next_done = 0;
  const auto take = [&](const work_result& worked) {
    const auto [c, p] = parse(worked.request);
    cases[c].verdicts[p] = verdict_of(worked);
    if (!worked.reply && lib.tensors_on() != kDLCPU)
      cases[c].verdicts[p].what += what_it_does_again(serve, options.limit_seconds, worked, cases[c].verdicts[p]);
    cases[c].seconds += worked.seconds;
    result.accesses_checked += cases[c].verdicts[p].accesses_checked;
    if (cases[c].verdicts[p].could_check)
      result.checked[cases[c].stored.kernel] += cases[c].verdicts[p].accesses_checked;
    --cases[c].missing;
    for (; next_done < cases.size() && cases[next_done].missing == 0; ++next_done) {
      shown.clear();
      ++result.total.of(cases[next_done].result());
      done(cases[next_done]);
    }
    shown.show(fmt::format("{}/{} cases", next_done, cases.size()));
  };
  run_workers(options.jobs, options.limit_seconds, serve, [&] { return all.next(); }, take);
  shown.clear();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string replay_json(const std::string& library_arguments, const suite_result& result,
                        const std::vector<replayed_case>& cases) {
  json::array findings;
  for (const replayed_case& r : cases)
    for (std::size_t i = 0; i < r.selected.size(); ++i) {
      const verdict& v = r.verdicts[i];
      if (v.result != outcome::fail) continue;
      const std::string arguments = fmt::format("{} --property {}", library_arguments, r.selected[i]->name);
      findings.push_back(json::object{{"kernel", r.stored.kernel},
                                      {"property", r.selected[i]->name},
                                      {"origin", v.origin},
                                      {"what", v.what},
                                      {"hint", v.hint},
                                      {"file", r.file.string()},
                                      {"replay", replay_line(arguments, r.file)}});
    }
  return json::serialize(json::object{{"version", 1},
                                      {"verified", exit_status(result) == 0},
                                      {"total", json::value_from(result.total)},
                                      {"seconds", result.seconds},
                                      {"findings", std::move(findings)}}) +
         "\n";
}

}  // namespace assay
