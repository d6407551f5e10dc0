#include "properties/html/race_timeline.hpp"

#include <fmt/format.h>

#include "properties/html/markup.hpp"

namespace assay::html {
namespace {

std::string wave_name(const racing_access& a) {
  return fmt::format("{}wave {}", a.block.empty() ? "" : a.block + ", ", a.wave);
}

bool is_same_wave(const race_story& race) {
  return race.earlier.block.empty() && race.earlier.wave == race.later.wave;
}

void mark(std::string& svg, const racing_access& a, const char* kind, double x, double y) {
  svg += fmt::format("<circle class=\"{}\" cx=\"{:g}\" cy=\"{:g}\" r=\"7\"/>", kind, x, y);
  svg += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>", x, y - 13, text(a.kind, 40));
  svg += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">thread {}</text>\n", x, y + 22,
                     a.thread);
}

}  // namespace

std::string race_svg(const race_story& race) {
  constexpr double width = 420, first = 160, second = 330, top = 56, line = 62;
  const double left = race.earlier.block.empty() ? 70 : 100;
  const bool same = is_same_wave(race);
  const double y_first = top, y_second = same ? top : top + line, height = y_second + 48;
  std::string svg =
      svg_begin(width, height,
                fmt::format("Timeline of the race on {}: first {} by thread {} of {}, then {} by thread {} "
                            "of {}; no barrier between them.",
                            race.place, race.earlier.kind, race.earlier.thread, wave_name(race.earlier),
                            race.later.kind, race.later.thread, wave_name(race.later)));
  const auto row = [&](const racing_access& a, double y) {
    svg += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">{}</text>", left - 12, y + 4,
                       text(wave_name(a), 40));
    svg +=
        fmt::format("<line class=\"axis\" x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\"/>", left, y, width - 10, y);
  };
  row(race.earlier, y_first);
  if (!same) row(race.later, y_second);
  const double middle = (first + second) / 2;
  svg += fmt::format("<line class=\"gap\" x1=\"{0:g}\" y1=\"24\" x2=\"{0:g}\" y2=\"{1:g}\"/>", middle, y_second + 26);
  svg += fmt::format("<text x=\"{:g}\" y=\"15\" text-anchor=\"middle\">nothing orders them</text>", middle);
  mark(svg, race.earlier, "first", first, y_first);
  mark(svg, race.later, "second", second, y_second);
  svg += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">time of this run →</text>",
                     width - 10, height - 6);
  return svg + "</svg>";
}

std::string race_figure(const race_story& race) {
  table accesses("The two accesses", {"order in this run", "access", "thread", "wave", "source lines, innermost first"},
                 9);
  const auto add = [&](const char* order, const racing_access& a, const std::string& block) {
    accesses.row({order, text(a.kind), text(fmt::format("{}{}", a.thread, a.others.empty() ? "" : " " + a.others)),
                  text(fmt::format("{}{}", a.wave, block.empty() ? "" : ", block " + block)),
                  text(a.where.empty() ? "not known" : a.where)});
  };
  const std::string earlier_block =
      race.earlier.block.empty() ? race.block : race.earlier.block.substr(race.earlier.block.find_last_of(' ') + 1);
  add("first", race.earlier, earlier_block);
  add("second", race.later, race.block);
  return figure(race_svg(race),
                fmt::format("Both accesses touch {}. Nothing orders them, so on a GPU they may come the other way "
                            "round.",
                            race.place)) +
         accesses.finish();
}

}  // namespace assay::html
