#include "properties/suite/merge_reports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "properties/system/counted.hpp"

namespace assay {
namespace {

namespace json = boost::json;

/// The field, read by `read`. What is wrong with it names it: reports are large.
template <typename Read>
auto read_at(const json::object& o, const char* key, Read&& read) {
  const json::value* field = o.if_contains(key);
  if (field == nullptr) throw case_error(fmt::format("{}: missing", key));
  try {
    return read(*field);
  } catch (const case_error&) {
    throw;
  } catch (const std::exception& e) {
    throw case_error(fmt::format("{}: {}", key, e.what()));
  }
}

template <typename T>
T value_at(const json::object& o, const char* key) {
  return read_at(o, key, [](const json::value& v) { return json::value_to<T>(v); });
}

std::string text_at(const json::object& o, const char* key) {
  return value_at<std::string>(o, key);
}
double number_at(const json::object& o, const char* key) {
  return read_at(o, key, [](const json::value& v) { return v.to_number<double>(); });
}
bool flag_at(const json::object& o, const char* key) {
  return read_at(o, key, [](const json::value& v) { return v.as_bool(); });
}
json::array array_at(const json::object& o, const char* key) {
  return read_at(o, key, [](const json::value& v) { return v.as_array(); });
}
json::object object_at(const json::object& o, const char* key) {
  return read_at(o, key, [](const json::value& v) { return v.as_object(); });
}

/// A count, or a number of something: none is negative.
std::int64_t whole_at(const json::object& o, const char* key) {
  const auto whole = read_at(o, key, [](const json::value& v) { return v.to_number<std::int64_t>(); });
  if (whole < 0) throw case_error(fmt::format("{}: {} is negative", key, whole));
  return whole;
}

const property& property_named(const json::value& name) {
  const auto text = json::value_to<std::string>(name);
  const auto at = std::ranges::find(properties(), text, &property::name);
  if (at == properties().end()) throw case_error(fmt::format("unknown property '{}'", text));
  return *at;
}

const property& property_at(const json::object& o, const char* key) {
  return *read_at(o, key, [](const json::value& v) { return &property_named(v); });
}

counts counts_of(const json::object& o) {
  return {whole_at(o, "pass"), whole_at(o, "fail"), whole_at(o, "discard"), whole_at(o, "undecided")};
}

finding finding_of(const json::object& o) {
  finding f;
  f.index = whole_at(o, "index");
  if (o.contains("draw")) f.draw = whole_at(o, "draw");  // not in reports of older versions
  f.met_by = &property_at(o, "met_by");
  f.broken = &property_at(o, "property");
  f.origin = text_at(o, "failed_as");
  f.what = text_at(o, "seen");
  f.file = text_at(o, "file");
  f.alike = whole_at(o, "alike");
  f.shrunk.smallest = from_json(json::serialize(object_at(o, "case")), "case");
  f.shrunk.result.result = outcome::fail;
  f.shrunk.result.origin = text_at(o, "origin");
  f.shrunk.result.what = text_at(o, "what");
  f.shrunk.result.hint = text_at(o, "hint");
  f.shrunk.result.first_load = text_at(o, "first_load");
  f.shrunk.reproduced = flag_at(o, "reproduced");
  f.shrunk.steps = static_cast<int>(whole_at(o, "steps"));
  f.shrunk.tries = static_cast<int>(whole_at(o, "tries"));
  return f;
}

/// `o`: a finding that has pictures.
finding_pictures pictures_of(const json::object& o) {
  const json::object pictures = object_at(o, "pictures");
  const auto read = [](const json::value& v) { return pictures_from_json(json::serialize(v)); };
  try {
    finding_pictures drawn{read_at(pictures, "smallest", read), {}};
    if (pictures.contains("met")) drawn.met = read_at(pictures, "met", read);
    return drawn;
  } catch (const case_error& e) {
    throw case_error(std::string("pictures: ") + e.what());
  }
}

/// Throws where the report contradicts itself: its total must be what its tables and findings say.
void require_consistent(const suite_report& r) {
  counts sum;
  for (const auto& [key, cell] : r.result.table) sum += cell;
  const counts& total = r.result.total;
  if (sum.pass != total.pass || sum.fail != total.fail || sum.discard != total.discard ||
      sum.undecided != total.undecided)
    throw case_error("total: is not the sum of the table");
  std::int64_t alike = 0;
  for (const finding& f : r.result.findings) alike += f.alike;
  if (!r.result.findings.empty() && (r.options.selected.empty() || r.options.kernels.empty()))
    throw case_error("findings: are of no kernel or no property that was asked for");
  if (alike != total.fail) throw case_error("findings: are not those of the failures that total counts");
  if (r.options.shard < 1 || r.options.shard > r.options.shards) throw case_error("shard: there are not so many");
}

/// What the run was asked for.
void read_asked(const json::object& o, suite_report& r) {
  r.library = text_at(o, "library");
  r.platform = text_at(o, "platform");
  const json::object asked = object_at(o, "asked");
  r.options.kernels = value_at<std::vector<std::string>>(asked, "kernels");
  r.options.types = value_at<std::vector<std::string>>(asked, "types");
  for (const auto& [kernel, s] : object_at(asked, "supports"))
    r.options.supports.emplace(std::string(kernel), support_from_json(s.as_object()));
  for (const json::value& name : array_at(asked, "left_out")) r.options.left_out.push_back(&property_named(name));
  r.options.traits = {flag_at(asked, "has_attention"), flag_at(asked, "has_schedules")};
  r.options.accept_blunt = flag_at(o, "accept_blunt");
  r.options.cases = whole_at(asked, "cases");
  r.options.seconds = number_at(asked, "seconds");
  r.options.workspace_budget_bytes = whole_at(asked, "workspace_budget");
  r.options.waves = whole_at(asked, "waves");
  for (const json::value& name : array_at(o, "properties")) r.options.selected.push_back(&property_named(name));
  r.options.seed = read_at(o, "seed", [](const json::value& v) { return v.to_number<std::uint64_t>(); });
  r.options.shard = whole_at(o, "shard");
  r.options.shards = whole_at(o, "shards");
  r.options.jobs = static_cast<int>(whole_at(o, "jobs"));
  r.options.library_arguments = text_at(o, "library_arguments");
}

suite_report report_of(const json::object& o) {
  suite_report r;
  if (whole_at(o, "version") != 1) throw case_error("version must be 1");
  if (o.contains("platforms"))
    throw case_error("platforms: a report of several libraries cannot be merged; run the shards of each by itself");
  read_asked(o, r);
  r.result.seconds = number_at(o, "seconds");
  r.result.outputs_judged = whole_at(o, "outputs_judged");
  r.result.outputs_sharp = whole_at(o, "outputs_sharp");
  r.result.rows_regressed = whole_at(o, "rows_regressed");
  r.result.lse_regressed = whole_at(o, "lse_regressed");
  r.result.accesses_checked = whole_at(o, "accesses_checked");
  r.result.redrawn = whole_at(o, "redrawn");
  r.result.checked = value_at<std::map<std::string, std::int64_t>>(o, "checked");
  r.result.accepted = value_at<std::map<std::string, std::int64_t>>(o, "accepted");
  r.result.kernel_seconds = number_at(o, "kernel_seconds");
  r.result.oracle_seconds = number_at(o, "oracle_seconds");
  r.result.total = counts_of(object_at(o, "total"));
  for (const json::value& row : array_at(o, "table")) {
    const json::object& cell = row.as_object();
    r.result.table[{text_at(cell, "kernel"), text_at(cell, "property"), text_at(cell, "types")}] = counts_of(cell);
  }
  for (const json::value& row : array_at(o, "reached")) {
    const json::object& cell = row.as_object();
    r.result.reached[{text_at(cell, "kernel"), text_at(cell, "thing")}] = counts_of(cell);
  }
  r.result.pairs.merge(value_at<std::vector<std::uint32_t>>(o, "pairs"));
  r.result.triples = triple_coverage::of_digits(value_at<std::map<std::string, std::string>>(o, "triples"));
  for (const json::value& row : array_at(o, "teeth")) {
    const json::object& cell = row.as_object();
    bite& b = r.result.teeth[{text_at(cell, "kernel"), text_at(cell, "types"), text_at(cell, "fault")}];
    b = {whole_at(cell, "asked"), whole_at(cell, "seen")};
    if (b.seen > 0) b.smallest = number_at(cell, "smallest");
  }
  for (const auto& [reason, count] : object_at(o, "discards"))
    r.result.discards[reason] = count.to_number<std::int64_t>();
  for (const json::value& u : array_at(o, "undecided"))
    r.result.undecided.push_back({whole_at(u.as_object(), "index"), &property_at(u.as_object(), "property"),
                                  text_at(u.as_object(), "what"), text_at(u.as_object(), "file"), 0});
  if (o.contains("slowest"))  // not in reports of older versions
    for (const json::value& row : array_at(o, "slowest")) {
      const json::object& slow = row.as_object();
      add_slow_case(r.result.slowest,
                    {number_at(slow, "seconds"), whole_at(slow, "index"), &property_at(slow, "property"),
                     text_at(slow, "kernel"), text_at(slow, "types")});
    }
  for (const json::value& f : array_at(o, "findings")) {
    r.result.findings.push_back(finding_of(f.as_object()));
    if (f.as_object().contains("pictures"))
      r.extras.pictures.emplace(r.result.findings.back().index, pictures_of(f.as_object()));
  }
  // Not in reports of older versions:
  if (o.contains("devices")) r.extras.devices = text_at(o, "devices");
  if (o.contains("unwritten")) r.result.unwritten = value_at<std::vector<std::string>>(o, "unwritten");
  require_consistent(r);
  return r;
}

/// What the shards of one run agree in, by name.
std::vector<std::pair<std::string, std::string>> common_to_shards(const suite_report& r) {
  std::vector<std::string> properties;
  properties.reserve(r.options.selected.size());
  for (const property* p : r.options.selected) properties.emplace_back(p->name);
  json::object supports;
  for (const auto& [kernel, s] : r.options.supports) supports[kernel] = support_to_json(s);
  return {{"library", r.library},
          {"declared support", json::serialize(supports)},
          {"library options", r.options.library_arguments},
          {"platform", r.platform},
          {"kernels", fmt::format("{}", fmt::join(r.options.kernels, ", "))},
          {"types", fmt::format("{}", fmt::join(r.options.types, ", "))},
          {"properties", fmt::format("{}", fmt::join(properties, ", "))},
          {"cases", std::to_string(r.options.cases)},
          {"seconds", fmt::format("{}", r.options.seconds)},
          {"workspace budget", std::to_string(r.options.workspace_budget_bytes)},
          {"waves", std::to_string(r.options.waves)},
          {"--accept-blunt", r.options.accept_blunt ? "given" : "not given"},
          {"seed", std::to_string(r.options.seed)},
          {"number of shards", std::to_string(r.options.shards)}};
}

void require_same_run(const suite_report& one, const suite_report& other) {
  const auto ours = common_to_shards(one);
  const auto theirs = common_to_shards(other);
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (ours[i] != theirs[i])
      differences.push_back(fmt::format("{} '{}' and '{}'", ours[i].first, ours[i].second, theirs[i].second));
  if (!differences.empty())
    throw case_error(
        fmt::format("{} and {} belong to different runs: {}", one.file, other.file, fmt::join(differences, "; ")));
}

/// Throws unless they are the shards of one run, each once.
void require_one_run(std::span<const suite_report> shards) {
  if (shards.empty()) throw case_error("found no report to merge");
  const suite_report& first = shards.front();
  if (first.options.shards > std::ssize(shards) + 1'000'000)  // also what no machine holds a list of
    throw case_error(
        fmt::format("{} of {} shards are missing", first.options.shards - std::ssize(shards), first.options.shards));
  std::vector<const suite_report*> here(static_cast<std::size_t>(first.options.shards), nullptr);
  for (const suite_report& r : shards) {
    require_same_run(first, r);
    const auto at = static_cast<std::size_t>(r.options.shard - 1);
    if (at >= here.size() || here[at] != nullptr)
      throw case_error(fmt::format("{} and {}: shard {} of {} is given twice",
                                   at < here.size() ? here[at]->file : first.file, r.file, r.options.shard,
                                   r.options.shards));
    here[at] = &r;
  }
  if (const auto lost = std::ranges::find(here, nullptr); lost != here.end())
    throw case_error(fmt::format("shard {} of {} is missing", lost - here.begin() + 1, here.size()));
}

void add(suite_result& sum, const suite_result& shard) {
  for (const auto& [key, cell] : shard.table) sum.table[key] += cell;
  for (const auto& [key, cell] : shard.reached) sum.reached[key] += cell;
  sum.pairs.merge(shard.pairs.pairs());
  sum.triples.merge(shard.triples);
  for (const auto& [key, counted] : shard.teeth) sum.teeth[key] += counted;
  for (const auto& [reason, count] : shard.discards) sum.discards[reason] += count;
  for (const auto& [line, times] : shard.accepted) sum.accepted[line] += times;
  sum.total += shard.total;
  sum.seconds = std::max(sum.seconds, shard.seconds);
  sum.outputs_judged += shard.outputs_judged;
  sum.outputs_sharp += shard.outputs_sharp;
  sum.rows_regressed += shard.rows_regressed;
  sum.lse_regressed += shard.lse_regressed;
  sum.accesses_checked += shard.accesses_checked;
  sum.redrawn += shard.redrawn;
  for (const auto& [kernel, times] : shard.checked) sum.checked[kernel] += times;
  sum.kernel_seconds += shard.kernel_seconds;
  sum.oracle_seconds += shard.oracle_seconds;
  for (const slow_case& slow : shard.slowest) add_slow_case(sum.slowest, slow);
  sum.undecided.insert(sum.undecided.end(), shard.undecided.begin(), shard.undecided.end());
  sum.unwritten.insert(sum.unwritten.end(), shard.unwritten.begin(), shard.unwritten.end());
  for (const finding& f : shard.findings) {
    const auto same = std::ranges::find_if(sum.findings, [&](const finding& other) {
      return failure_kind(other.origin, other.what) == failure_kind(f.origin, f.what);
    });
    if (same == sum.findings.end()) {
      sum.findings.push_back(f);
      continue;
    }
    const std::int64_t alike = same->alike + f.alike;
    if (f.index < same->index) *same = f;
    same->alike = alike;
  }
}

/// What the shards ran on, each kind of machine once.
std::string devices_of(std::span<const suite_report> shards) {
  std::vector<std::string> kinds;
  for (const suite_report& r : shards)
    if (!r.extras.devices.empty() && std::ranges::find(kinds, r.extras.devices) == kinds.end())
      kinds.push_back(r.extras.devices);
  return fmt::format("{}", fmt::join(kinds, ", "));
}

/// Keeps the pictures of the merged findings: those of the shard that has the finding's case.
void add_pictures(suite_report& merged, std::span<const suite_report> shards) {
  std::vector<std::string> without;
  for (const suite_report& r : shards) {
    for (const finding& f : merged.result.findings)
      if (const auto drawn = r.extras.pictures.find(f.index); drawn != r.extras.pictures.end())
        merged.extras.pictures.insert(*drawn);
    if (!r.result.findings.empty() && r.extras.pictures.empty()) without.push_back(r.file);
  }
  if (without.empty()) return;
  merged.without_pictures = without.front();
  if (without.size() > 1)
    merged.without_pictures += fmt::format(" and {}", counted(std::ssize(without) - 1, "other file"));
}

}  // namespace

suite_report read_report(std::string_view text, std::string_view origin) {
  try {
    suite_report r = report_of(json::parse({text.data(), text.size()}).as_object());
    r.file = origin;
    return r;
  } catch (const std::exception& e) {
    throw case_error(fmt::format("{}: must be a report of 'assay run --json': {}", origin, e.what()));
  }
}

suite_report merge_reports(std::span<const suite_report> shards) {
  require_one_run(shards);
  suite_report merged{shards.front().library, shards.front().platform, shards.front().options, {}, {}, {}, {}};
  merged.extras.devices = devices_of(shards);
  merged.options.shard = merged.options.shards = 1;
  merged.options.jobs = 0;
  for (const suite_report& r : shards) {
    merged.options.jobs += r.options.jobs;
    add(merged.result, r.result);
  }
  std::ranges::sort(merged.result.findings, {}, &finding::index);
  std::ranges::sort(merged.result.undecided, {}, &undecided_case::index);
  add_pictures(merged, shards);
  if (merged.result.undecided.size() > most_undecided_cases) merged.result.undecided.resize(most_undecided_cases);
  return merged;
}

}  // namespace assay
