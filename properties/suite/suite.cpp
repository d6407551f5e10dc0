#include "properties/suite/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "properties/case/types.hpp"
#include "properties/generate/arbitrary.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/shrink.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/generate/turns.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/nan_origin.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/worker.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

using clock = std::chrono::steady_clock;

/// The kernels from which cases of a property are drawn.
std::vector<std::string> kernels_for(const property& p, const suite_options& options) {
  std::vector<std::string> names;
  for (const std::string& name : drawable(options.kernels)) {
    const bool is_shown = applies(p, name) && left_out(p, name, support_in(options, name), options.traits).empty();
    if (is_shown && !types_of_run(options, name).empty()) names.push_back(name);
  }
  return names;
}

bool declares_types(const suite_options& options, std::span<const std::string> kernels) {
  return std::ranges::any_of(
      kernels, [&](const std::string& name) { return !types_in(support_of(options.supports, name)).empty(); });
}

attention_case generate(const suite_options& options, std::int64_t index, std::int64_t redraw) {
  const auto properties = static_cast<std::int64_t>(options.selected.size());
  // RapidCheck's nominal size is 100; the packaged version shifts by too much above it.
  const int size = size_of(index / properties, index % properties);
  std::vector<std::string> kernels = kernels_for(suite_property(options, index), options), types = options.types;
  // Declared types are what cases are fitted to: any draw will do.
  if (declares_types(options, kernels)) types.clear();
  const turn_kind turn = turn_of(index, properties);
  std::int32_t way = -1;
  if (turn != turn_kind::none) {
    std::vector<std::vector<std::string>> all;
    all.reserve(options.selected.size());
    for (const property* p : options.selected) all.push_back(kernels_for(*p, options));
    case_turn taken = way_of_turn(index, all, types);  // of the space's types
    kernels = {std::move(taken.kernel)}, types = {std::move(taken.types)}, way = taken.way;
  }
  const auto generator = arbitrary_case(std::move(kernels), turn, way);
  constexpr std::uint64_t most_draws = 1000;  // far more than the rarest types take
  attention_case c;
  for (std::uint64_t draw = 0; draw < most_draws; ++draw) {
    const std::uint64_t nth = draw + most_draws * static_cast<std::uint64_t>(redraw);
    const rc::Random random(rc::Random::Key{options.seed, static_cast<std::uint64_t>(index), nth, 0});
    c = generator(random, size).value();
    if (types.empty() || std::ranges::find(types, types_of(c)) != types.end()) break;
  }
  return c;
}

/// A reason with "N" for each number, so that similar reasons are counted together. Digits of names stay.
std::string without_numbers(const std::string& reason) {
  std::string text;
  for (std::size_t i = 0; i < reason.size(); ++i) {
    const auto is_digit = [&](std::size_t at) { return at < reason.size() && reason[at] >= '0' && reason[at] <= '9'; };
    const bool starts_word = i == 0 || reason[i - 1] == ' ' || reason[i - 1] == '(';
    if (!starts_word || !is_digit(i)) {
      text += reason[i];
      continue;
    }
    text += 'N';
    while (is_digit(i + 1)) ++i;
  }
  return text;
}

/// first_supported_draw() in a child: for a case that ended the process which drew it.
std::int64_t draw_of(const library& lib, const suite_options& options, std::int64_t index) {
  const auto serve = [&](const std::string& request) {
    std::string why;
    return std::to_string(first_supported_draw(lib, options, case_numbers::parse(request), why));
  };
  const work_result said = isolated(serve, options.limit_seconds).ask(std::to_string(index));
  return said.reply ? case_numbers::parse(*said.reply) : 0;
}

/// The verdict on case `index`: of the first draw that the library supports.
verdict verdict_on(const library& lib, const suite_options& options, std::int64_t index) {
  std::int64_t draw = 0;
  std::string why;
  if (options.has_predicate) draw = first_supported_draw(lib, options, index, why);
  verdict v = why.empty() ? check_property(lib, suite_property(options, index), suite_case(options, index, draw))
                          : discarded(fmt::format("the library supports none of {} draws: {}", most_redraws, why));
  v.draw = draw;
  return v;
}

/// Collects results.
class tally {
 public:
  tally(const library& lib, const suite_options& options, suite_result& result)
      : lib_(lib), options_(options), result_(result) {}

  void add(const work_result& worked) {
    const std::int64_t index = case_numbers::parse(worked.request);
    verdict v = verdict_of(worked);
    if (!worked.reply && options_.has_predicate) v.draw = draw_of(lib_, options_, index);
    const attention_case c = suite_case(options_, index, v.draw);
    counts& cell = result_.table[{c.kernel, suite_property(options_, index).name, types_of(c)}];
    for (counts* at : {&cell, &result_.total}) ++at->of(v.result);
    result_.outputs_judged += v.outputs_judged;
    result_.outputs_sharp += v.outputs_sharp;
    result_.rows_regressed += v.rows_regressed;
    result_.lse_regressed += v.lse_regressed;
    result_.accesses_checked += v.accesses_checked;
    result_.redrawn += v.draw;
    if (v.could_check) result_.checked[c.kernel] += v.accesses_checked;
    for (const auto& [line, times] : v.accepted) result_.accepted[line] += times;
    for (const named_bite& b : v.teeth) result_.teeth[{c.kernel, types_of(c), b.fault}] += b.counts;
    if (v.result == outcome::pass) result_.pairs.add(c), result_.triples.add(c);
    for (std::size_t i = 0; i < reachable().size(); ++i)
      if ((v.reached >> i & 1U) != 0) ++result_.reached[{c.kernel, reachable()[i].name}].of(v.result);
    result_.kernel_seconds += v.kernel_seconds;
    result_.oracle_seconds += v.oracle_seconds;
    if (v.result == outcome::discard) ++result_.discards[without_numbers(v.what)];
    if (v.result == outcome::undecided)
      undecided_[index] = {index, &suite_property(options_, index), v.what, {}, v.draw};
    if (v.result == outcome::fail) add_failures(index, v, worked.seconds);
    add_slow_case(result_.slowest, {worked.seconds, index, &suite_property(options_, index), c.kernel, types_of(c)});
  }

  std::vector<undecided_case> first_undecided() const {
    std::vector<undecided_case> first;
    for (const auto& [index, u] : undecided_)
      if (first.size() < most_undecided_cases) first.push_back(u);
    return first;
  }

  /// The first case of each kind of failure, and how many cases are of that kind, by case number. Does not depend on
  /// the order in which results arrive.
  std::vector<finding> first_failures() const {
    std::vector<finding> first;
    first.reserve(failures_.size());
    for (const auto& [kind, f] : failures_) first.push_back(f);
    std::ranges::sort(first, {}, [](const finding& f) { return std::pair(f.index, f.alike == 0); });
    return first;
  }

 private:
  /// Of a case that failed in several ways, the first one counts.
  void add_failures(std::int64_t index, const verdict& v, double seconds) {
    ++add_failure({v.origin, v.what}, index, v.draw, seconds).alike;
    for (const other_failure& other : v.also) add_failure(other, index, v.draw, seconds);
  }

  finding& add_failure(const other_failure& seen, std::int64_t index, std::int64_t draw, double seconds) {
    const auto [at, is_new] = failures_.try_emplace(failure_kind(seen.origin, seen.what));
    finding& f = at->second;
    if (!is_new && f.index <= index) return f;
    f.index = index;
    f.draw = draw;
    f.met_by = &suite_property(options_, index);
    f.origin = seen.origin;
    f.what = seen.what;
    f.seconds = seconds;
    return f;
  }

  const library& lib_;
  const suite_options& options_;
  suite_result& result_;
  std::map<std::string, finding> failures_;  ///< by kind
  std::map<std::int64_t, undecided_case> undecided_;
};

/// Writes the file of a case that is worth keeping. A full disk must not cost the verdict: then there is no file.
std::filesystem::path write_case(const suite_options& options, const attention_case& c, const std::string& name,
                                 std::vector<std::string>& unwritten) {
  const std::string text = to_json(c);
  std::filesystem::path file = options.findings / fmt::format("{}-{:08x}.json", name, fingerprint(text));
  try {
    write_by_rename(file, text);
  } catch (const environment_error& e) {
    unwritten.emplace_back(e.what());
    return {};
  }
  return file;
}

void keep(const suite_options& options, undecided_case& u, std::vector<std::string>& unwritten) {
  attention_case c = suite_case(options, u.index, u.draw);
  c.why = fmt::format("{}: {}; case {} of seed {}", u.met_by->name, u.what, u.index, options.seed);
  u.file = write_case(options, c, "undecided", unwritten);
}

/// Finds the smallest case that fails like the first, and writes its file.
void shrink(const library& lib, const suite_options& options, const shrink_budget& budget, finding& f,
            std::vector<std::string>& unwritten) {
  f.broken = f.met_by;
  // Candidates are no larger than the case: one that takes four times its time hangs, and must not use up the budget.
  const double limit = std::min(options.limit_seconds, std::max(10.0, 4 * f.seconds));
  const attention_case failing = suite_case(options, f.index, f.draw);
  const std::string kind = failure_kind(f.origin, f.what);
  const auto judge_by = [&](const property& p, bool tells_loads = false) -> judge_function {
    return [kind, judge = isolated_judge(lib, p, limit, tells_loads)](const attention_case& c) {
      return led_by(kind, judge(c));
    };
  };
  judge_function judge = judge_by(enclosure_property());
  // The enclosure needs one run, a relation two or more; and its message names the wrong value.
  if (const verdict v = judge(failing); v.result == outcome::fail && failure_kind(v.origin, v.what) == kind)
    f.broken = &enclosure_property();
  else
    judge = judge_by(*f.broken);
  f.shrunk = minimize(failing, judge, budget, support_in(options, failing.kernel));
  // Asked of the case as it was found: the smallest one fits more contracts than the kernel's own.
  f.shrunk.result.hint = isolated_hint(lib, failing, f.shrunk.result, options.limit_seconds);
  // Once for a finding: it takes another run. A flaky case may pass it.
  if (const std::string& origin = f.shrunk.result.origin; f.shrunk.reproduced && may_ask_for_loads(origin)) {
    const verdict again = judge_by(*f.broken, true)(f.shrunk.smallest);
    if (again.result == outcome::fail && again.origin == origin) f.shrunk.result.first_load = again.first_load;
  }
  attention_case& c = f.shrunk.smallest;
  c.why = fmt::format("{}: {}; {} from case {} of seed {}", f.broken->name,
                      f.shrunk.reproduced ? f.shrunk.result.what : f.what + ", but not when repeated",
                      f.shrunk.steps > 0 ? "shrunk" : "not shrunk", f.index, options.seed);
  f.file = write_case(options, c, f.broken->name, unwritten);
}

/// Failures of one check at many lines take no longer than one: they share its time.
shrink_budget share_of(shrink_budget budget, const std::vector<finding>& failures, const std::string& origin) {
  budget.seconds /=
      static_cast<double>(std::max<std::int64_t>(1, std::ranges::count(failures, origin, &finding::origin)));
  return budget;
}

/// A finding that this machine cannot shrink is the case as it was found.
void keep_as_found(const suite_options& options, finding& f, std::vector<std::string>& unwritten) {
  f.broken = f.met_by;
  f.shrunk = {suite_case(options, f.index, f.draw), failed(f.origin, f.what)};
  f.shrunk.reproduced = true;
  f.shrunk.smallest.why =
      fmt::format("{}: {}; not shrunk, case {} of seed {}", f.broken->name, f.what, f.index, options.seed);
  f.file = write_case(options, f.shrunk.smallest, f.broken->name, unwritten);
}

}  // namespace

void add_slow_case(std::vector<slow_case>& slowest, slow_case added) {
  const auto at = std::ranges::upper_bound(slowest, added.seconds, std::ranges::greater{}, &slow_case::seconds);
  slowest.insert(at, std::move(added));
  if (slowest.size() > most_slow_cases) slowest.pop_back();
}

std::int64_t case_numbers::parse(const std::string& request) {
  std::int64_t index = 0;
  std::from_chars(request.data(), request.data() + request.size(), index);
  return index;
}

std::optional<std::string> case_numbers::next() {
  const auto properties = static_cast<std::int64_t>(options_.selected.size());
  // Shards take whole rounds of properties, so that each shard checks all of them.
  while (index_ / properties % options_.shards != options_.shard - 1) index_ += properties;
  const bool over = options_.seconds > 0
                        ? std::chrono::duration<double>(clock::now() - start_).count() > options_.seconds
                        : index_ >= options_.cases;
  if (over) return std::nullopt;
  return std::to_string(index_++);
}

std::int64_t cases_of_run(const suite_options& options, std::int64_t of_shard) {
  if (of_shard <= 0) return 0;
  const auto properties = static_cast<std::int64_t>(options.selected.size());
  const std::int64_t last = of_shard - 1;  // of the shard's own, from 0
  const std::int64_t round = last / properties * options.shards + options.shard - 1;
  return round * properties + last % properties + 1;
}

std::int64_t first_supported_draw(const library& lib, const suite_options& options, std::int64_t index,
                                  std::string& why) {
  for (std::int64_t draw = 0; draw < most_redraws; ++draw) {
    const attention_case c = suite_case(options, index, draw);
    why = refused_by_predicate(lib, c);
    for (const library* other : options.others)
      if (why.empty() && other != &lib) why = refused_by_predicate(*other, c);
    if (why.empty()) return draw;
  }
  return most_redraws - 1;
}

std::int64_t& counts::of(outcome result) {
  switch (result) {
    case outcome::pass: return pass;
    case outcome::fail: return fail;
    case outcome::discard: return discard;
    case outcome::undecided: break;
  }
  return undecided;
}

counts& counts::operator+=(const counts& other) {
  pass += other.pass;
  fail += other.fail;
  discard += other.discard;
  undecided += other.undecided;
  return *this;
}

const property& suite_property(const suite_options& options, std::int64_t index) {
  return *options.selected[static_cast<std::size_t>(index) % options.selected.size()];
}

bool can_be_checked(const property& p, const suite_options& options) {
  return !kernels_for(p, options).empty();
}

assay_support support_in(const suite_options& options, const std::string& kernel) {
  assay_support s = support_of(options.supports, kernel);
  if (options.waves == 32) s.no_wave_64 = 1;
  if (options.waves == 64) s.no_wave_32 = 1;
  if (options.types.empty()) return s;
  std::vector<assay_types> wanted;
  for (const type_choice& t : supported_types(kernel, s))
    if (std::ranges::find(options.types, types_text(t.q, t.kv, t.o)) != options.types.end())
      wanted.push_back(
          {static_cast<std::int32_t>(t.q), static_cast<std::int32_t>(t.kv), static_cast<std::int32_t>(t.o)});
  if (wanted.empty() || wanted.size() > std::size(s.types)) return s;
  std::ranges::fill(s.types, assay_types{});
  std::ranges::copy(wanted, s.types);
  return s;
}

std::vector<std::string> types_of_run(const suite_options& options, const std::string& kernel) {
  std::vector<std::string> types = names_of_supported_types(kernel, support_of(options.supports, kernel));
  if (!options.types.empty())
    std::erase_if(types,
                  [&](const std::string& t) { return std::ranges::find(options.types, t) == options.types.end(); });
  return types;
}

std::vector<std::string> left_out_lines(const suite_options& options) {
  std::vector<std::string> lines;
  for (const std::string& kernel : drawable(options.kernels))
    for (const property* p : options.left_out) {
      if (!applies(*p, kernel)) continue;
      const std::string why = left_out(*p, kernel, support_in(options, kernel), options.traits);
      if (!why.empty()) lines.push_back(fmt::format("{}: {} ({})", kernel, p->name, why));
    }
  return lines;
}

attention_case suite_case(const suite_options& options, std::int64_t index, std::int64_t draw) {
  attention_case c = generate(options, index, draw);
  const assay_support takes = support_in(options, c.kernel);
  c = fit(c, takes);
  c.workspace_budget_bytes = options.workspace_budget_bytes;
  if (const auto adapt = suite_property(options, index).adapt) {
    adapt(c, takes);
    c = fit(c, takes);
  }
  return c;
}

suite_result run_suite(const library& lib, const suite_options& given) {
  const auto start = clock::now();
  suite_options options = given;
  std::erase_if(options.selected, [&](const property* p) { return !can_be_checked(*p, given); });
  if (options.selected.empty()) return {};
  suite_result result;
  tally counted(lib, options, result);
  case_numbers numbers(options, start);
  progress shown(options.progress);
  const auto serve = [&](const std::string& request) {
    const std::int64_t index = case_numbers::parse(request);
    try {
      return verdict_to_json(verdict_on(lib, options, index));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      return verdict_to_json(failed("exception", e.what()));
    }
  };
  try {
    run_workers(
        options.jobs, options.limit_seconds, serve,
        [&] {
          const bool is_over = options.stops_at_failure && result.total.fail > 0;
          return is_over ? std::nullopt : numbers.next();
        },
        [&](const work_result& worked) {
          counted.add(worked);
          shown.show(fmt::format("{}{} cases, {} failed", result.total.total(),
                                 options.seconds > 0 ? "" : fmt::format("/{}", options.cases), result.total.fail));
        });
  } catch (const environment_error& e) {
    if (result.total.fail == 0) throw;  // what was found before this machine gave up counts
    result.unwritten.emplace_back(e.what());
  }
  const std::vector<finding> failures = counted.first_failures();
  for (finding f : failures) {
    if (!options.origins.empty() && !options.origins.contains(f.origin)) continue;
    shown.show(fmt::format("shrinking case {}", f.index));
    try {
      shrink(lib, options, share_of(options.budget, failures, f.origin), f, result.unwritten);
    } catch (const environment_error& e) {
      result.unwritten.emplace_back(e.what());
      keep_as_found(options, f, result.unwritten);
    }
    result.findings.push_back(std::move(f));
  }
  result.undecided = counted.first_undecided();
  for (undecided_case& u : result.undecided) keep(options, u, result.unwritten);
  shown.clear();
  result.seconds = std::chrono::duration<double>(clock::now() - start).count();
  return result;
}

}  // namespace assay
