#include "properties/html/run_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "oracle/standard_faults.hpp"
#include "properties/case/operation.hpp"
#include "properties/html/markup.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sufficiency.hpp"

namespace assay::html {
namespace {

constexpr std::size_t most_rows = 200;  ///< of lists that a library's words make long

template <class Rows>
std::set<std::string> kernels_of(const Rows& rows) {
  std::set<std::string> kernels;
  for (const auto& [key, cell] : rows) kernels.insert(std::get<0>(key));
  return kernels;
}

std::vector<std::string> types_on(const suite_result& result, const std::string& kernel) {
  std::set<std::string> types;
  for (const auto& [key, cell] : result.table)
    if (std::get<0>(key) == kernel) types.insert(std::get<2>(key));
  return {types.begin(), types.end()};
}

void add_counts(std::vector<std::string>& cells, const counts& n) {
  for (const std::int64_t count : {n.pass, n.fail, n.discard, n.undecided}) cells.push_back(whole(count));
}

std::string marked(const bite& b) {
  const std::string share = seen_text(b);
  const bool is_low = b.asked > 0 && static_cast<double>(b.seen) < least_seen_share * static_cast<double>(b.asked);
  return is_low ? fmt::format("<strong title=\"below {:.0f}%\">{} ▾</strong>", 100 * least_seen_share, share) : share;
}

std::string teeth_table(const suite_result& result, const std::string& kernel) {
  std::set<std::string> types;
  for (const auto& [key, b] : result.teeth)
    if (std::get<0>(key) == kernel) types.insert(std::get<1>(key));
  std::vector<std::string> headers{"standard fault", "seen", "places asked", "smallest change seen"};
  headers.insert(headers.end(), types.begin(), types.end());
  table shares("Teeth of " + kernel + ": share of places at which the run would have seen the fault", headers);
  for (const oracle::standard_fault& fault : oracle::standard_faults(describe(kernel).kind)) {
    bite all;
    std::vector<std::string> cells;
    for (const std::string& t : types) {
      const auto at = result.teeth.find({kernel, t, fault.name});
      const bite cell = at == result.teeth.end() ? bite{} : at->second;
      all += cell;
      cells.push_back(marked(cell));
    }
    std::vector<std::string> row{text(fault.name), marked(all), whole(all.asked),
                                 all.seen > 0 ? fmt::format("{:.1e}", all.smallest) : "-"};
    row.insert(row.end(), cells.begin(), cells.end());
    shares.row(row);
  }
  return shares.finish();
}

}  // namespace

std::string count_tables(const suite_options& options, const suite_result& result) {
  std::string page;
  for (const std::string& kernel : kernels_of(result.table)) {
    const std::vector<std::string> types = types_on(result, kernel);
    std::vector<std::string> headers{"property", "pass", "fail", "discard", "undecided"};
    headers.insert(headers.end(), types.begin(), types.end());
    table rows("Cases of " + kernel + ", by verdict and by types", headers);
    counts all;
    std::map<std::string, std::int64_t> all_of_types;
    for (const property* p : options.selected) {
      counts of_property;
      std::vector<std::string> cells;
      for (const std::string& type : types) {
        const auto at = result.table.find({kernel, p->name, type});
        const counts cell = at == result.table.end() ? counts{} : at->second;
        of_property += cell;
        all_of_types[type] += cell.total();
        cells.push_back(whole(cell.total()));
      }
      if (of_property.total() == 0) continue;
      all += of_property;
      std::vector<std::string> row{text(p->name)};
      add_counts(row, of_property);
      row.insert(row.end(), cells.begin(), cells.end());
      rows.row(row);
    }
    std::vector<std::string> last{"<strong>all</strong>"};
    add_counts(last, all);
    for (const std::string& type : types) last.push_back(whole(all_of_types[type]));
    rows.row(last);
    page += rows.finish();
  }
  return page;
}

std::string teeth_tables(const suite_result& result) {
  std::string page;
  for (const std::string& kernel : kernels_of(result.teeth)) page += teeth_table(result, kernel);
  if (page.empty()) return page;
  return fmt::format(
             "<p>After a case passes, Assay changes its results as a known kind of bug would, and asks the judge "
             "again. A run that sees fewer than {:.0f}% of a fault (▾) would miss that bug.</p>\n",
             100 * least_seen_share) +
         page;
}

std::string slowest_table(const suite_result& result) {
  table rows("The slowest cases, in seconds of processor time", {"case", "kernel", "property", "types", "seconds"}, 4);
  for (const slow_case& slow : result.slowest)
    rows.row({whole(slow.index), text(slow.kernel), text(slow.met_by->name), text(slow.types),
              fmt::format("{:.2f}", slow.seconds)});
  return rows.empty() ? "" : rows.finish();
}

std::string coverage_tables(const suite_options& options, const suite_result& result) {
  std::string page;
  if (const std::string pairs = pairs_text(options, result); !pairs.empty())
    page += fmt::format("<p>{}</p>\n", text(pairs));
  std::set<std::string> kernels;
  for (const auto& [key, cell] : result.reached) kernels.insert(key.first);
  for (const std::string& kernel : kernels) {
    table rows("Cases of " + kernel + " with each feature", {"feature", "pass", "fail", "undecided"});
    for (const reachable_thing& thing : reachable()) {
      const auto at = result.reached.find({kernel, thing.name});
      if (at == result.reached.end()) continue;
      const counts& n = at->second;
      rows.row({text(thing.sentence), whole(n.pass), whole(n.fail), whole(n.undecided)});
    }
    page += rows.finish();
  }
  return page;
}

std::string remarks(const suite_options& options, const suite_result& result) {
  std::string page;
  table discards("Discarded cases, by reason", {"reason", "cases"});
  std::size_t row = 0;
  for (const auto& [reason, count] : result.discards)
    if (row++ < most_rows) discards.row({text(reason, 400), whole(count)});
  if (!discards.empty()) page += discards.finish();
  table undecided("The first undecided cases", {"case", "property", "why", "file"}, 9);
  for (const undecided_case& u : result.undecided)
    undecided.row({whole(u.index), text(u.met_by->name), text(u.what, 600), text(u.file.string())});
  if (!undecided.empty()) page += undecided.finish();
  table accepted("Defects that --accept names", {"defect", "times"});
  row = 0;
  for (const auto& [line, times] : result.accepted)
    if (row++ < most_rows) accepted.row({text(line, 400), whole(times)});
  if (!accepted.empty()) page += accepted.finish();
  std::string left_out;
  for (const std::string& line : left_out_lines(options)) left_out += fmt::format("<li>{}</li>\n", text(line, 400));
  if (!left_out.empty()) page += "<h3>Properties left out</h3>\n<ul>\n" + left_out + "</ul>\n";
  for (const std::string& why : result.unwritten) page += fmt::format("<p>{}</p>\n", text(why, 400));
  return page;
}

std::string effort_table(const suite_options& options, const suite_result& result) {
  const counts& n = result.total;
  table rows("The run in numbers", {"what", "number"});
  rows.row({"cases", whole(n.total())});
  rows.row({"pass / fail / discard / undecided",
            fmt::format("{} / {} / {} / {}", whole(n.pass), whole(n.fail), whole(n.discard), whole(n.undecided))});
  rows.row({"seconds", fmt::format("{:.1f} on {} jobs", result.seconds, options.jobs)});
  rows.row({"seconds in kernels, in the oracle (all processes)",
            fmt::format("{:.1f}, {:.1f}", result.kernel_seconds, result.oracle_seconds)});
  if (result.outputs_judged > 0)
    rows.row(
        {"output elements with an inexact enclosure; of these at most two values",
         fmt::format("{}; {:.1f}%", whole(result.outputs_judged),
                     100 * static_cast<double>(result.outputs_sharp) / static_cast<double>(result.outputs_judged))});
  rows.row({"rows and heads tested by residuals, of o and of lse",
            fmt::format("{}, {}", whole(result.rows_regressed), whole(result.lse_regressed))});
  rows.row({"loads and stores checked", result.accesses_checked > 0 ? whole(result.accesses_checked) : "none"});
  if (result.redrawn > 0) rows.row({"draws that the library's predicate refused", whole(result.redrawn)});
  return rows.finish();
}

}  // namespace assay::html
