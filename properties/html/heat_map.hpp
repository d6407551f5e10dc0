/// The error of an output as a heat map, and its sums as bars.
#pragma once

#include <string>

#include "properties/explain/error_map.hpp"
#include "properties/explain/exact_distance.hpp"

namespace assay::html {

/// The step of an error's size, 0 to 6: inside of the enclosure; up to 2, 10, 100 and 10^4 times its radius; above; not
/// finite.
int step_of(double error);

/// SVG: a cell per cell of the map, in the colour of its step. One path per step, so that it stays small.
std::string heat_map_svg(const error_map& map);

/// What the colours mean.
std::string heat_map_key();

/// One horizontal bar per share, by the sum of finite errors, or where there is none by the number of others.
std::string sum_svg(const error_sum& sum);

/// The histogram of distances to exact.
std::string histogram_svg(const ulp_histogram& h);

/// The map with its words: what it shows, the key, the worst elements, and the sums, as pictures and as tables.
std::string error_figures(const error_map& map);

/// The histogram with its words and its table.
std::string histogram_figure(const ulp_histogram& h);

}  // namespace assay::html
