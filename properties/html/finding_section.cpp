#include "properties/html/finding_section.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/explain/race_story.hpp"
#include "properties/html/heat_map.hpp"
#include "properties/html/markup.hpp"
#include "properties/html/page_strip.hpp"
#include "properties/html/race_timeline.hpp"
#include "properties/suite/report.hpp"
#include "properties/system/counted.hpp"

namespace assay::html {
namespace {

constexpr std::size_t most_places = 4;
constexpr std::size_t columns_of_case = 160;

std::string excerpt_of(const source_excerpt& e) {
  std::string lines;
  std::int64_t number = e.first_line;
  for (const std::string& line : e.lines) {
    const std::string shown = fmt::format("{:>5}  {}", number, text(line));
    lines += number == e.line ? "<mark>" + shown + "</mark>" : shown + "\n";
    ++number;
  }
  return fmt::format(
      "<p class=\"soft\">{}, line {}</p>\n<pre tabindex=\"0\" aria-label=\"Source\"><code>{}</code></pre>\n",
      text(e.file.string()), e.line, lines);
}

std::string race_section(const reported_finding& f) {
  const auto race = read_race(f.what, f.smallest.schedule.wave_size);
  return race ? "<h4>Who touched the bytes</h4>\n" + race_figure(*race) : "";
}

std::string words_of(const reported_finding& f) {
  std::string page = fmt::format("<p>The property: {}.</p>\n<p class=\"fail\"><strong>{}</strong></p>\n",
                                 text(f.sentence), text(f.what));
  if (!f.hint.empty()) page += fmt::format("<p><strong>Hint:</strong> {}</p>\n", text(f.hint));
  if (!f.first_load.empty()) page += fmt::format("<p>{}</p>\n", text(f.first_load));
  page += fmt::format("<p class=\"soft\">{}.</p>\n", text(f.history));
  if (!f.also.empty())
    page += fmt::format("<p>Other properties end with the same failure: {}.</p>\n",
                        text(fmt::format("{}", fmt::join(f.also, ", "))));
  return page;
}

std::string commands_of(const reported_finding& f) {
  if (f.replay.empty()) return "<p>This case could not be written to a file: copy it from here.</p>\n";
  return "<p>Replay it:</p>\n" + command(f.replay) + "<p>See where its worst element comes from:</p>\n" +
         command(f.explain);
}

}  // namespace

std::string pictures_section(const case_pictures& pictures) {
  std::string page;
  if (!pictures.none.empty()) page += fmt::format("<p class=\"soft\">{}</p>\n", text(pictures.none));
  const bool has_outside = std::ranges::any_of(pictures.maps, [](const error_map& m) { return m.outside > 0; });
  for (const error_map& map : pictures.maps)
    page += has_outside && map.outside == 0
                ? fmt::format("<p>All of {} lies inside: {}.</p>\n", text(map.tensor), counted(map.elements, "element"))
                : error_figures(map);
  page += page_figure(pictures.pages);
  std::string histograms;
  for (const ulp_histogram& h : pictures.ulps) histograms += histogram_figure(h);
  return histograms.empty() ? page : page + "<div class=\"charts\">\n" + histograms + "</div>\n";
}

std::string source_section(const std::string& message, const source_finder& sources) {
  std::string page;
  std::size_t shown = 0;
  for (const source_place& place : places_in(message)) {
    const auto excerpt = shown < most_places ? sources.excerpt(place) : std::nullopt;
    if (!excerpt) continue;
    page += excerpt_of(*excerpt);
    ++shown;
  }
  if (page.empty()) return {};
  return "<h4>Source lines</h4>\n<p class=\"soft\">As the files are now. The library may have been built from other "
         "ones.</p>\n" +
         page;
}

std::string finding_title(const reported_finding& f) {
  return fmt::format("{} of {}: {}{}", f.property, f.kernel, f.origin, f.is_flaky ? " (flaky)" : "");
}

std::string finding_section(std::size_t number, const reported_finding& f, const source_finder& sources,
                            const finding_pictures* pictures) {
  std::string page = fmt::format(
      "<article id=\"finding-{0}\" aria-labelledby=\"title-{0}\">\n<h3 id=\"title-{0}\">{0}. {1}"
      "</h3>\n",
      number, text(finding_title(f)));
  page += words_of(f) + commands_of(f);
  page += fmt::format(
      "<h4>The case</h4>\n<p class=\"soft\">{}, types {}.</p>\n<pre class=\"wraps\" tabindex=\"0\" "
      "aria-label=\"The case as JSON\"><code>{}</code></pre>\n",
      text(shape_text(f.smallest)), text(f.types), text(case_text(f.smallest, f.file, columns_of_case), 20'000));
  page += race_section(f) + source_section(f.what, sources);
  if (pictures != nullptr) {
    const std::string drawn = pictures_section(pictures->smallest);
    if (!drawn.empty()) page += "<h4>Pictures of the case</h4>\n" + drawn;
    if (pictures->met && f.met)
      page += details(
          "Pictures of the larger case that the run met, before it was shrunk",
          fmt::format("<p class=\"soft\">{}.</p>\n", text(shape_text(*f.met))) + pictures_section(*pictures->met));
  }
  return page + "</article>\n";
}

}  // namespace assay::html
