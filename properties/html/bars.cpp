#include "properties/html/bars.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/html/markup.hpp"

namespace assay::html {

std::string bars_svg(const std::vector<bar>& bars, std::string_view label) {
  constexpr double row = 18, name_width = 96, most_width = 150, value_width = 90;
  double largest = 0;
  for (const bar& b : bars) largest = std::max(largest, b.size);
  std::string svg = svg_begin(name_width + most_width + value_width, row * static_cast<double>(bars.size()) + 2, label);
  double y = 0;
  for (const bar& b : bars) {
    // What is not 0 shows.
    const double width = largest > 0 && b.size > 0 ? std::max(1.0, most_width * (b.size / largest)) : 0;
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", name_width - 6, y + 13,
                       text(b.name, 40));
    svg += fmt::format("<rect class=\"bar\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"12\"/>", name_width,
                       y + 3, width);
    svg += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n", name_width + width + 5, y + 13,
                       text(b.value, 40));
    y += row;
  }
  return svg + "</svg>";
}

std::string spark_svg(const std::vector<double>& values, std::string_view label) {
  constexpr double width = 160, height = 28, margin = 4;
  std::string svg = svg_begin(width, height, label);
  if (values.empty()) return svg + "</svg>";
  const auto [least, most] = std::ranges::minmax(values);
  std::string path;
  double x = margin, y = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = most > least ? (values[i] - least) / (most - least) : 0.5;
    if (values.size() > 1)
      x = margin + (width - 2 * margin) * static_cast<double>(i) / static_cast<double>(values.size() - 1);
    y = height - margin - (height - 2 * margin) * share;
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x, y);
  }
  return svg + fmt::format(
                   "<path class=\"spark\" d=\"{}\"/><circle class=\"bar\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                   "r=\"3\"/></svg>",
                   path, x, y);
}

}  // namespace assay::html
