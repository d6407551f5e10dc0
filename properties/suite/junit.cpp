#include <fmt/format.h>

#include <map>

#include "properties/suite/report.hpp"
#include "properties/suite/scope.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/xml.hpp"

namespace assay {
namespace {

std::string failures_of(const suite_options& options, const suite_result& result, const std::string& kernel,
                        const property& p, std::int64_t failed_cases) {
  std::string text;
  for (const finding& f : result.findings)
    if (f.met_by == &p && f.shrunk.smallest.kernel == kernel)
      text += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                          xml_text(f.shrunk.reproduced ? f.shrunk.result.origin : f.origin),
                          xml_text(f.shrunk.reproduced ? f.shrunk.result.what : f.what),
                          xml_text(finding_text(options, f)));
  // Another property may have met the first case of this kind.
  if (text.empty()) text = fmt::format("      <failure message=\"{} cases failed\"/>\n", failed_cases);
  return text;
}

}  // namespace

std::string report_junit(const suite_options& options, const suite_result& result) {
  std::map<std::string, std::map<std::string, counts>> kernels;
  for (const auto& [key, cell] : result.table) kernels[std::get<0>(key)][std::get<1>(key)] += cell;
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\">\n";
  for (const auto& [kernel, rows] : kernels) {
    std::int64_t failures = 0;
    std::string body;
    for (const property* p : options.selected) {
      const auto at = rows.find(p->name);
      if (at == rows.end()) continue;
      const counts& n = at->second;
      body += fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", xml_text(kernel), xml_text(p->sentence));
      if (n.fail > 0) {
        ++failures;
        body += failures_of(options, result, kernel, *p, n.fail);
      } else if (n.discard == n.total()) {
        body += "      <skipped message=\"every case was discarded\"/>\n";
      }
      body += fmt::format("      <system-out>{} pass, {} fail, {} discard, {} undecided; seed {}</system-out>\n",
                          n.pass, n.fail, n.discard, n.undecided, options.seed);
      body += "    </testcase>\n";
    }
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\">\n{}  </testsuite>\n",
        xml_text(kernel), rows.size(), failures, result.seconds, body);
  }
  for (const std::string& line : verified_for(options, result))
    text += fmt::format(
        "  <testsuite name=\"scope\" tests=\"1\" failures=\"0\" errors=\"0\"><testcase classname=\"scope\" "
        "name=\"verified for {}\"/></testsuite>\n",
        xml_text(line));
  // A shortfall fails the run, so it fails here too.
  if (const std::string missing = shortfall(options, result); !missing.empty())
    text += fmt::format(
        "  <testsuite name=\"health\" tests=\"1\" failures=\"1\" errors=\"0\"><testcase classname=\"health\" "
        "name=\"enough cases are decided\"><failure message=\"{}\"/></testcase></testsuite>\n",
        xml_text(missing));
  return text + "</testsuites>\n";
}

}  // namespace assay
