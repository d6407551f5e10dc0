#include "properties/html/pictures.hpp"

#include <algorithm>

#include "properties/run/execute.hpp"
#include "properties/system/worker.hpp"

namespace assay::html {

case_pictures isolated_pictures(const library& lib, const attention_case& c, double limit_seconds) {
  const auto serve = [&lib](const std::string& request) {
    const attention_case asked = from_json(request, "case");
    try {
      return to_json(picture(asked, run_in_detail(lib, asked)));
    } catch (const std::exception& e) {  // what the library's host code throws, or memory
      case_pictures none;
      none.pages = use_of_pages(asked);
      none.none = std::string("There is no map: ") + e.what();
      return to_json(none);
    }
  };
  const work_result said = isolated(serve, limit_seconds).ask(to_json(c));
  if (said.reply) return pictures_from_json(*said.reply);
  case_pictures none;
  none.pages = use_of_pages(c);
  none.none = "The run ended its process, so there is no map of errors: " +
              (said.last_words.empty() ? said.death : said.last_words);
  return none;
}

std::vector<finding_pictures> picture_findings(const library& lib, const std::vector<reported_finding>& findings,
                                               double limit_seconds) {
  std::vector<finding_pictures> all;
  for (std::size_t i = 0; i < std::min(findings.size(), most_pictured); ++i) {
    const reported_finding& f = findings[i];
    finding_pictures made{isolated_pictures(lib, f.smallest, limit_seconds), {}};
    // Of a crash or a race the larger case shows no more.
    if (f.met && made.smallest.none.empty()) made.met = isolated_pictures(lib, *f.met, limit_seconds);
    if (made.met && !made.met->none.empty()) made.met.reset();
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace assay::html
