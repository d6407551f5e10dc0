#include "properties/html/heat_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "properties/html/bars.hpp"
#include "properties/html/markup.hpp"

namespace assay::html {
namespace {

constexpr std::array<double, 5> ends_of_steps = {1, 2, 10, 100, 1e4};
constexpr std::array<const char*, 7> words_of_steps = {"inside (up to 1)", "up to 2",      "up to 10",  "up to 100",
                                                       "up to 10,000",     "above 10,000", "not finite"};

std::string elements_of(const error_map& map) {
  return whole(map.elements) + (map.elements == 1 ? " element" : " elements");
}

std::string map_label(const error_map& map) {
  return fmt::format(
      "Heat map of the error of {}: {} of {} outside of the enclosure. Rows: {}. Columns: {}. The table below lists "
      "the "
      "worst elements.",
      map.tensor, whole(map.outside), elements_of(map), map.row_axes, map.column_axis);
}

/// The size of a cell in pixels: small maps have large cells.
double cell_of(std::int64_t cells, double most_width) {
  return std::clamp(most_width / static_cast<double>(std::max<std::int64_t>(1, cells)), 8.0, 16.0);
}

/// Empty for a map that shows each element.
std::string reduced_text(const error_map& map) {
  if (map.rows == map.map_rows && map.columns == map.map_columns) return {};
  return fmt::format(" The map is reduced from {} × {} to {} × {} cells; each shows the largest error in it.",
                     whole(map.rows), whole(map.columns), map.map_rows, map.map_columns);
}

std::string worst_table(const error_map& map) {
  table worst("The elements farthest outside", {"element", "value", "enclosure", "error in radii"});
  const auto plain = [](double v) {
    return v >= error_not_finite || v <= -error_not_finite ? "not finite" : fmt::format("{:.9g}", v);
  };
  for (const error_element& e : map.worst)
    worst.row({text(map.tensor + e.index), plain(e.value),
               e.lo == 0 && e.hi == 0 && e.error >= error_not_finite
                   ? "given bits, a NaN or a zero of one sign"
                   : fmt::format("[{}, {}]", plain(e.lo), plain(e.hi)),
               error_number(e.error)});
  return worst.empty() ? "" : worst.finish();
}

std::string sum_table(const error_map& map, const error_sum& sum) {
  const bool has_other = map.total.not_finite > 0;
  table shares("Sum of errors by " + sum.kind,
               has_other ? std::vector<std::string>{sum.kind, "sum of errors", "elements without a finite error"}
                         : std::vector<std::string>{sum.kind, "sum of errors"});
  const auto add = [&](const error_share& s) {
    std::vector<std::string> cells{text(s.name), number(s.error)};
    if (has_other) cells.push_back(number(s.not_finite));
    shares.row(cells);
  };
  for (const error_share& s : sum.shares) add(s);
  add(map.total);
  return shares.finish();
}

const char* words_of_sum(const std::string& kind, const error_map& map) {
  const bool is_by_weight = map.tensor.starts_with("o") || map.tensor.starts_with("lse");
  if (kind == "lane") return "By lane: the column modulo 16, as lanes hold the columns of a matrix atom";
  if (kind == "head") return "By head";
  if (kind == "page")
    return is_by_weight ? "By page, shared by the weight of its keys in the row's softmax" : "By page";
  if (kind == "tile") return is_by_weight ? "By tile of keys, shared by weight" : "By tile of keys";
  return map.tensor.ends_with("_partial") ? "By split" : "By split, shared by weight";
}

std::string bin_name(const ulp_histogram& h, std::size_t bin) {
  if (bin < h.ends.size()) return "up to " + number(h.ends[bin]);
  return bin == h.ends.size() ? "above " + number(h.ends.back()) : "not finite";
}

}  // namespace

int step_of(double error) {
  if (error >= error_not_finite) return 6;
  return static_cast<int>(std::ranges::lower_bound(ends_of_steps, error) - ends_of_steps.begin());
}

std::string heat_map_svg(const error_map& map) {
  constexpr double left = 44, top = 18;
  const double wide = cell_of(map.map_columns, 640), high = cell_of(map.map_rows, 320);
  const double width = wide * static_cast<double>(map.map_columns), height = high * static_cast<double>(map.map_rows);
  std::array<std::string, 7> paths;
  for (std::int64_t r = 0; r < map.map_rows; ++r)
    for (std::int64_t c = 0; c < map.map_columns;) {
      const auto at = [&](std::int64_t column) {
        return step_of(map.cells[static_cast<std::size_t>(r * map.map_columns + column)]);
      };
      const int step = at(c);
      std::int64_t end = c + 1;
      while (end < map.map_columns && at(end) == step) ++end;
      paths[static_cast<std::size_t>(step)] += fmt::format(
          "M{:g} {:g}h{:g}v{:g}h{:g}z", left + wide * static_cast<double>(c), top + high * static_cast<double>(r),
          wide * static_cast<double>(end - c), high, -wide * static_cast<double>(end - c));
      c = end;
    }
  std::string svg = svg_begin(std::max(left + width + 2, 220.0), top + height + 4, map_label(map));
  for (std::size_t step = 0; step < paths.size(); ++step)
    if (!paths[step].empty()) svg += fmt::format("<path class=\"h{}\" d=\"{}\"/>\n", step, paths[step]);
  svg += fmt::format("<rect class=\"frame\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>", left, top, width,
                     height);
  svg += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"13\">{} 0 to {} →</text>", left, text(map.column_axis),
                     map.columns - 1);
  svg += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">0</text>", left - 5, top + 11);
  if (map.rows > 1)
    svg += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">{}</text>", left - 5,
                       top + height - 1, map.rows - 1);
  return svg + "</svg>";
}

std::string heat_map_key() {
  std::string key = "<ul class=\"key\" aria-label=\"Colours: error in radii of the enclosure\">\n";
  for (std::size_t step = 0; step < words_of_steps.size(); ++step)
    key += fmt::format(
        "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"h{}\" width=\"12\" "
        "height=\"12\"/></svg>{}</li>\n",
        step, words_of_steps[step]);
  return key + "</ul>\n";
}

std::string sum_svg(const error_sum& sum) {
  const bool has_finite = std::ranges::any_of(sum.shares, [](const error_share& s) { return s.error > 0; });
  std::vector<bar> bars;
  for (const error_share& s : sum.shares) {
    const double size = has_finite ? s.error : s.not_finite;
    // What many small ones have together would dwarf each of them.
    bars.push_back({s.name, s.name.ends_with("others") ? 0 : size, number(size)});
  }
  return bars_svg(bars, "Sum of errors by " + sum.kind + ". The table below has the numbers.");
}

std::string histogram_svg(const ulp_histogram& h) {
  std::vector<bar> bars;
  const auto is_met = [](std::int64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(h.counts, is_met) - h.counts.begin();
  const auto behind = std::find_if(h.counts.rbegin(), h.counts.rend(), is_met).base() - h.counts.begin();
  for (auto bin = static_cast<std::size_t>(first); bin < static_cast<std::size_t>(behind); ++bin)
    bars.push_back({bin_name(h, bin), static_cast<double>(h.counts[bin]), whole(h.counts[bin])});
  return bars_svg(
      bars,
      fmt::format("Histogram of the distance of {} from exact, in ulp. The table below has the numbers.", h.tensor));
}

std::string error_figures(const error_map& map) {
  std::string page = figure(
      heat_map_svg(map),
      fmt::format(
          "Error of {} in units of its enclosure: 1 is the edge of what the contract allows. {} of {} {} outside. "
          "Across: {}. Down: {}.{}",
          map.tensor, whole(map.outside), elements_of(map), map.outside == 1 ? "lies" : "lie", map.column_axis,
          map.row_axes, reduced_text(map)),
      heat_map_key());
  page += worst_table(map);
  if (map.sums.empty()) return page;
  std::string charts, tables;
  std::vector<std::string> single;  // one bar says nothing that a word does not
  for (const error_sum& sum : map.sums) {
    if (sum.shares.size() == 1)
      single.push_back(fmt::format("{}: all in {}", words_of_sum(sum.kind, map), sum.shares.front().name));
    else
      charts += figure(sum_svg(sum), words_of_sum(sum.kind, map));
    tables += sum_table(map, sum);
  }
  page += fmt::format("<h5>Where the errors of {} lie</h5>\n", text(map.tensor));
  if (!single.empty()) page += fmt::format("<p>{}.</p>\n", text(fmt::format("{}", fmt::join(single, ". "))));
  if (!charts.empty()) page += "<div class=\"charts\">\n" + charts + "</div>\n";
  return page + details("The sums as tables", tables);
}

std::string histogram_figure(const ulp_histogram& h) {
  table bins(fmt::format("Distance of {} from exact", h.tensor), {"distance in ulp", "elements"});
  for (std::size_t bin = 0; bin < h.counts.size(); ++bin) bins.row({text(bin_name(h, bin)), whole(h.counts[bin])});
  return figure(
      histogram_svg(h),
      fmt::format("Distance of {} from the exact result, in ulp of its type: median {}, largest {}. This does "
                  "not decide the verdict.",
                  h.tensor, error_number(h.median), error_number(h.largest)),
      details("The histogram as a table", bins.finish()));
}

}  // namespace assay::html
