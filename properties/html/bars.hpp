/// Horizontal bars with names and numbers, as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::html {

struct bar {
  std::string name;
  double size = 0;    ///< not negative
  std::string value;  ///< as it is written beside the bar
};

/// Bars from the largest size to 0. `label` is what a screen reader says.
std::string bars_svg(const std::vector<bar>& bars, std::string_view label);

/// A line through numbers of successive nights, from their least to their largest.
std::string spark_svg(const std::vector<double>& values, std::string_view label);

}  // namespace assay::html
