#include "properties/nightly/fault_matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "properties/nightly/fault_places.hpp"
#include "properties/system/counted.hpp"

namespace assay {
namespace {

namespace json = boost::json;

double failed_share(const counts& c) {
  return static_cast<double>(c.fail) / static_cast<double>(c.total());
}

/// "output_enclosed 91%, other_rows 3%": largest share first.
std::string in_order(const std::map<std::string, counts>& caught) {
  std::vector<std::pair<double, std::string>> order;
  order.reserve(caught.size());
  for (const auto& [name, cases] : caught) order.emplace_back(-failed_share(cases), name);
  std::ranges::sort(order);
  std::vector<std::string> words;
  words.reserve(order.size());
  for (const auto& [share, name] : order) words.push_back(fmt::format("{} {:.0f}%", name, -100 * share));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// "data race"; "data race elsewhere" if it named another line than expected.
std::string checker_of(const fault_row& row) {
  if (row.planted.checker.empty()) return "-";
  const bool is_elsewhere = !row.checker_origins.empty() && !row.names_place;
  return fmt::format("{}{}", fmt::join(row.checker_origins, ", "), is_elsewhere ? " elsewhere" : "");
}

/// Why a fault counts as missed.
std::string missed_line(const fault_row& row) {
  std::string line = fmt::format("{}: the patch names {}", row.planted.name, fmt::join(row.planted.caught_by, ", "));
  if (!row.planted.checker.empty())
    line +=
        fmt::format("{}{} of the access checker", row.planted.caught_by.empty() ? "" : " and ", row.planted.checker);
  if (row.caught.empty()) return line + fmt::format("; no case of {} failed\n", row.cases);
  return line + fmt::format("; cases failed, but by other checks: assay run --library .../fault_{}.so shows them\n",
                            row.planted.name);
}

bool has_all_origins(const fault_row& row) {
  if (row.by_any_check) return !row.origins.empty();
  return std::ranges::includes(row.origins, row.planted.caught_by);
}

/// Most faults show in the first few cases.
std::array<int, 3> case_counts(const fault& planted) {
  return {std::max(1, planted.cases / 16), planted.cases / 4, planted.cases};
}

/// Whether an exception is the one that the patch names: one that says something else is another fault.
bool says_what_it_should(const fault& planted, const finding& found) {
  const verdict& v = found.shrunk.result;
  return v.origin != "exception" || v.what.find(planted.says) != std::string::npos;
}

/// Fills in what all properties report with loads and stores unchecked.
void try_unchecked(library& faulty, suite_options options, fault_row& row) {
  options.selected.clear();
  for (const property& p : properties()) options.selected.push_back(&p);
  if (!row.by_any_check) options.origins = row.planted.caught_by;
  const execution_checks usual = faulty.checks;
  faulty.checks.accesses = false;
  for (const int cases : case_counts(row.planted)) {
    options.cases = cases;
    suite_result result = run_suite(faulty, options);
    row.cases = result.total.total();
    row.seconds += result.seconds;
    row.caught.clear();
    for (const auto& [key, one] : result.table)
      if (one.fail > 0) row.caught[std::get<1>(key)] += one;
    row.findings = std::move(result.findings);
    for (const finding& f : row.findings)
      if (f.shrunk.reproduced && says_what_it_should(row.planted, f)) row.origins.insert(f.shrunk.result.origin);
    if (has_all_origins(row)) break;
  }
  faulty.checks = usual;
}

/// Fills in what the checker of loads and stores reports.
void try_checker(const library& faulty, suite_options options, const std::vector<std::string>& places, fault_row& row) {
  options.selected = {&enclosure_property()};
  options.origins = {row.planted.checker};
  options.budget.seconds = std::min(options.budget.seconds, 2.0);  // the report does not depend on the size of the case
  for (const int cases : case_counts(row.planted)) {
    if (row.names_place) break;
    options.cases = cases;
    suite_result result = run_suite(faulty, options);
    row.cases += result.total.total();
    row.seconds += result.seconds;
    row.checker_findings = std::move(result.findings);
    for (const finding& f : row.checker_findings) {
      if (!f.shrunk.reproduced) continue;
      row.checker_origins.insert(f.shrunk.result.origin);
      row.names_place |= f.shrunk.result.origin == row.planted.checker && names_one_of(f.shrunk.result.what, places);
    }
  }
}

}  // namespace

bool fault_row::is_caught() const {
  if (by_any_check) return !origins.empty() || !checker_origins.empty();
  return has_all_origins(*this) &&
         (planted.checker.empty() || (checker_origins.contains(planted.checker) && names_place));
}

fault_row try_fault(library& faulty, const fault& planted, const std::vector<std::string>& places,
                    const suite_options& given) {
  suite_options options = given;
  options.kernels = {planted.kernel};
  options.types = {planted.types};
  options.seconds = 0;
  fault_row row;
  row.planted = planted;
  options.traits = traits_of(faulty);
  row.by_any_check = faulty.judged_by != contract_use::declared || !options.traits.has_schedules;
  try_unchecked(faulty, options, row);
  if (!planted.checker.empty()) try_checker(faulty, options, places, row);
  return row;
}

std::string fault_matrix_text(const std::vector<fault_row>& rows) {
  std::size_t width = 32;
  for (const fault_row& row : rows) width = std::max(width, row.planted.name.size());
  std::string text = fmt::format("{:<{}} {:>6}  {:<28} {:<20} {}\n", "fault", width, "caught", "by", "checker",
                                 "properties, and the share of their cases that failed");
  for (const fault_row& row : rows)
    text += fmt::format("{:<{}} {:>6}  {:<28} {:<20} {}\n", row.planted.name, width, row.is_caught() ? "yes" : "NO",
                        fmt::format("{}", fmt::join(row.origins, ", ")), checker_of(row), in_order(row.caught));
  for (const fault_row& row : rows)
    if (!row.is_caught()) text += "\n" + missed_line(row);
  const auto caught = std::ranges::count_if(rows, &fault_row::is_caught);
  return text + fmt::format("\n{} of {} {} caught by the checks that the patches name\n", caught,
                            counted(std::ssize(rows), "fault"), rows.size() == 1 ? "is" : "are");
}

std::string fault_matrix_json(const std::vector<fault_row>& rows, const suite_options& options) {
  json::array faults;
  for (const fault_row& row : rows) {
    json::object failed;
    for (const auto& [name, cases] : row.caught) failed[name] = failed_share(cases);
    faults.push_back(json::object{{"fault", row.planted.name},
                                  {"summary", row.planted.summary},
                                  {"expected", json::value_from(row.planted.caught_by)},
                                  {"caught", row.is_caught()},
                                  {"origins", json::value_from(row.origins)},
                                  {"checker_expected", row.planted.checker},
                                  {"checker_origins", json::value_from(row.checker_origins)},
                                  {"checker_names_line", row.names_place},
                                  {"failed_shares", std::move(failed)},
                                  {"cases", row.cases},
                                  {"seconds", row.seconds}});
  }
  return json::serialize(json::object{{"version", 1},
                                      {"seed", options.seed},
                                      {"caught", std::ranges::count_if(rows, &fault_row::is_caught)},
                                      {"verified", std::ranges::all_of(rows, &fault_row::is_caught)},
                                      {"faults", std::move(faults)}}) +
         "\n";
}

}  // namespace assay
