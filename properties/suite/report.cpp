#include "properties/suite/report.hpp"
#include "properties/suite/scope.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay {
namespace {

/// Columns: the types that ran on a kernel, by name.
std::vector<std::string> types_on(const suite_result& result, const std::string& kernel) {
  std::set<std::string> types;
  for (const auto& [key, cell] : result.table)
    if (std::get<0>(key) == kernel) types.insert(std::get<2>(key));
  return {types.begin(), types.end()};
}

std::string kernel_table(const suite_options& options, const suite_result& result, const std::string& kernel) {
  const std::vector<std::string> types = types_on(result, kernel);
  std::string text = fmt::format("{:<22}", kernel);
  for (const std::string& type : types) text += fmt::format(" {:>{}}", type, std::max<std::size_t>(5, type.size()));
  text += "  pass  fail discard undecided\n";
  for (const property* p : options.selected) {
    if (!applies(*p, kernel) || !left_out(*p, kernel, support_in(options, kernel), options.traits).empty()) continue;
    counts row;
    std::string cells;
    for (const std::string& type : types) {
      const auto at = result.table.find({kernel, p->name, type});
      const counts cell = at == result.table.end() ? counts{} : at->second;
      row += cell;
      cells += fmt::format(" {:>{}}", cell.total(), std::max<std::size_t>(5, type.size()));
    }
    text += fmt::format("  {:<20}{} {:>5} {:>5} {:>7} {:>9}\n", p->name, cells, row.pass, row.fail, row.discard,
                        row.undecided);
  }
  return text;
}

const char* other_than_accepted(const suite_result& result) {
  const bool any = std::ranges::any_of(result.accepted, [](const auto& line) { return line.second > 0; });
  return any ? " but those that --accept names" : "";
}

}  // namespace

std::string heading_text(const std::string& path, const std::string& platform, const std::string& devices,
                         std::uint64_t seed) {
  return fmt::format("{} kernels of {}{}, seed {}", platform, path, devices.empty() ? "" : " on " + devices, seed);
}

std::string shape_text(const attention_case& c) {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  for (const sequence& s : c.sequences) {
    rows += s.q;
    keys += s.k;
  }
  return fmt::format("{} sequence{}, {} quer{}, {} key{}, {} head{}", c.sequences.size(),
                     c.sequences.size() == 1 ? "" : "s", rows, rows == 1 ? "y" : "ies", keys, keys == 1 ? "" : "s",
                     c.heads_q, c.heads_q == 1 ? "" : "s");
}

std::string verdict_line(const suite_options& options, const suite_result& result) {
  if (result.total.fail > 0) {
    const std::size_t kinds = result.findings.size();
    return fmt::format("DEFECT: {} of {} cases failed, in {} way{}", result.total.fail, result.total.total(), kinds,
                       kinds == 1 ? "" : "s");
  }
  if (const std::string missing = shortfall(options, result); !missing.empty()) return "NOT VERIFIED: " + missing;
  if (options.shards > 1)
    return fmt::format("part {}/{}: {} cases, no defect{}; merge-reports tells whether the whole run verifies",
                       options.shard, options.shards, result.total.total(), other_than_accepted(result));
  const char* const accepted = options.accept_blunt                        ? "accepted, however blunt"
                               : order_free_teeth(options, result).empty() ? "verified"
                                                                           : "verified (order-free)";
  return fmt::format("{}: {} cases, no defect{}{}", accepted, result.total.total(), other_than_accepted(result),
                     result.accesses_checked > 0 ? "" : "; loads and stores were not checked");
}

std::string replay_line(const std::string& arguments, const std::filesystem::path& file) {
  return "./assay replay" + arguments + " " + file.string();
}

namespace {

/// Of longer lines the beginning.
std::string with_short_lines(const std::string& text, std::size_t most_columns) {
  constexpr std::string_view mark = " ...";
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > most_columns && most_columns > mark.size())
      result.append(text, begin, most_columns - mark.size()).append(mark);
    else
      result.append(text, begin, end - begin);
    result += '\n';
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string case_text(const attention_case& c, const std::filesystem::path& file, std::size_t most_columns) {
  constexpr std::size_t most_lines = 100, shown_lines = 60;
  std::string json = to_json(c);
  if (!json.ends_with('\n')) json += '\n';
  if (most_columns > 0 && !file.empty()) json = with_short_lines(json, most_columns);
  const auto lines = static_cast<std::size_t>(std::ranges::count(json, '\n'));
  if (lines <= most_lines || file.empty()) return json;
  std::size_t end = 0;
  for (std::size_t line = 0; line < shown_lines; ++line) end = json.find('\n', end) + 1;
  return fmt::format("{}... and {} lines more: see {}\n", json.substr(0, end), lines - shown_lines, file.string());
}

std::string history_text(const suite_options& options, const finding& f) {
  if (!f.shrunk.reproduced)
    return fmt::format("case {} of seed {} failed so once, but not when repeated: it is flaky", f.index, options.seed);
  const std::string alike = f.alike == 0 ? "seen beside others alone"
                                         : fmt::format("{} case{} failed like this", f.alike, f.alike == 1 ? "" : "s");
  return fmt::format("case {} of seed {}, shrunk in {} steps ({} tries) to {}; {}", f.index, options.seed,
                     f.shrunk.steps, f.shrunk.tries, shape_text(f.shrunk.smallest), alike);
}

std::string finding_text(const suite_options& options, const finding& f, std::size_t most_columns) {
  std::string text = fmt::format("FAIL {}: {}\n", f.broken->name, f.broken->sentence);
  if (f.shrunk.reproduced) {
    text += fmt::format("  {}: {}\n", f.shrunk.result.origin, f.shrunk.result.what);
    if (!f.shrunk.result.hint.empty()) text += fmt::format("  hint: {}\n", f.shrunk.result.hint);
    if (!f.shrunk.result.first_load.empty()) text += fmt::format("  {}\n", f.shrunk.result.first_load);
  } else {
    text += fmt::format("  {}: {}\n", f.origin, f.what);
  }
  text += fmt::format("  {}\n", history_text(options, f));
  text += case_text(f.shrunk.smallest, f.file, most_columns);
  if (f.file.empty()) return text + "This case could not be written: copy it from here\n";
  return text + replay_line(options.library_arguments, f.file) + "\n";
}

namespace {

std::string undecided_text(const suite_options& options, const suite_result& result) {
  if (result.undecided.empty()) return "";
  std::string text = "undecided:\n";
  for (const undecided_case& u : result.undecided) {
    text += fmt::format("  case {}: {}: {}\n", u.index, u.met_by->name, u.what);
    if (!u.file.empty())
      text += fmt::format("  {} --property {}\n", replay_line(options.library_arguments, u.file), u.met_by->name);
  }
  const std::int64_t more = result.total.undecided - std::ssize(result.undecided);
  return text + (more > 0 ? fmt::format("  and {} more\n\n", more) : "\n");
}

}  // namespace

std::string report_text(const suite_options& options, const suite_result& result, std::size_t most_columns) {
  std::string text;
  std::set<std::string> kernels;
  for (const auto& [key, cell] : result.table) kernels.insert(std::get<0>(key));
  for (const std::string& kernel : kernels) text += kernel_table(options, result, kernel) + "\n";
  if (!result.discards.empty()) {
    text += "discarded:\n";
    for (const auto& [reason, count] : result.discards) text += fmt::format("{:>7} {}\n", count, reason);
    text += "\n";
  }
  for (const std::string& line : left_out_lines(options)) text += "left out: " + line + "\n";
  if (!left_out_lines(options).empty()) text += "\n";
  text += undecided_text(options, result);
  for (const finding& f : result.findings) text += finding_text(options, f, most_columns) + "\n";
  for (const std::string& why : result.unwritten) text += why + "\n";
  const auto all = static_cast<double>(std::max<std::int64_t>(1, result.total.total()));
  text +=
      fmt::format("{} cases in {:.1f} s ({:.1f}/s on {} jobs): {} pass, {} fail, {} discard ({:.1f}%), {} undecided\n",
                  result.total.total(), result.seconds, all / std::max(1e-9, result.seconds), options.jobs,
                  result.total.pass, result.total.fail, result.total.discard,
                  100 * static_cast<double>(result.total.discard) / all, result.total.undecided);
  if (result.outputs_judged > 0)  // shows a contract whose enclosures are too wide to catch much
    text += fmt::format("{} output elements have an inexact enclosure; {:.1f}% of those allow at most two values\n",
                        result.outputs_judged,
                        100 * static_cast<double>(result.outputs_sharp) / static_cast<double>(result.outputs_judged));
  if (result.rows_regressed > 0)
    text += fmt::format(
        "residuals of {} rows and heads of o, and of {} of lse, tested against the shares of pages, tiles and splits\n",
        result.rows_regressed, result.lse_regressed);
  text += result.accesses_checked > 0
              ? fmt::format("{:.3g} loads and stores checked\n", static_cast<double>(result.accesses_checked))
              : "loads and stores were not checked\n";
  if (result.redrawn > 0)
    text += fmt::format("the library's predicate refused {} draws, beside {} cases\n", result.redrawn,
                        result.total.total());
  for (const auto& [line, times] : result.accepted)
    text += fmt::format("accepted {} time{}: {}\n", times, times == 1 ? "" : "s", printable(line));
  text += pairs_text(options, result) + teeth_text(result);
  for (const std::string& line : order_free_teeth(options, result)) text += line + "\n";
  if (result.total.fail == 0 && result.total.pass > 0 && !options.accept_blunt) text += missing_text(options, result);
  text += fmt::format("{} (seed {})\n", verdict_line(options, result), options.seed);
  for (const std::string& line : verified_for(options, result)) text += "verified for: " + line + "\n";
  return text;
}

}  // namespace assay
