#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "oracle/standard_faults.hpp"
#include "properties/case/operation.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sufficiency.hpp"

namespace assay {

std::string seen_text(const bite& b) {
  if (b.asked == 0) return "-";
  const double share = 100 * static_cast<double>(b.seen) / static_cast<double>(b.asked);
  if (b.seen < b.asked && share > 99) return "99%";
  if (b.seen > 0 && share < 1) return "1%";
  return fmt::format("{:.0f}%", share);
}

namespace {

/// What is possible takes seconds to find out: short runs do not.
constexpr std::int64_t least_cases_for_pairs = 1000;

std::string table_of(const suite_result& result, const std::string& kernel) {
  std::set<std::string> types;
  for (const auto& [key, b] : result.teeth)
    if (std::get<0>(key) == kernel) types.insert(std::get<1>(key));
  std::string text = fmt::format("{:<24}", "teeth of " + kernel);
  for (const std::string& t : types) text += fmt::format(" {:>{}}", t, std::max<std::size_t>(5, t.size()));
  text += " asked  seen smallest\n";
  for (const oracle::standard_fault& fault : oracle::standard_faults(describe(kernel).kind)) {
    bite row;
    std::string cells;
    for (const std::string& t : types) {
      const auto at = result.teeth.find({kernel, t, fault.name});
      const bite cell = at == result.teeth.end() ? bite{} : at->second;
      row += cell;
      cells += fmt::format(" {:>{}}", seen_text(cell), std::max<std::size_t>(5, t.size()));
    }
    text += fmt::format("  {:<22}{} {:>5} {:>5} {:>8}\n", fault.name, cells, row.asked, seen_text(row),
                        row.seen > 0 ? fmt::format("{:.1e}", row.smallest) : "-");
  }
  return text;
}

}  // namespace

std::string teeth_text(const suite_result& result) {
  std::set<std::string> kernels;
  for (const auto& [key, b] : result.teeth) kernels.insert(std::get<0>(key));
  std::string text;
  for (const std::string& kernel : kernels) text += "\n" + table_of(result, kernel);
  return text.empty() ? text : text + "\n";
}

std::string pairs_text(const suite_options& options, const suite_result& result) {
  if (result.total.pass < least_cases_for_pairs) return {};
  const covered_share share = share_of(result.pairs, drawable(options.kernels), options.supports);
  const covered_share triples = share_of(result.triples, drawable(options.kernels), options.supports);
  return fmt::format("{} of {} pairs of features were met ({:.1f}%), of triples at least {:.1f}%\n", share.seen,
                     share.possible, 100 * share.share(), 100 * triples.share());
}

std::string missing_text(const suite_options& options, const suite_result& result) {
  std::string text;
  for (const std::string& line : missing_reach(options, result)) text += "  " + line + "\n";
  for (const std::string& line : rarely_asked(options, result)) text += "  " + line + "\n";
  for (const std::string& line : missing_teeth(options, result)) text += "  " + line + "\n";
  return text.empty() ? text : "missing before this run counts as verified:\n" + text;
}

}  // namespace assay
