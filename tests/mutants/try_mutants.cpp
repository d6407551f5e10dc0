#include "tests/mutants/try_mutants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <random>
#include <set>

#include "properties/system/child_process.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/worker.hpp"
#include "properties/system/write_file.hpp"

namespace assay::mutants {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// How a run of the suite ended.
struct suite_end {
  int status = 0;
  std::int64_t failed = 0;
  std::string first;  ///< what the first finding says
  double seconds = 0;
};

/// Seconds of processor time after which a case counts as hung. A case of the suite takes a few at most.
constexpr int case_limit_seconds = 20;

suite_end run_suite_on(const mutation_options& o, const fs::path& library, const kernel_recipe& kernel,
                       std::int64_t cases, const fs::path& folder) {
  const fs::path report = folder / "run.json";
  fs::remove(report);
  const command what{{o.program.string(), "run",
                      "--library",        library.string(),
                      "--kernel",         kernel.name,
                      "--types",          kernel.types,
                      "--cases",          std::to_string(cases),
                      "--seed",           std::to_string(o.seed),
                      "--jobs",           "1",
                      "--shrink",         "0",
                      "--limit",          std::to_string(case_limit_seconds),
                      "--json",           report.string(),
                      "--findings",       (folder / "findings").string()},
                     {},
                     folder / "run.log"};
  const child_end ended = run_child(what, o.limit_seconds);
  suite_end end{ended.status, 0, {}, ended.seconds};
  if (!fs::exists(report)) return end;
  const json::value parsed = json::parse(read_file(report));
  end.failed = parsed.at_pointer("/total/fail").to_number<std::int64_t>();
  const json::array& findings = parsed.as_object().at("findings").as_array();
  if (!findings.empty())
    end.first = fmt::format("{}: {}", std::string_view(findings[0].as_object().at("failed_as").as_string()),
                            std::string_view(findings[0].as_object().at("seen").as_string()));
  return end;
}

/// Most mutants show in the first few cases.
std::vector<std::int64_t> case_counts(std::int64_t cases) {
  const std::int64_t few = cases / 8;
  return few > 0 ? std::vector<std::int64_t>{few, cases} : std::vector<std::int64_t>{cases};
}

/// Why a run kills the mutant; empty if it ended like the run of the clean kernels.
std::string reason_to_kill(const suite_end& mutated, const suite_end& clean) {
  if (mutated.failed > 0) return fmt::format("{} cases failed; {}", mutated.failed, mutated.first);
  if (mutated.status == 124) return "the run did not end";
  if (mutated.status != clean.status) return fmt::format("the run ended with status {}", mutated.status);
  return {};
}

json::object to_object(const mutant_result& r) {
  return {{"path", r.change.path},       {"line", r.change.line},   {"operation", r.change.operation},
          {"before", r.change.before},   {"after", r.change.after}, {"fate", name_of(r.what)},
          {"kernel", r.kernel},          {"detail", r.detail},      {"build_seconds", r.build_seconds},
          {"run_seconds", r.run_seconds}};
}

/// Builds and judges mutants, each in a folder of its own.
class bench {
 public:
  bench(const mutation_options& options, const std::vector<equivalent>& known)
      : options_(options),
        known_(known),
        recipes_(read_recipes(options.recipes)),
        reach_(reach_of(options.sources, recipes_)),
        shop_(options.sources, options.build, options.work) {}

  const reach& reached() const { return reach_; }

  /// What mutants are compared with.
  void prepare(const std::vector<mutant>& mutants) {
    std::set<std::string> sources, kernels;
    for (const mutant& m : mutants)
      for (const auto& [kernel, compiled] : reach_.at(m.path)) {
        sources.insert(compiled.begin(), compiled.end());
        kernels.insert(kernel);
      }
    for (const std::string& source : sources) shop_.build_clean(source);
    const fs::path folder = options_.work / "clean";
    for (const kernel_recipe& kernel : recipes_)
      if (kernels.contains(kernel.name))
        for (const std::int64_t cases : case_counts(options_.cases)) {
          const suite_end end =
              run_suite_on(options_, options_.build / "lib" / "assay_kernels_cpu.so", kernel, cases, folder);
          if (end.failed > 0)
            throw environment_error(fmt::format("{} cases of {} fail without a mutant", end.failed, kernel.name));
          clean_[{kernel.name, cases}] = end;
        }
  }

  mutant_result try_one(const mutant& change, std::size_t number) const {
    mutant_result result{change, fate::not_built, {}, {}, 0, 0};
    const fs::path folder = options_.work / fmt::format("mutant_{}", number);
    fs::create_directories(folder);
    const std::string source = read_file(options_.sources / change.path);
    for (const kernel_recipe& kernel : recipes_) {
      const auto compiled = reach_.at(change.path).find(kernel.name);
      if (compiled == reach_.at(change.path).end() || result.what == fate::killed) continue;
      try_in(kernel, compiled->second, mutated_text(source, change), folder, result);
    }
    if (result.what == fate::survived) {
      write_by_rename(options_.work / "survivors" / fmt::format("{}.patch", number), patch_text(source, change));
      if (const equivalent* e = find(known_, change); e != nullptr)
        result.what = fate::equivalent, result.detail = e->reason;
    }
    fs::remove_all(folder);
    return result;
  }

 private:
  void try_in(const kernel_recipe& kernel, const std::vector<std::string>& compiled, const std::string& text,
              const fs::path& folder, mutant_result& result) const {
    const fs::path library = folder / "mutant.so";
    const built made = shop_.build(result.change.path, text, compiled, folder, library);
    result.build_seconds += made.seconds;
    if (!made.compiles) return;
    if (made.is_same) {
      if (result.what == fate::not_built) result.what = fate::same_object;
      return;
    }
    result.what = fate::survived;
    result.kernel += (result.kernel.empty() ? "" : ", ") + kernel.name;
    for (const std::int64_t cases : case_counts(options_.cases)) {
      const suite_end end = run_suite_on(options_, library, kernel, cases, folder);
      result.run_seconds += end.seconds;
      result.detail = reason_to_kill(end, clean_.at({kernel.name, cases}));
      if (result.detail.empty()) continue;
      result.what = fate::killed;
      result.kernel = kernel.name;
      return;
    }
  }

  const mutation_options& options_;
  const std::vector<equivalent>& known_;
  std::vector<kernel_recipe> recipes_;
  reach reach_;
  workshop shop_;
  std::map<std::pair<std::string, std::int64_t>, suite_end> clean_;
};

/// The survivors of a result. As an equivalent has no reason yet, `reason` is empty.
std::vector<equivalent> read_survivors(const fs::path& file) {
  boost::system::error_code error;
  const json::value parsed = json::parse(read_file(file), error);
  const json::value* const tried = error ? nullptr : parsed.find_pointer("/tried", error);
  if (tried == nullptr || !tried->is_array())
    throw case_error(file.string() + ": not a result of assay_mutants --json");
  std::vector<equivalent> all;
  for (const json::value& each : tried->get_array()) {
    const auto text = [&](const char* key) { return std::string(each.at(key).as_string()); };
    if (text("fate") == name_of(fate::survived)) all.push_back({text("path"), text("before"), text("after"), {}});
  }
  return all;
}

fate fate_named(const std::string& name) {
  for (const fate f : {fate::killed, fate::survived, fate::equivalent, fate::same_object})
    if (name == name_of(f)) return f;
  return fate::not_built;
}

mutant_result from_reply(const mutant& change, const work_result& worked) {
  if (!worked.reply) throw environment_error(fmt::format("{}:{}: {}", change.path, change.line, worked.death));
  const json::value reply = json::parse(*worked.reply);
  const json::object& o = reply.as_object();
  if (const json::value* error = o.if_contains("error")) throw environment_error(std::string(error->as_string()));
  const auto text = [&](const char* key) { return std::string(o.at(key).as_string()); };
  return {change,
          fate_named(text("fate")),
          text("kernel"),
          text("detail"),
          o.at("build_seconds").to_number<double>(),
          o.at("run_seconds").to_number<double>()};
}

}  // namespace

const char* name_of(fate f) {
  switch (f) {
    case fate::killed: return "killed";
    case fate::survived: return "survived";
    case fate::equivalent: return "equivalent";
    case fate::same_object: return "same object";
    case fate::not_built: break;
  }
  return "not built";
}

std::int64_t mutation_result::count(fate f) const {
  return std::ranges::count(tried, f, &mutant_result::what);
}

double mutation_result::score() const {
  const auto dead = static_cast<double>(count(fate::killed)), alive = static_cast<double>(count(fate::survived));
  return dead + alive == 0 ? 1 : dead / (dead + alive);
}

std::vector<mutant> all_mutants(const mutation_options& options, const reach& reached) {
  std::vector<mutant> all;
  for (const auto& [path, kernels] : reached)
    if (path.find(options.only) != std::string::npos)
      for (mutant& m : mutants_of(path, read_file(options.sources / path))) all.push_back(std::move(m));
  return all;
}

std::vector<mutant> sampled(std::vector<mutant> all, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);  // std::shuffle's use of it is not standardised
  for (std::size_t i = 0; i + 1 < all.size(); ++i) std::swap(all[i], all[i + random() % (all.size() - i)]);
  if (count > 0 && static_cast<std::size_t>(count) < all.size()) all.resize(static_cast<std::size_t>(count));
  return all;
}

std::vector<mutant> chosen(const mutation_options& options, const std::vector<equivalent>& known,
                           std::vector<mutant> all, std::vector<std::string>& gone) {
  if (options.again.empty()) return sampled(std::move(all), options.sample, options.seed);
  std::vector<equivalent> wanted;
  for (const fs::path& file : options.again) std::ranges::move(read_survivors(file), std::back_inserter(wanted));
  std::vector<mutant> some;
  for (const mutant& m : all)
    if (find(wanted, m) != nullptr && find(known, m) == nullptr) some.push_back(m);
  for (const equivalent& w : wanted)
    if (w.path.find(options.only) != std::string::npos &&
        std::ranges::none_of(all, [&](const mutant& m) { return find({w}, m) != nullptr; }))
      gone.push_back(fmt::format("{}: {}", w.path, w.after));
  return some;
}

mutation_result try_mutants(const mutation_options& options, const std::vector<equivalent>& known,
                            const std::function<void(const mutant_result&)>& done) {
  for (const char* old : {"survivors", "clean"}) fs::remove_all(options.work / old);
  bench tried_on(options, known);
  const std::vector<mutant> all = all_mutants(options, tried_on.reached());
  mutation_result result;
  const std::vector<mutant> tried = chosen(options, known, all, result.gone);
  tried_on.prepare(tried);
  result.tried.resize(tried.size());
  result.mutants = std::ssize(all);
  std::size_t next = 0;
  const auto serve = [&](const std::string& request) {
    const std::size_t number = std::stoull(request);
    try {
      return json::serialize(to_object(tried_on.try_one(tried[number], number)));
    } catch (const std::exception& e) {
      return json::serialize(json::object{{"error", e.what()}});
    }
  };
  run_workers(
      options.jobs, 3600, serve,
      [&] { return next < tried.size() ? std::optional(std::to_string(next++)) : std::nullopt; },
      [&](const work_result& worked) {
        const std::size_t number = std::stoull(worked.request);
        result.tried[number] = from_reply(tried[number], worked);
        done(result.tried[number]);
      });
  fs::remove_all(options.work / "clean");
  return result;
}

std::string mutation_text(const mutation_result& result, const mutation_options& options) {
  std::string text;
  std::vector<double> seconds;
  for (const mutant_result& r : result.tried) {
    if (r.what == fate::killed) seconds.push_back(r.run_seconds);
    if (r.what != fate::survived) continue;
    text += fmt::format("survived: {}:{}: {} (tried in {})\n  - {}\n  + {}\n", r.change.path, r.change.line,
                        r.change.operation, r.kernel, r.change.before, r.change.after);
  }
  for (const std::string& line : result.gone) text += fmt::format("no mutant any more: {}\n", line);
  std::ranges::sort(seconds);
  text += fmt::format(
      "{} of {} mutants tried (seed {}, {} cases each): {} killed, {} survived, {} equivalent, {} of the same code, {} "
      "not built\n",
      result.tried.size(), result.mutants, options.seed, options.cases, result.count(fate::killed),
      result.count(fate::survived), result.count(fate::equivalent), result.count(fate::same_object),
      result.count(fate::not_built));
  if (!seconds.empty())
    text +=
        fmt::format("median run that kills {:.1f} s, longest {:.1f} s\n", seconds[seconds.size() / 2], seconds.back());
  return text + fmt::format("score {:.1f}%\n", 100 * result.score());
}

std::string mutation_json(const mutation_result& result, const mutation_options& options, double floor) {
  json::array tried, findings;
  for (const mutant_result& r : result.tried) {
    tried.push_back(to_object(r));
    if (r.what == fate::survived)
      findings.push_back(json::object{{"kernel", r.kernel},
                                      {"origin", "mutant survived"},
                                      {"what", fmt::format("{}: {}: {} became {}", r.change.path, r.change.operation,
                                                           r.change.before, r.change.after)},
                                      {"file", ""},
                                      {"replay", fmt::format("build/release/bin/assay_mutants --seed {} --sample {}",
                                                             options.seed, options.sample)}});
  }
  json::object fates;
  for (const fate f : {fate::killed, fate::survived, fate::equivalent, fate::same_object, fate::not_built})
    fates[name_of(f)] = result.count(f);
  return json::serialize(json::object{{"version", 1},
                                      {"seed", options.seed},
                                      {"mutants", result.mutants},
                                      {"fates", std::move(fates)},
                                      {"mutation_score", result.score()},
                                      {"floor", floor},
                                      {"verified", result.score() >= floor},
                                      {"findings", std::move(findings)},
                                      {"tried", std::move(tried)}}) +
         "\n";
}

}  // namespace assay::mutants
